//! Validates the page headers of a column chunk before decoding.
//!
//! A chunk is a sequence of pages, each a header in Thrift's compact encoding and a body. Trusting a
//! header, the decoder allocates up to 2 GiB for the decompressed body and for the values of a
//! dictionary; gzip and LZ4 frames it decompresses without any limit. Only headers are read here, and
//! bodies that could be such a decompression bomb.

use super::thrift::{FALSE, I32, STRUCT, TRUE, Thrift};
use crate::{Budget, Result};
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Type};
use parquet::file::metadata::ColumnChunkMetaData;
use std::io::Read;

/// What the headers of a chunk say about its values.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ChunkPages {
    /// Bytes of all pages, decompressed.
    pub(super) unpacked: u64,
    /// Length of the longest string that is not stored at each occurrence, but in a dictionary or as a
    /// suffix to the previous string.
    pub(super) repeated_text: usize,
    /// Whether values begin with counts that the decoder allocates memory for.
    pub(super) counted: bool,
}

/// Checks all pages of a chunk of `file`; problems are passed to `wrong`.
pub(super) fn check(
    file: &[u8],
    chunk: &ColumnChunkMetaData,
    budget: &Budget,
    wrong: impl Fn(String) -> crate::Error,
) -> Result<ChunkPages> {
    let (start, length) = chunk.byte_range();
    let end = start.saturating_add(length).min(file.len() as u64) as usize;
    let mut rest = file.get(start as usize..end).unwrap_or_default();
    let (mut pages, mut unpacked, mut values) = (ChunkPages::default(), 0u64, 0u64);
    let mut number = 0;
    while !rest.is_empty() {
        let fault =
            |what: String| wrong(format!("column '{}', page {number}: {what}", chunk.column_path().string()));
        let mut thrift = Thrift { bytes: rest };
        let page = Page::read(&mut thrift).map_err(|what| fault(what.into()))?;
        let body = thrift.bytes.get(..page.packed).ok_or_else(|| {
            fault(format!(
                "its {} bytes exceed the column, which has {} left",
                page.packed,
                thrift.bytes.len()
            ))
        })?;
        values += page.data_values();
        page.fits(body, chunk, values).map_err(&fault)?;
        page.unpacks_within(body, chunk, budget).map_err(&fault)?;
        unpacked += (rest.len() - thrift.bytes.len() + page.unpacked) as u64;
        budget.check("a column of a Parquet file", unpacked)?;
        page.describe(chunk, &mut pages);
        rest = &thrift.bytes[page.packed..];
        number += 1;
    }
    pages.unpacked = unpacked;
    Ok(pages)
}

struct Page {
    unpacked: usize,
    packed: usize,
    kind: PageKind,
}

enum PageKind {
    Data {
        values: usize,
        encoding: usize,
    },
    Dictionary {
        values: usize,
    },
    /// Levels precede the values and are never compressed.
    DataV2 {
        values: usize,
        nulls: usize,
        rows: usize,
        encoding: usize,
        levels: usize,
        is_packed: bool,
    },
}

const DAMAGED: &str = "its header is invalid";
/// Codes of encodings.
const PLAIN: usize = 0;
const DELTA_LENGTHS: usize = 6;
const DELTA_TEXTS: usize = 7;

