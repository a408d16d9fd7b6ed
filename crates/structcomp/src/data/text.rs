//! Text as lines and fields, in pieces that can be parsed in parallel.

use crate::{Error, Result};
use rayon::prelude::*;
use std::{borrow::Cow, path::Path};

/// Bytes per piece: large enough to amortise a task, small enough to balance the load.
const PIECE: usize = 1 << 20;

/// The contents of a text file, and its path for messages.
pub(crate) struct Text<'a> {
    pub(crate) path: &'a Path,
    pub(crate) bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// Parses all lines from byte `start` on, piece by piece, in order. `new` creates the accumulator of a
    /// piece from its index. The error is that of the first invalid line.
    pub(crate) fn parse<T: Send>(
        &self,
        start: usize,
        new: impl Fn(usize) -> T + Sync,
        line: impl Fn(&mut T, &'a [u8]) -> Result<(), String> + Sync,
    ) -> Result<Vec<T>> {
        let parse = |(number, piece): (usize, &'a [u8])| {
            let mut gathered = new(number);
            for (_, text) in lines(piece) {
                line(&mut gathered, text).map_err(|what| self.fault(text, what))?;
            }
            Ok(gathered)
        };
        let parsed: Vec<Result<T>> = pieces(self.bytes.get(start..).unwrap_or_default())
            .into_par_iter()
            .enumerate()
            .map(parse)
            .collect();
        parsed.into_iter().collect()
    }

    /// An error in a line, which must be a slice of this text.
    pub(crate) fn fault(&self, line: &[u8], what: impl Into<String>) -> Error {
        let at = (line.as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        Error::at_line(self.path, line_number(self.bytes, at), what)
    }

    /// The line that starts at byte `start`, and the start of the next one.
    pub(crate) fn line_at(&self, start: usize) -> Option<(&'a [u8], usize)> {
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let (_, line) = lines(rest).next()?;
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        Some((line, start + end))
    }
}

/// Splits a text into pieces of about a megabyte that end at line ends.
pub(crate) fn pieces(text: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(text.len() / PIECE + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let end = match memchr::memchr(b'\n', &rest[rest.len().min(PIECE)..]) {
            Some(at) => rest.len().min(PIECE) + at + 1,
            None => rest.len(),
        };
        let (piece, others) = rest.split_at(end);
        pieces.push(piece);
        rest = others;
    }
    pieces
}

/// The lines of a text without line ends, and the position of each.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let at = start;
        start += end + 1;
        let line = &rest[..end];
        Some((at, line.strip_suffix(b"\r").unwrap_or(line)))
    })
}

/// Number of lines; the last one may lack its line feed.
pub(crate) fn line_count(text: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', text).count() + (!text.is_empty() && !text.ends_with(b"\n")) as usize
}

/// The line, counted from 1, that contains byte `at`.
pub(crate) fn line_number(text: &[u8], at: usize) -> u64 {
    memchr::memchr_iter(b'\n', &text[..at.min(text.len())]).count() as u64 + 1
}

/// The words of a line, separated by blanks and tabs.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// An integer without a sign.
pub(crate) fn whole(word: &[u8]) -> Option<u64> {
    // Nineteen digits cannot overflow.
    if word.is_empty() || word.len() > 19 || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(word.iter().fold(0, |number, digit| number * 10 + (digit - b'0') as u64))
}

/// A number with optional sign, fraction and exponent.
pub(crate) fn decimal(word: &[u8]) -> Option<f32> {
    // Fast path: the weights of most files are single digits.
    if let &[digit @ b'0'..=b'9'] = word {
        return Some((digit - b'0') as f32);
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// The separator of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// Any run of blanks and tabs.
    Blank,
    /// One byte, as in CSV; fields may be quoted.
    Byte(u8),
}

impl Delimiter {
    /// Guesses the delimiter of a line.
    pub(crate) fn of(line: &[u8]) -> Self {
        let found = [b',', b'\t', b';'].into_iter().find(|byte| line.contains(byte));
        found.map_or(Self::Blank, Self::Byte)
    }

    /// The fields of a line, unquoted.
    pub(crate) fn fields(self, line: &[u8]) -> Vec<Cow<'_, [u8]>> {
        match self {
            Self::Blank => {
                line.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty()).map(Cow::Borrowed).collect()
            }
            Self::Byte(byte) if line.contains(&b'"') => quoted_fields(line, byte),
            Self::Byte(byte) => line.split(|&b| b == byte).map(|f| Cow::Borrowed(f.trim_ascii())).collect(),
        }
    }
}

