//! Rows of numbers as text, one per line, parsed in parallel into one array.

use super::text;
use crate::{Budget, Error, Result};
use rayon::prelude::*;
use std::path::Path;

/// Parses each line into `width` items. `parse` returns a message for an invalid line; the first such
/// line is the error.
pub(crate) fn parse_rows<T: Copy + Default + Send>(
    text: &[u8],
    path: &Path,
    budget: &Budget,
    width: usize,
    parse: impl Fn(&[u8], &mut [T]) -> Result<(), String> + Sync,
) -> Result<Vec<T>> {
    let chunks = text::pieces(text);
    let lines: Vec<usize> = chunks.par_iter().map(|chunk| text::line_count(chunk)).collect();
    let rows: usize = lines.iter().sum();
    let items = (rows as u64).saturating_mul(width as u64);
    // An overlong first line must not determine the size of the array.
    if items > text.len() as u64 + 1 {
        return Err(Error::format(path, format!("not every line has {width} numbers like the first")));
    }
    budget.check_items("a table", items, size_of::<T>() as u64)?;
    let mut out = vec![T::default(); items as usize];
    let mut rest = &mut out[..];
    let mut first_line = 1;
    let mut tasks = Vec::with_capacity(chunks.len());
    for (chunk, lines) in chunks.into_iter().zip(lines) {
        let (mine, others) = std::mem::take(&mut rest).split_at_mut(lines * width);
        rest = others;
        tasks.push((first_line, chunk, mine));
        first_line += lines as u64;
    }
    let fault = tasks.into_par_iter().find_map_first(|(first_line, chunk, out)| {
        let rows = out.chunks_mut(width.max(1));
        (first_line..).zip(text::lines(chunk)).zip(rows).find_map(|((number, (_, line)), row)| {
            parse(line, row).err().map(|what| Error::at_line(path, number, what))
        })
    });
    fault.map_or(Ok(out), Err)
}

/// Number of fields in the first line; 0 for an empty text.
pub(crate) fn width(text: &[u8]) -> usize {
    text::lines(text).next().map_or(0, |(_, line)| line.split(|&byte| byte == b',').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(text: &[u8], width: usize) -> Result<Vec<u64>> {
        parse_rows(text, Path::new("t.csv"), &Budget { bytes: 1 << 30 }, width, |line, row| {
            let line = std::str::from_utf8(line).map_err(|_| "text")?;
            let fields: Vec<&str> = line.split(',').collect();
            if fields.len() != row.len() {
                return Err(format!("expected {} numbers", row.len()));
            }
            for (field, out) in fields.iter().zip(row) {
                *out = 2 * field.parse::<u64>().map_err(|_| format!("'{field}' is not a number"))?;
            }
            Ok(())
        })
    }

    #[test]
    fn line_ends_of_every_kind_make_the_same_rows() {
        for text in ["1,2\n3,4\n", "1,2\n3,4", "1,2\r\n3,4\r\n"] {
            assert_eq!(width(text.as_bytes()), 2);
            assert_eq!(doubled(text.as_bytes(), 2).unwrap(), [2, 4, 6, 8]);
        }
        assert_eq!(doubled(b"", 0).unwrap(), [0u64; 0]);
    }

    #[test]
    fn chunks_are_joined_and_the_first_invalid_line_is_named() {
        let mut text: String = (0..400_000).map(|i| format!("{i}\n")).collect();
        assert!(text::pieces(text.as_bytes()).len() > 2);
        let values = doubled(text.as_bytes(), 1).unwrap();
        assert!(values.len() == 400_000 && (0..).zip(&values).all(|(i, &value): (u64, _)| value == 2 * i));
        text.insert(text.find("\n300000\n").unwrap() + 1, 'x');
        text.push_str("y\n");
        let error = doubled(text.as_bytes(), 1).unwrap_err().to_string();
        assert_eq!(error, "t.csv:300001: 'x300000' is not a number");
    }

    #[test]
    fn an_overlong_first_line_does_not_size_the_table() {
        let text = [",".repeat(1000), "\n".repeat(1000)].concat();
        assert!(doubled(text.as_bytes(), width(text.as_bytes())).is_err());
    }
}