impl Page {
    fn read(thrift: &mut Thrift) -> Result<Self, &'static str> {
        let (mut number, mut sizes, mut kind) = (0, [None; 3], None);
        while let Some(of) = thrift.field(&mut number).ok_or(DAMAGED)? {
            match (number, of) {
                (1..=3, I32) => sizes[number as usize - 1] = Some(natural(thrift)?),
                // A checksum.
                (4, I32) => drop(thrift.varint().ok_or(DAMAGED)?),
                (5 | 7 | 8, STRUCT) if kind.is_none() => kind = Some(PageKind::read(thrift, number)?),
                (1..=8, _) => return Err(DAMAGED),
                _ => thrift.skip(of, 0).ok_or(DAMAGED)?,
            }
        }
        let ([Some(called), Some(unpacked), Some(packed)], Some(kind)) = (sizes, kind) else {
            return Err(DAMAGED);
        };
        let own = match kind {
            PageKind::Data { .. } => 0,
            PageKind::Dictionary { .. } => 2,
            PageKind::DataV2 { .. } => 3,
        };
        if called == own { Ok(Self { unpacked, packed, kind }) } else { Err(DAMAGED) }
    }

    /// Number of values and nulls, except those of a dictionary.
    fn data_values(&self) -> u64 {
        match self.kind {
            PageKind::Data { values, .. } | PageKind::DataV2 { values, .. } => values as u64,
            PageKind::Dictionary { .. } => 0,
        }
    }

    /// Checks the header against itself and the chunk; `seen` is the number of values so far.
    fn fits(&self, body: &[u8], chunk: &ColumnChunkMetaData, seen: u64) -> Result<(), String> {
        if seen > chunk.num_values() as u64 {
            return Err(format!(
                "the column has more values ({seen}) than declared ({})",
                chunk.num_values()
            ));
        }
        match self.kind {
            // A dictionary may contain unused values, but each takes space.
            PageKind::Dictionary { values }
                if values > self.unpacked / bytes_of_a_value(chunk) || (values == 0 && self.unpacked > 0) =>
            {
                Err(format!("a dictionary of {values} values in {} bytes", self.unpacked))
            }
            PageKind::Data { values: 0, encoding: PLAIN } if self.unpacked > 0 && is_flat(chunk) => {
                Err(format!("no values in {} bytes", self.unpacked))
            }
            PageKind::DataV2 { values, nulls, encoding: PLAIN, levels, .. }
                if values == nulls && self.unpacked > levels =>
            {
                Err(format!("no values in {} bytes", self.unpacked))
            }
            PageKind::DataV2 { values, nulls, rows, .. } if nulls.max(rows) > values => {
                Err(format!("{values} values do not fit {nulls} nulls and {rows} rows"))
            }
            PageKind::DataV2 { levels, .. } if levels > self.unpacked.min(body.len()) => {
                Err(format!("its levels have {levels} of {} bytes", self.unpacked.min(body.len())))
            }
            _ => Ok(()),
        }
    }

    /// Compares the declared decompressed size with what the body can decompress to.
    fn unpacks_within(
        &self,
        body: &[u8],
        chunk: &ColumnChunkMetaData,
        budget: &Budget,
    ) -> Result<(), String> {
        let codec = chunk.compression();
        if self.unpacked as u64 > most_unpacked(codec, body.len()) {
            let (packed, unpacked) = (body.len(), self.unpacked);
            return Err(format!("{packed} bytes cannot decompress to {unpacked} bytes as declared"));
        }
        let levels = match self.kind {
            PageKind::DataV2 { levels, is_packed: true, .. } => levels,
            PageKind::DataV2 { .. } => return Ok(()),
            _ => 0,
        };
        let body = body.get(levels..).unwrap_or_default();
        // The capacity of a growing buffer may be twice its length.
        let is_small = most_unpacked(codec, body.len()).saturating_mul(2) <= budget.bytes;
        let overflows = match codec {
            _ if is_small => false,
            Compression::GZIP(_) => inflates_beyond(body, self.unpacked - levels),
            Compression::LZ4 => LZ4_FRAMES.iter().any(|magic| body.starts_with(magic)),
            _ => false,
        };
        let said = || format!("decompresses to more than the {} bytes declared", self.unpacked);
        if overflows { Err(said()) } else { Ok(()) }
    }

    fn describe(&self, chunk: &ColumnChunkMetaData, pages: &mut ChunkPages) {
        let (is_repeated, is_counted) = match self.kind {
            PageKind::Dictionary { .. } => (true, false),
            PageKind::Data { encoding, .. } | PageKind::DataV2 { encoding, .. } => {
                (encoding == DELTA_TEXTS, matches!(encoding, DELTA_LENGTHS | DELTA_TEXTS))
            }
        };
        if is_repeated && chunk.column_type() == Type::BYTE_ARRAY {
            pages.repeated_text = pages.repeated_text.max(self.unpacked);
        }
        pages.counted |= is_counted;
    }
}