/// Fields of a line with quotes. Blanks inside quotes belong to a field, those around it do not.
fn quoted_fields(line: &[u8], delimiter: u8) -> Vec<Cow<'_, [u8]>> {
    let mut fields = Vec::new();
    let (mut field, mut quoted, mut at) = (QuotedField::default(), false, 0);
    while at < line.len() {
        match (line[at], quoted) {
            (b'"', true) if line.get(at + 1) == Some(&b'"') => {
                field.push(b'"', true);
                at += 1;
            }
            (b'"', _) => {
                quoted = !quoted;
                field.kept = field.bytes.len();
                field.begun = true;
            }
            (byte, false) if byte == delimiter => fields.push(std::mem::take(&mut field).finish()),
            (byte, _) => field.push(byte, quoted),
        }
        at += 1;
    }
    fields.push(field.finish());
    fields
}

#[derive(Default)]
struct QuotedField {
    bytes: Vec<u8>,
    /// Bytes up to the last one that is quoted or not blank.
    kept: usize,
    /// Whether there is a quote or a byte that is not blank.
    begun: bool,
}

impl QuotedField {
    fn push(&mut self, byte: u8, quoted: bool) {
        let counts = quoted || !byte.is_ascii_whitespace();
        if counts || self.begun {
            self.bytes.push(byte);
        }
        if counts {
            (self.kept, self.begun) = (self.bytes.len(), true);
        }
    }

    fn finish(mut self) -> Cow<'static, [u8]> {
        self.bytes.truncate(self.kept);
        Cow::Owned(self.bytes)
    }
}

pub(crate) fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Whether a field can be the name of a column; it is neither a number nor the mark of a missing one.
pub(crate) fn is_column_name(field: &[u8]) -> bool {
    let missing = ["na", "n/a", "null", "none", "-", "?"];
    !field.is_empty()
        && number::<f32>(field).is_none()
        && !missing.iter().any(|mark| field.eq_ignore_ascii_case(mark.as_bytes()))
}

/// The start of a word, safe to print.
pub(crate) fn shown(word: &[u8]) -> String {
    let end = if word.len() > 40 { "…" } else { "" };
    format!("'{}{end}'", word[..word.len().min(40)].escape_ascii())
}

/// A field as UTF-8.
pub(crate) fn utf8<'a>(field: &'a [u8], path: &Path, line: u64) -> Result<&'a str> {
    std::str::from_utf8(field).map_err(|_| Error::at_line(path, line, "is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_text_and_end_at_lines() {
        let text: Vec<u8> = (0..300_000).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        let parts = pieces(&text);
        assert!(parts.len() > 1 && parts.iter().all(|part| part.ends_with(b"\n")));
        assert_eq!(parts.concat(), text);
        assert!(pieces(b"").is_empty());
        assert_eq!(pieces(b"no end"), [b"no end"]);
    }

    #[test]
    fn lines_know_their_place() {
        let text = b"a\r\n\nbc";
        let seen: Vec<_> = lines(text).collect();
        assert_eq!(seen, [(0, &b"a"[..]), (3, b""), (4, b"bc")]);
        assert_eq!((line_number(text, 0), line_number(text, 4)), (1, 3));
    }

    #[test]
    fn fields_are_split_at_blanks_commas_tabs_and_quotes() {
        let split = |line: &str| -> Vec<String> {
            let fields = Delimiter::of(line.as_bytes()).fields(line.as_bytes());
            fields.iter().map(|f| String::from_utf8_lossy(f).into_owned()).collect()
        };
        assert_eq!(split("  1   2 "), ["1", "2"]);
        assert_eq!(split("a\tb c"), ["a", "b c"]);
        assert_eq!(split("1, 2,"), ["1", "2", ""]);
        assert_eq!(split(r#""x, y","say ""hi""",3"#), ["x, y", r#"say "hi""#, "3"]);
        assert_eq!(split(r#"" x ", " y" ,z w ,"""#), [" x ", " y", "z w", ""]);
    }

    #[test]
    fn the_first_invalid_line_is_named() {
        let mut text = "1\n".repeat(500_000);
        text.replace_range(800_000..800_001, "x");
        text.replace_range(200_000..200_001, "y");
        let text = Text { path: Path::new("x"), bytes: text.as_bytes() };
        let check = |_: &mut (), line: &[u8]| {
            whole(line).map(drop).ok_or_else(|| format!("{} is not a number", shown(line)))
        };
        let error = text.parse(0, |_| (), check).unwrap_err();
        assert_eq!(error.to_string(), "x:100001: 'y' is not a number");
    }

    #[test]
    fn words_and_single_lines_come_without_their_ends() {
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
