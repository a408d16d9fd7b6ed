//! Text files as lines and fields, in pieces that can be read in parallel.

use crate::{Error, Result};
use std::{borrow::Cow, path::Path};

/// Bytes of a piece: enough to amortise a task, small enough to share the work evenly.
const PIECE: usize = 1 << 20;

/// The text in pieces of about a megabyte that end at line ends.
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

/// The lines of a text with the place of each, without line ends.
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

/// The line, from 1, that holds the byte at `at`.
pub(crate) fn line_number(text: &[u8], at: usize) -> u64 {
    memchr::memchr_iter(b'\n', &text[..at.min(text.len())]).count() as u64 + 1
}

/// What stands between fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// Any run of blanks and tabs.
    Blank,
    /// One byte, as in CSV; fields may be quoted.
    Byte(u8),
}

impl Delimiter {
    /// The delimiter that a line seems to use.
    pub(crate) fn of(line: &[u8]) -> Self {
        let found = [b',', b'\t', b';'].into_iter().find(|byte| line.contains(byte));
        found.map_or(Self::Blank, Self::Byte)
    }

    /// The fields of a line; quotes around a field are undone.
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

fn quoted_fields(line: &[u8], delimiter: u8) -> Vec<Cow<'_, [u8]>> {
    let mut fields = Vec::new();
    let (mut field, mut quoted, mut at) = (Vec::new(), false, 0);
    while at < line.len() {
        match (line[at], quoted) {
            (b'"', true) if line.get(at + 1) == Some(&b'"') => {
                field.push(b'"');
                at += 1;
            }
            (b'"', _) => quoted = !quoted,
            (byte, false) if byte == delimiter => {
                fields.push(Cow::Owned(std::mem::take(&mut field).trim_ascii().to_vec()));
            }
            (byte, _) => field.push(byte),
        }
        at += 1;
    }
    fields.push(Cow::Owned(field.trim_ascii().to_vec()));
    fields
}

/// A field as a number of any kind that can be read from text.
pub(crate) fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// A field as text for people, shortened and made printable.
pub(crate) fn shown(field: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(field).chars().take(40).collect();
    text.escape_debug().to_string()
}

/// A field as text, or the error that it is not UTF-8.
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
    fn fields_are_split_as_people_write_them() {
        let split = |line: &str| -> Vec<String> {
            let fields = Delimiter::of(line.as_bytes()).fields(line.as_bytes());
            fields.iter().map(|f| String::from_utf8_lossy(f).into_owned()).collect()
        };
        assert_eq!(split("  1   2 "), ["1", "2"]);
        assert_eq!(split("a\tb c"), ["a", "b c"]);
        assert_eq!(split("1, 2,"), ["1", "2", ""]);
        assert_eq!(split(r#""x, y","say ""hi""",3"#), ["x, y", r#"say "hi""#, "3"]);
    }
}
