//! Parallel parser for integer ids below 2^32.

use super::{is_comment, is_padded, layout::LineLayout};
use crate::{
    Result,
    data::{
        Options,
        text::{self, Delimiter},
    },
    progress,
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
        progress::steps(places.len());
        let parse = |(piece, place): (&[u8], &mut [T])| {
            let used = self.small_piece(piece, place, entry);
            progress::step();
            used
        };
        let used: Vec<Option<usize>> = places.into_par_iter().map(parse).collect();
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
    ///
    /// Takes a line only if it is sure to split it into the same fields as [`Delimiter::fields`].
    fn plain_line(&self, rest: &mut &[u8]) -> Line {
        let line = *rest;
        let end = |at: usize| memchr::memchr(b'\n', &line[at..]).map_or(line.len(), |more| at + more + 1);
        let separator = match self.delimiter {
            Delimiter::Byte(byte) => Some(byte),
            Delimiter::Blank => None,
        };
        // Blanks around a field do not belong to it, unless they separate fields.
        let blanks = |mut at: usize| {
            while matches!(line.get(at), Some(b' ' | b'\t')) && line.get(at).copied() != separator {
                at += 1;
            }
            at
        };
        let mut at = blanks(0);
        if !line.get(at).is_some_and(u8::is_ascii_digit) {
            let stop = end(at);
            *rest = &line[stop..];
            return if is_comment(&line[..stop]) { Line::Comment } else { Line::Other };
        }
        let Some(source) = digits(line, &mut at) else { return Line::Other };
        let between = at;
        at = blanks(at);
        if separator.is_some() {
            if line.get(at).copied() != separator {
                return Line::Other;
            }
            at = blanks(at + 1);
        }
        if at == between {
            return Line::Other;
        }
        let Some(target) = digits(line, &mut at) else { return Line::Other };
        let after = blanks(at);
        *rest = match line.get(after) {
            Some(b'\n') => &line[after + 1..],
            None => &line[after..],
            Some(b'\r') if matches!(line.get(after + 1), None | Some(b'\n')) => &line[end(after)..],
            Some(&byte) if separator.map_or(after > at, |separator| separator == byte) => &line[end(after)..],
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
        let id = |at: usize| {
            fields.get(at).filter(|field| !is_padded(field)).and_then(|field| text::number::<u32>(field))
        };
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

/// The number at `at`, if it is below 2^32 and has no leading zeros; moves `at` past it.
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
    let padded = line.get(start) == Some(&b'0') && *at > start + 1;
    u32::try_from(number).ok().filter(|_| *at > start && !padded)
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
    use std::path::Path;

    type Pairs = Option<Vec<u64>>;

    /// What the fast and the careful reader make of a text with integer ids; the fast one may give up.
    fn both(text: &str) -> Option<(Pairs, Pairs)> {
        let (options, path) = (Options::default(), Path::new("e"));
        let layout = LineLayout::of(text.as_bytes(), path, &options).ok().filter(|layout| layout.numeric)?;
        let fast = layout.small(text.as_bytes(), &options, |pair, _| pair);
        let careful = layout.large(text.as_bytes(), path, &options).ok().flatten();
        let packed = |edges: Vec<([u64; 2], f32)>| edges.into_iter().map(|([u, v], _)| u << 32 | v).collect();
        Some((fast.unwrap(), careful.map(packed)))
    }

    #[test]
    fn doubtful_lines_are_left_to_the_careful_reader() {
        for line in ["1\t\t2", "4\t5 6", "4\t5\r6", "\t1\t2", "007\t8"] {
            assert_eq!(both(&format!("0\t1\n{line}\n")).unwrap(), (None, None), "{line:?}");
        }
        for line in ["4,5 6", "4 5,6", ",4,5", "4,,5", "4\t,5,x"] {
            let (fast, careful) = both(&format!("0,1\n{line}\n")).unwrap();
            assert!(fast.is_none() || fast == careful, "{line:?}: {fast:?} and {careful:?}");
        }
        assert_eq!(both("0,1\n4,5 6\n").unwrap(), (None, None));
        assert_eq!(both("0 1\n 4 \t5  x\r\n").unwrap().0, Some(vec![1, 4 << 32 | 5]));
    }

    #[test]
    fn both_readers_agree_on_random_texts() {
        let parts = [
            "1",
            "2",
            "30",
            "07",
            "4294967296",
            " ",
            "  ",
            "\t",
            ",",
            ";",
            "\n",
            "\n",
            "\r\n",
            "\r",
            "#",
            "\"",
            "-",
            "+",
            "x",
            "0.5",
        ];
        let (mut state, mut seen) = (1u64, 0);
        for _ in 0..50_000 {
            let mut text =
                ["0 1\n", "0\t1\n", "0,1\n", "0;1\n", "0,1,2\n"][(state >> 33) as usize % 5].to_owned();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text += parts[(state >> 33) as usize % parts.len()];
            }
            let Some((Some(fast), careful)) = both(&text) else { continue };
            assert_eq!(Some(fast), careful, "{text:?}");
            seen += 1;
        }
        assert!(seen > 500, "{seen}");
    }

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
