//! Text tables, plain or compressed. Numbers are written in the shortest form that reads back equal.

use super::{MatrixLayout, Packing};
use crate::{Error, NodeIds, Result, atomic::AtomicFile};
use rayon::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A text file, compressed while it is written if requested.
pub(super) struct TextFile {
    packed: Compression,
    path: PathBuf,
}

enum Compression {
    Plain(AtomicFile),
    Gzip(flate2::write::GzEncoder<AtomicFile>),
    Zstd(zstd::stream::write::Encoder<'static, AtomicFile>),
}

impl TextFile {
    pub(super) fn create(path: &Path, packing: Packing) -> Result<Self> {
        let file = AtomicFile::create(path)?;
        let packed = match packing {
            Packing::None => Compression::Plain(file),
            Packing::Gzip => {
                Compression::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            Packing::Zstd => {
                Compression::Zstd(zstd::stream::write::Encoder::new(file, 3).map_err(Error::io(path))?)
            }
        };
        Ok(Self { packed, path: path.to_owned() })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.packed {
            Compression::Plain(file) => file.write(bytes),
            Compression::Gzip(encoder) => encoder.write_all(bytes).map_err(Error::io(&self.path)),
            Compression::Zstd(encoder) => encoder.write_all(bytes).map_err(Error::io(&self.path)),
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        let file = match self.packed {
            Compression::Plain(file) => Ok(file),
            Compression::Gzip(encoder) => encoder.finish(),
            Compression::Zstd(encoder) => encoder.finish(),
        };
        file.map_err(Error::io(&self.path))?.commit()
    }
}

/// A matrix as a text table: `id`, `label` if there are labels, then `0,1,2,…`.
pub(super) struct MatrixText<'a> {
    file: TextFile,
    delimiter: u8,
    layout: MatrixLayout<'a>,
}

/// Values formatted at a time, so that the text of a large block need not fit in memory.
const BLOCK: usize = 1 << 20;

impl<'a> MatrixText<'a> {
    pub(super) fn start(
        path: &Path,
        delimiter: u8,
        packing: Packing,
        layout: MatrixLayout<'a>,
    ) -> Result<Self> {
        let mut file = TextFile::create(path, packing)?;
        let mut header = b"id".to_vec();
        if layout.labels.is_some() {
            header.push(delimiter);
            header.extend(b"label");
        }
        for column in 0..layout.cols {
            header.push(delimiter);
            header.extend(column.to_string().as_bytes());
        }
        header.push(b'\n');
        file.write(&header)?;
        Ok(Self { file, delimiter, layout })
    }

    /// Appends rows; the first is row `first` of the matrix.
    pub(super) fn push_rows(&mut self, first: usize, values: &[f32]) -> Result<()> {
        let cols = self.layout.cols.max(1);
        let rows_at_once = (BLOCK / cols).max(1);
        for (block, values) in values.chunks(rows_at_once * cols).enumerate() {
            let first = first + block * rows_at_once;
            let lines: Vec<Vec<u8>> = values
                .par_chunks(64 * cols)
                .enumerate()
                .map(|(part, values)| self.lines(first + part * 64, values))
                .collect();
            lines.iter().try_for_each(|lines| self.file.write(lines))?;
        }
        Ok(())
    }

    fn lines(&self, first: usize, values: &[f32]) -> Vec<u8> {
        let mut out = Vec::with_capacity(values.len() * 12);
        for (row, values) in (first..).zip(values.chunks_exact(self.layout.cols)) {
            push_id(&mut out, self.layout.ids, row as u32, self.delimiter);
            if let Some(labels) = self.layout.labels {
                out.push(self.delimiter);
                match (labels.of(row as u32), labels.names()) {
                    (Some(class), Some(names)) => {
                        push_field(&mut out, &names[class as usize], self.delimiter)
                    }
                    (Some(class), None) => push_number(&mut out, class as u64),
                    (None, _) => {}
                }
            }
            for &value in values {
                out.push(self.delimiter);
                push_float(&mut out, value);
            }
            out.push(b'\n');
        }
        out
    }

    pub(super) fn finish(self) -> Result<()> {
        self.file.finish()
    }
}

pub(super) fn push_id(out: &mut Vec<u8>, ids: &NodeIds, node: u32, delimiter: u8) {
    match ids {
        NodeIds::Implicit => push_number(out, node as u64),
        NodeIds::Numbers(numbers) => push_number(out, numbers[node as usize]),
        NodeIds::Names(names) => push_field(out, &names[node as usize], delimiter),
    }
}

/// Writes a text field, quoted if a reader would otherwise misread it.
fn push_field(out: &mut Vec<u8>, text: &str, delimiter: u8) {
    let special = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    let comment = ["#", "%", "//"].iter().any(|mark| text.starts_with(mark));
    let needs_quotes = comment || text.trim() != text || text.is_empty() || text.bytes().any(special);
    if !needs_quotes {
        return out.extend(text.as_bytes());
    }
    out.push(b'"');
    out.extend(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

fn push_number(out: &mut Vec<u8>, number: u64) {
    write!(out, "{number}").expect("writing to memory does not fail");
}

/// Writes the shortest digits that read back as the same `f32`; integers without `.0`.
pub(super) fn push_float(out: &mut Vec<u8>, value: f32) {
    write!(out, "{value:?}").expect("writing to memory does not fail");
    if out.ends_with(b".0") {
        out.truncate(out.len() - 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f32) -> String {
        let mut out = Vec::new();
        push_float(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_short_and_exact() {
        assert_eq!(["1", "-0", "0.1", "1e-7", "16777216"], [1.0, -0.0, 0.1, 1e-7, 16777216.0].map(written));
        for value in [f32::MIN_POSITIVE, f32::MAX, 1.0 / 3.0, 1e-45, -2.5e20] {
            assert_eq!(written(value).parse::<f32>().unwrap(), value);
        }
    }

    #[test]
    fn fields_are_quoted_only_where_needed() {
        let quoted = |text: &str| {
            let mut out = Vec::new();
            push_field(&mut out, text, b',');
            String::from_utf8(out).unwrap()
        };
        assert_eq!(quoted("ann lee"), "ann lee");
        assert_eq!(quoted("lee, ann"), "\"lee, ann\"");
        assert_eq!(quoted("the \"x\""), "\"the \"\"x\"\"\"");
        assert_eq!((quoted(""), quoted("#1")), ("\"\"".into(), "\"#1\"".into()));
    }
}
