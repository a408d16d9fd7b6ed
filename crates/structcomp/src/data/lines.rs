//! Text files cut at line ends into pieces that are parsed side by side, and the numbers in them.

use crate::{Error, Result};
use rayon::prelude::*;
use std::path::Path;

/// Bytes of a piece: small enough to share the work, large enough to be worth handing over.
const PIECE: usize = 1 << 18;

/// A text file and where it lies.
pub(crate) struct Text<'a> {
    pub(crate) path: &'a Path,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// Parses all lines from byte `start` on, piece by piece, in order. `new` makes what a piece
    /// is gathered in from the piece's number; of several faulty lines the first is told.
    pub(crate) fn parse<T: Send>(
        &self,
        start: usize,
        new: impl Fn(usize) -> T + Sync,
        line: impl Fn(&mut T, &'a [u8]) -> Result<(), String> + Sync,
    ) -> Result<Vec<T>> {
        let parse = |(number, piece): (usize, &'a [u8])| {
            let mut gathered = new(number);
            for text in lines(piece) {
                line(&mut gathered, text).map_err(|what| self.fault(text, what))?;
            }
            Ok(gathered)
        };
        let parsed: Vec<Result<T>> = self.pieces(start).into_par_iter().enumerate().map(parse).collect();
        parsed.into_iter().collect()
    }

    /// The bytes from `start` on in pieces that end with a line.
    pub(crate) fn pieces(&self, start: usize) -> Vec<&'a [u8]> {
        let mut rest = self.bytes.get(start..).unwrap_or_default();
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let beyond = rest.get(PIECE..).and_then(|beyond| memchr::memchr(b'\n', beyond));
            let (piece, after) = rest.split_at(beyond.map_or(rest.len(), |at| PIECE + at + 1));
            pieces.push(piece);
            rest = after;
        }
        pieces
    }

    /// A fault in a line, which must be a part of this text.
    pub(crate) fn fault(&self, line: &[u8], what: impl Into<String>) -> Error {
        let at = (line.as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        let before = &self.bytes[..at.min(self.bytes.len())];
        Error::at_line(self.path, memchr::memchr_iter(b'\n', before).count() as u64 + 1, what)
    }

    /// The line that starts at byte `start`, and where the next one starts.
    pub(crate) fn line_at(&self, start: usize) -> Option<(&'a [u8], usize)> {
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let line = lines(rest).next()?;
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        Some((line, start + end))
    }
}

/// The lines of a text, without their ends.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&[], |end| &rest[end + 1..]);
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    })
}

/// The words of a line, between blanks and tabs.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// A whole number without a sign.
pub(crate) fn whole(word: &[u8]) -> Option<u64> {
    // Nineteen digits cannot overflow.
    if word.is_empty() || word.len() > 19 || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(word.iter().fold(0, |number, digit| number * 10 + (digit - b'0') as u64))
}

/// A number that may have a sign, a fraction and an exponent.
pub(crate) fn decimal(word: &[u8]) -> Option<f32> {
    // Single digits are the weights of most files.
    if let &[digit @ b'0'..=b'9'] = word {
        return Some((digit - b'0') as f32);
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A piece of a line that is fit for a message.
pub(crate) fn shown(word: &[u8]) -> String {
    let end = if word.len() > 40 { "…" } else { "" };
    format!("'{}{end}'", word[..word.len().min(40)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_lines_and_lose_nothing() {
        let text: String = (0..200_000).map(|n| format!("{n}\n")).collect();
        let text = Text { path: Path::new("x"), bytes: text.as_bytes() };
        let pieces = text.pieces(0);
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.ends_with(b"\n")));
        assert_eq!(pieces.concat(), text.bytes);
        let numbers = text
            .parse(
                2,
                |_| Vec::new(),
                |all, line| {
                    all.push(whole(line).ok_or("no number")?);
                    Ok(())
                },
            )
            .unwrap();
        assert!(numbers.concat().into_iter().eq(1..200_000));
    }

    #[test]
    fn the_first_faulty_line_is_named() {
        let mut text = "1\n".repeat(500_000);
        text.replace_range(800_000..800_001, "x");
        text.replace_range(200_000..200_001, "y");
        let text = Text { path: Path::new("x"), bytes: text.as_bytes() };
        let check = |_: &mut (), line: &[u8]| {
            whole(line).map(drop).ok_or_else(|| format!("{} is no number", shown(line)))
        };
        let error = text.parse(0, |_| (), check).unwrap_err();
        assert_eq!(error.to_string(), "x:100001: 'y' is no number");
    }

    #[test]
    fn lines_and_words_come_without_their_ends() {
        assert_eq!(lines(b"a\r\n\nb").collect::<Vec<_>>(), [&b"a"[..], b"", b"b"]);
        assert_eq!(lines(b"\n").count(), 1);
        assert_eq!(words(b" a\t b ").collect::<Vec<_>>(), [b"a", b"b"]);
        let text = Text { path: Path::new("x"), bytes: b"a\nb" };
        assert_eq!(text.line_at(0), Some((&b"a"[..], 2)));
        assert_eq!(text.line_at(2), Some((&b"b"[..], 3)));
        assert_eq!((text.line_at(3), text.line_at(9)), (None, None));
    }

    #[test]
    fn numbers_are_whole_or_decimal() {
        assert_eq!(whole(b"0042"), Some(42));
        assert_eq!(whole(b"9999999999999999999"), Some(9_999_999_999_999_999_999));
        for bad in [&b""[..], b"-1", b"+1", b"1.0", b"99999999999999999999", b"1e3"] {
            assert_eq!(whole(bad), None);
        }
        assert_eq!((decimal(b"7"), decimal(b"-1.5e-1"), decimal(b"x")), (Some(7.0), Some(-0.15), None));
    }
}
