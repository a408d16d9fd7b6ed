//! Validates counts in pages of delta-encoded strings, for which the decoder allocates memory.
//!
//! Such values begin with the lengths of all strings, or of their shared prefixes and of their
//! suffixes. The lengths are packed: values per block, miniblocks per block, total number of values and
//! the first value; then, for each block, the smallest delta, the bit widths of the miniblocks, and the
//! miniblocks.

use super::thrift::Thrift;
use crate::{Budget, Error, Result};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::sync::Arc;

/// Decompresses the pages of a chunk with valid headers and checks their counts.
pub(super) fn check(
    file: File,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    budget: &Budget,
    wrong: impl Fn(String) -> Error,
) -> Result<()> {
    let unreadable = |error| wrong(format!("cannot be read: {error}"));
    let mut pages = SerializedPageReader::new(Arc::new(file), chunk, rows, None).map_err(unreadable)?;
    while let Some(page) = pages.get_next_page().map_err(unreadable)? {
        let streams = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => continue,
        };
        let most = page.num_values() as u64;
        budget.check_items("the string lengths of a Parquet file", most, 4)?;
        let fits = values(&page, chunk).is_some_and(|bytes| counts_fit(bytes, streams, most));
        if !fits {
            let name = chunk.column_path().string();
            return Err(wrong(format!(
                "column '{name}': a page does not contain the {most} strings it claims"
            )));
        }
    }
    Ok(())
}

/// The bytes of a page after its levels.
fn values<'a>(page: &'a Page, chunk: &ColumnChunkMetaData) -> Option<&'a [u8]> {
    match page {
        Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let about = chunk.column_descr();
            let rest = behind_levels(buf, about.max_rep_level(), *rep_level_encoding, *num_values)?;
            behind_levels(rest, about.max_def_level(), *def_level_encoding, *num_values)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            buf.get(*def_levels_byte_len as usize + *rep_levels_byte_len as usize..)
        }
        Page::DictionaryPage { buf, .. } => Some(buf),
    }
}

fn behind_levels(bytes: &[u8], most: i16, encoding: Encoding, values: u32) -> Option<&[u8]> {
    if most == 0 {
        return Some(bytes);
    }
    if encoding == Encoding::RLE {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        return rest.get(u32::from_le_bytes(*length) as usize..);
    }
    let bits = (i16::BITS - most.leading_zeros()) as usize;
    bytes.get((values as usize * bits).div_ceil(8)..)
}

fn counts_fit(bytes: &[u8], streams: usize, most: u64) -> bool {
    let mut packed = Thrift { bytes };
    (0..streams).all(|_| pass_over(&mut packed, most).is_some())
}

/// Skips packed numbers, at most `most` of them.
fn pass_over(packed: &mut Thrift, most: u64) -> Option<()> {
    let (in_block, parts) = (packed.varint()?, packed.varint()?);
    let count = packed.varint().filter(|&count| count <= most)?;
    packed.zigzag()?;
    let in_part = in_block.checked_div(parts)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        packed.zigzag()?;
        let (bits, mut rest) = packed.bytes.split_at_checked(usize::try_from(parts).ok()?)?;
        for &bits in bits {
            // Miniblocks after the last value take no bytes, whatever their bit widths.
            let bits = if left == 0 { 0 } else { bits as u64 };
            left = left.saturating_sub(in_part);
            rest = rest.get(usize::try_from(in_part.checked_mul(bits)? / 8).ok()?..)?;
        }
        packed.bytes = rest;
    }
    Some(())
}
