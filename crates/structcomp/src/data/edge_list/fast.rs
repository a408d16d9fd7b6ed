//! Parallel parser for integer ids below 2^32.

use super::{is_comment, layout::LineLayout};
use crate::{
    Result,
    data::{
        Options,
        text::{self, Delimiter},
    },
};
use rayon::prelude::*;

impl LineLayout {
    /// Parses all lines into one array; `None` if a line does not fit, for whatever reason.
    pub(super) fn small<T: Copy + Default + Send + Sync>(
        &self,
        text: &[u8],
        options: &Options,
        entry: fn(u64, f32) -> T,
    ) -> Result<Option<Vec<T>>> {
        let pieces = text::pieces(&text[self.body..]);
        let rows: Vec<usize> = pieces.par_iter().map(|piece| text::line_count(piece)).collect();
        let total: usize = rows.iter().sum();
        options.budget.check_items("the edge list", total as u64, size_of::<T>() as u64)?;
        let mut edges = vec![T::default(); total];
        let mut rest = &mut edges[..];
        let mut places = Vec::with_capacity(pieces.len());
        for (piece, &count) in pieces.iter().zip(&rows) {
            let (place, others) = rest.split_at_mut(count);
            rest = others;
            places.push((*piece, place));
        }
        let used: Vec<Option<usize>> =
            places.into_par_iter().map(|(piece, place)| self.small_piece(piece, place, entry)).collect();
        // The line may contain a large id, a quoted one or an error: the careful reader finds out.
        let Some(used): Option<Vec<usize>> = used.into_iter().collect() else { return Ok(None) };
        let (mut from, mut to) = (0, 0);
        for (count, used) in rows.into_iter().zip(used) {
            // Comments leave gaps.
            if from != to {
                edges.copy_within(from..from + used, to);
            }
            from += count;
            to += used;
        }
        edges.truncate(to);
        Ok(Some(edges))
    }

    fn small_piece<T>(&self, piece: &[u8], place: &mut [T], entry: fn(u64, f32) -> T) -> Option<usize> {
        let plain = self.source == 0 && self.target == 1 && self.weight.is_none();
        let mut used = 0;
        let mut rest = piece;
        while !rest.is_empty() {
            let edge = match plain {
                true => self.plain_line(&mut rest),
                false => self.any_line(&mut rest),
            };
            match edge {
                Line::Edge(pair, weight) => {
                    place[used] = entry(pair, weight);
                    used += 1;
                }
                Line::Comment => {}
                Line::Other => return None,
            }
        }
        Some(used)
    }

    /// The common case in a single pass: two numbers at the start of a line, whatever follows.
    fn plain_line(&self, rest: &mut &[u8]) -> Line {
        let line = *rest;
        let end = |at: usize| memchr::memchr(b'\n', &line[at..]).map_or(line.len(), |more| at + more + 1);
        let mut at = blanks(line, 0);
        if !line.get(at).is_some_and(u8::is_ascii_digit) {
            let stop = end(at);
            *rest = &line[stop..];
            return if is_comment(&line[..stop]) { Line::Comment } else { Line::Other };
        }
        let Some(source) = digits(line, &mut at) else { return Line::Other };
        let between = at;
        at = blanks(line, at);
        if let Delimiter::Byte(byte @ (b',' | b';')) = self.delimiter {
            if line.get(at) != Some(&byte) {
                return Line::Other;
            }
            at = blanks(line, at + 1);
        }
        if at == between {
            return Line::Other;
        }
        let Some(target) = digits(line, &mut at) else { return Line::Other };
        *rest = match line.get(at) {
            Some(b'\n') => &line[at + 1..],
            None | Some(b'\r' | b' ' | b'\t') => &line[end(at)..],
            Some(&byte) if self.delimiter == Delimiter::Byte(byte) => &line[end(at)..],
            Some(_) => return Line::Other,
        };
        Line::Edge((source as u64) << 32 | target as u64, 1.0)
    }

    fn any_line(&self, rest: &mut &[u8]) -> Line {
        let line = *rest;
        let end = memchr::memchr(b'\n', line).map_or(line.len(), |at| at + 1);
        *rest = &line[end..];
        if is_comment(&line[..end]) {
            return Line::Comment;
        }
        let fields = self.delimiter.fields(line[..end].trim_ascii_end());
        let id = |at: usize| fields.get(at).and_then(|field| text::number::<u32>(field));
        let weight = match self.weight {
            None => Some(1.0),
            Some(at) => fields
                .get(at)
                .and_then(|field| text::number::<f32>(field))
                .filter(|w| *w >= 0.0 && w.is_finite()),
        };
        match (id(self.source), id(self.target), weight) {
            (Some(u), Some(v), Some(weight)) => Line::Edge((u as u64) << 32 | v as u64, weight),
            _ => Line::Other,
        }
    }
}

enum Line {
    Edge(u64, f32),
    Comment,
    Other,
}

#[inline(always)]
fn blanks(line: &[u8], mut at: usize) -> usize {
    while matches!(line.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// The number at `at`, if it is below 2^32; moves `at` past it.
#[inline(always)]
fn digits(line: &[u8], at: &mut usize) -> Option<u32> {
    let start = *at;
    let (mut number, length) = line.get(start..)?.first_chunk().map_or((0, 0), eight_digits);
    *at += length;
    // Longer numbers, and the last bytes of a text, digit by digit.
    if length == 8 || *at + 8 > line.len() {
        while let Some(digit) = line.get(*at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10)
        {
            number = number.saturating_mul(10).saturating_add(digit as u64);
            *at += 1;
        }
    }
    u32::try_from(number).ok().filter(|_| *at > start)
}

/// The number formed by the leading digits of eight bytes, and how many digits there are.
///
/// Computed without branches: the length of an id is unpredictable, and a misprediction would cost more
/// than everything else.
#[inline(always)]
fn eight_digits(bytes: &[u8; 8]) -> (u64, usize) {
    let values = u64::from_le_bytes(*bytes) ^ 0x3030_3030_3030_3030;
    // The top bit of each byte that is not a digit: above nine, or above 127 already.
    let over_nine = (values & 0x7f7f_7f7f_7f7f_7f7f) + 0x7676_7676_7676_7676;
    let others = (over_nine | values) & 0x8080_8080_8080_8080;
    let length = (others.trailing_zeros() / 8) as usize;
    if length == 0 {
        return (0, 0);
    }
    // Pad with leading zeros, then combine digits to pairs, pairs to fours, fours to eight.
    let aligned = values << (64 - 8 * length);
    let pairs = (aligned * 10 + (aligned >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let number = (fours * 10_000 + (fours >> 32)) & 0xffff_ffff;
    (number, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_agree_with_the_standard_library_for_every_length() {
        for number in [
            0,
            7,
            42,
            999,
            1234,
            98765,
            100_000,
            7_654_321,
            12_345_678,
            987_654_321,
            u32::MAX as u64,
            1 << 32,
            u64::MAX,
        ] {
            for tail in ["", "\n", " 1", ",", "\t99999999", "x", "/", ":", "\u{80}"] {
                let text = format!("{number}{tail}");
                let mut at = 0;
                assert_eq!(digits(text.as_bytes(), &mut at), u32::try_from(number).ok(), "{text}");
                assert_eq!(at, number.to_string().len(), "{text}");
            }
        }
        for none in ["", "-1", " 1", "a"] {
            assert_eq!(digits(none.as_bytes(), &mut 0), None);
        }
    }
}