impl PageKind {
    fn read(thrift: &mut Thrift, number: i16) -> Result<Self, &'static str> {
        match number {
            5 => fields(thrift, 0)
                .map(|([values, encoding, ..], _): ([usize; 4], _)| Self::Data { values, encoding }),
            7 => fields(thrift, 3).map(|([values, _], _)| Self::Dictionary { values }),
            _ => fields(thrift, 7).map(
                |([values, nulls, rows, encoding, definition, repetition], is_packed)| Self::DataV2 {
                    values,
                    nulls,
                    rows,
                    encoding,
                    levels: definition + repetition,
                    is_packed,
                },
            ),
        }
    }
}

/// The first `N` fields of a struct, which are numbers, and a flag that defaults to true.
fn fields<const N: usize>(thrift: &mut Thrift, flag: i16) -> Result<([usize; N], bool), &'static str> {
    let (mut number, mut numbers, mut is_set) = (0, [None; N], true);
    while let Some(of) = thrift.field(&mut number).ok_or(DAMAGED)? {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        match (place.and_then(|place| numbers.get_mut(place)), of) {
            (Some(place), I32) => *place = Some(natural(thrift)?),
            (Some(_), _) => return Err(DAMAGED),
            (None, TRUE | FALSE) if number == flag => is_set = of == TRUE,
            (None, _) if number == flag => return Err(DAMAGED),
            (None, _) => thrift.skip(of, 0).ok_or(DAMAGED)?,
        }
    }
    if numbers.contains(&None) { Err(DAMAGED) } else { Ok((numbers.map(Option::unwrap_or_default), is_set)) }
}

/// A size or count: a signed 32-bit number that must not be negative.
fn natural(thrift: &mut Thrift) -> Result<usize, &'static str> {
    match thrift.zigzag().ok_or(DAMAGED)? {
        ..0 => Err("its header has a negative size"),
        size => i32::try_from(size).map(|size| size as usize).map_err(|_| DAMAGED),
    }
}

/// Whether a column has one value per row, so that no levels precede the values.
fn is_flat(chunk: &ColumnChunkMetaData) -> bool {
    let about = chunk.column_descr();
    about.max_def_level() == 0 && about.max_rep_level() == 0
}

/// Smallest size of a value in plain encoding.
pub(super) fn bytes_of_a_value(chunk: &ColumnChunkMetaData) -> usize {
    match chunk.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(chunk.column_descr().type_length()).unwrap_or(1).max(1),
    }
}

/// Upper bound of the decompressed size of `packed` bytes: Snappy copies 64 bytes with three, LZ4 255
/// with one, deflate 258 with two bits; Zstandard repeats a byte 128 Ki times with four.
fn most_unpacked(codec: Compression, packed: usize) -> u64 {
    let times = match codec {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 22,
        Compression::LZ4 | Compression::LZ4_RAW => 255,
        Compression::GZIP(_) => 1032,
        _ => 1 << 15,
    };
    (packed as u64).saturating_mul(times)
}

/// Magic numbers of LZ4 frames, which the decoder tries if the data is not LZ4 blocks.
const LZ4_FRAMES: [[u8; 4]; 2] = [[0x04, 0x22, 0x4d, 0x18], [0x02, 0x21, 0x4c, 0x18]];

fn inflates_beyond(body: &[u8], most: usize) -> bool {
    let mut decoder = MultiGzDecoder::new(body).take(most as u64 + 1);
    // Data that is damaged before it gets too long is left to the decoder.
    std::io::copy(&mut decoder, &mut std::io::sink()).is_ok_and(|length| length > most as u64)
}
