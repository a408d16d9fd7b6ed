//! Handwritten Parquet files with false claims in page headers or pages.

use crate::samples::Sample;
use crate::{BUDGET, gzip, gzipped_zeros, read, refused};
use structcomp::data::{Options, open_files};

const INT64: i64 = 2;
const TEXT: i64 = 6;
const REQUIRED: i64 = 0;
const REPEATED: i64 = 2;
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const DELTA_LENGTHS: i64 = 6;
const DELTA_TEXTS: i64 = 7;
const DICTIONARY: i64 = 8;
const UNPACKED: i64 = 0;
const SNAPPY: i64 = 1;
const GZIP: i64 = 2;
const LZ4: i64 = 5;
const ZSTD: i64 = 6;
const LZ4_RAW: i64 = 7;

/// A struct in Thrift's compact encoding.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(mut self, number: u8, kind: u8, value: &[u8]) -> Self {
        self.bytes.push((number - self.last) << 4 | kind);
        self.bytes.extend(value);
        Self { bytes: self.bytes, last: number }
    }

    fn int(self, number: u8, value: i64) -> Self {
        self.field(number, 5, &varint((value << 1 ^ value >> 63) as u64))
    }

    fn long(self, number: u8, value: usize) -> Self {
        self.field(number, 6, &varint((value as u64) << 1))
    }

    fn text(self, number: u8, text: &str) -> Self {
        self.field(number, 8, &[&[text.len() as u8], text.as_bytes()].concat())
    }

    fn list(self, number: u8, of: u8, items: &[Vec<u8>]) -> Self {
        self.field(number, 9, &[&[(items.len() as u8) << 4 | of], &items.concat()[..]].concat())
    }

    fn inner(self, number: u8, inner: Struct) -> Self {
        self.field(number, 12, &inner.end())
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A page: its kind, the sizes it claims, and the header of its kind.
fn page(kind: i64, [unpacked, packed]: [i64; 2], about: Struct, body: &[u8]) -> Vec<u8> {
    let place = [5, 6, 7, 8][kind as usize];
    let header = Struct::default().int(1, kind).int(2, unpacked).int(3, packed).inner(place, about);
    [header.end(), body.to_vec()].concat()
}

fn values(values: i64, encoding: i64) -> Struct {
    Struct::default().int(1, values).int(2, encoding).int(3, RLE).int(4, RLE)
}

/// A page of values with correct sizes.
fn plain(count: i64, encoding: i64, body: &[u8]) -> Vec<u8> {
    page(0, [body.len() as i64; 2], values(count, encoding), body)
}

fn dictionary(count: i64, body: &[u8]) -> Vec<u8> {
    page(2, [body.len() as i64; 2], Struct::default().int(1, count).int(2, PLAIN), body)
}

/// A table whose two columns are the same chunk.
struct Table {
    names: [&'static str; 2],
    kind: i64,
    repetition: i64,
    codec: i64,
    rows: usize,
    values: usize,
    pages: Vec<u8>,
    has_dictionary: bool,
}

/// Two rows of integers.
fn numbers(pages: Vec<u8>) -> Table {
    let (rows, values) = (2, 2);
    let names = ["source", "target"];
    Table {
        names,
        kind: INT64,
        repetition: REQUIRED,
        codec: UNPACKED,
        rows,
        values,
        pages,
        has_dictionary: false,
    }
}

impl Table {
    fn file(&self) -> Vec<u8> {
        let mut schema = vec![Struct::default().text(4, "root").int(5, 2).end()];
        for name in self.names {
            let column = Struct::default().int(1, self.kind).int(3, self.repetition).text(4, name);
            schema.push(if self.kind == TEXT { column.int(6, 0) } else { column }.end());
        }
        let chunks = self.names.map(|name| Struct::default().long(2, 4).inner(3, self.chunk(name)).end());
        let group = Struct::default().list(1, 12, &chunks).long(2, self.pages.len()).long(3, self.rows);
        let footer = Struct::default()
            .int(1, 1)
            .list(2, 12, &schema)
            .long(3, self.rows)
            .list(4, 12, &[group.end()])
            .end();
        let length = (footer.len() as u32).to_le_bytes();
        [b"PAR1", &self.pages[..], &footer, &length, b"PAR1"].concat()
    }

    fn chunk(&self, name: &str) -> Struct {
        let size = self.pages.len();
        let chunk = Struct::default()
            .int(1, self.kind)
            .list(2, 5, &[vec![0]])
            .list(3, 8, &[[&[name.len() as u8], name.as_bytes()].concat()])
            .int(4, self.codec)
            .long(5, self.values)
            .long(6, size)
            .long(7, size)
            .long(9, 4);
        if self.has_dictionary { chunk.long(11, 4) } else { chunk }
    }

    fn sample(&self) -> Sample {
        Sample { format: "parquet", folder: false, files: vec![("bomb.parquet", self.file())] }
    }

    fn refused(&self, what: &str) {
        let error = refused(&self.sample(), "bomb.parquet", what);
        assert!(error.contains(what), "{what}: {error}");
    }
}

const TWO: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
const HUGE: i64 = i32::MAX as i64;

/// The lengths of two strings of one byte, if `count` is 2.
fn lengths(count: u64) -> Vec<u8> {
    [varint(128), varint(4), varint(count), varint(2), varint(0), vec![0; 4]].concat()
}

fn level_run(runs: &[(u64, u8)]) -> Vec<u8> {
    let runs: Vec<u8> =
        runs.iter().flat_map(|&(times, level)| [varint(times << 1), vec![level]].concat()).collect();
    [&(runs.len() as u32).to_le_bytes(), &runs[..]].concat()
}

#[test]
fn handwritten_tables_are_valid() {
    let nodes = |table: Table| read(&table.sample()).unwrap().graph.nodes();
    assert_eq!(nodes(numbers(plain(2, PLAIN, &TWO))), 2);
    let packed = gzip(&TWO);
    let pages = page(0, [16, packed.len() as i64], values(2, PLAIN), &packed);
    assert_eq!(nodes(Table { codec: GZIP, ..numbers(pages) }), 2);
    let v2 = Struct::default().int(1, 2).int(2, 0).int(3, 2).int(4, PLAIN).int(5, 0).int(6, 0);
    assert_eq!(nodes(numbers(page(3, [16; 2], v2, &TWO))), 2);
    let texts = |encoding, lengths: &[Vec<u8>]| {
        let body = [&lengths.concat()[..], b"ab"].concat();
        Table { kind: TEXT, ..numbers(plain(2, encoding, &body)) }
    };
    assert_eq!(nodes(texts(DELTA_LENGTHS, &[lengths(2)])), 2);
    // No prefix of the previous string is shared.
    let none = [varint(128), varint(4), varint(2), varint(0), varint(0), vec![0; 4]].concat();
    assert_eq!(nodes(texts(DELTA_TEXTS, &[none, lengths(2)])), 2);
}

#[test]
fn headers_that_claim_two_gibibytes_are_refused_before_allocation() {
    for codec in [UNPACKED, SNAPPY, GZIP, LZ4, ZSTD, LZ4_RAW] {
        let pages = page(0, [HUGE, 16], values(2, PLAIN), &TWO);
        Table { codec, ..numbers(pages) }.refused("16 bytes cannot decompress to 2147483647");
    }
    let body = vec![0; 1 << 20];
    let pages = page(0, [HUGE, 1 << 20], values(2, PLAIN), &body);
    Table { codec: ZSTD, ..numbers(pages) }.refused("a column of a Parquet file needs 2.0 GiB");
    let pages = [dictionary(HUGE, &TWO), plain(2, DICTIONARY, &[1, 4, 0])].concat();
    Table { has_dictionary: true, ..numbers(pages) }.refused("a dictionary of 2147483647 values in 16 bytes");
}

#[test]
fn inconsistent_headers_are_refused() {
    let of_sizes = |sizes| numbers(page(0, sizes, values(2, PLAIN), &TWO));
    of_sizes([-16, 16]).refused("column 'source', page 0: its header has a negative size");
    of_sizes([16, -16]).refused("its header has a negative size");
    of_sizes([17, 17]).refused("its 17 bytes exceed the column, which has 16 left");
    of_sizes([15, 15]).refused("column 'source', page 1: its header is invalid");
    numbers(plain(-2, PLAIN, &TWO)).refused("its header has a negative size");
    numbers(plain(3, PLAIN, &TWO)).refused("the column has more values (3) than declared (2)");
    Table { values: 3, ..numbers(plain(3, PLAIN, &TWO)) }.refused("'source' declares 3 values in 2 rows");
    let v2 = |nulls, rows, definition, repetition| {
        let about = Struct::default().int(1, 2).int(2, nulls).int(3, rows).int(4, PLAIN);
        numbers(page(3, [16; 2], about.int(5, definition).int(6, repetition), &TWO))
    };
    v2(3, 2, 0, 0).refused("2 values do not fit 3 nulls and 2 rows");
    v2(0, 3, 0, 0).refused("2 values do not fit 0 nulls and 3 rows");
    v2(0, 2, HUGE, HUGE).refused("its levels have 4294967294 of 16 bytes");
    numbers(page(1, [16; 2], Struct::default(), &TWO)).refused("its header is invalid");
}

#[test]
fn pages_with_data_but_without_values_are_refused() {
    let texts = |pages| Table { kind: TEXT, has_dictionary: true, ..numbers(pages) };
    let pages = [dictionary(0, &TWO), plain(2, DICTIONARY, &[1, 4, 0])].concat();
    texts(pages).refused("column 'source', page 0: a dictionary of 0 values in 16 bytes");
    texts(plain(0, PLAIN, &TWO)).refused("no values in 16 bytes");
    let nulls = Struct::default().int(1, 2).int(2, 2).int(3, 2).int(4, PLAIN).int(5, 0).int(6, 0);
    texts(page(3, [16; 2], nulls, &TWO)).refused("no values in 16 bytes");
}

#[test]
fn pages_that_decompress_to_more_than_declared_are_refused() {
    let zeros = gzipped_zeros(320);
    let pages = page(0, [16, zeros.len() as i64], values(2, PLAIN), &zeros);
    Table { codec: GZIP, ..numbers(pages) }.refused("decompresses to more than the 16 bytes");
    // A byte, a copy of it eight million times, then the five literal bytes that LZ4 requires at the end.
    let block = [&[0x1f, 0, 1, 0][..], &[255; 32_000], &[0, 0x50, 0, 0, 0, 0, 0]].concat();
    let block = [&(block.len() as u32).to_le_bytes(), &block[..]].concat();
    let frame = [&[0x02, 0x21, 0x4c, 0x18], &block.repeat(64)[..]].concat();
    let pages = page(0, [16, frame.len() as i64], values(2, PLAIN), &frame);
    Table { codec: LZ4, ..numbers(pages) }.refused("decompresses to more than the 16 bytes");
}

#[test]
fn counts_of_strings_inside_a_page_are_checked() {
    let texts = |encoding, body: Vec<u8>| Table { kind: TEXT, ..numbers(plain(2, encoding, &body)) };
    let said = "a page does not contain the 2 strings it claims";
    texts(DELTA_LENGTHS, lengths(1 << 30)).refused(said);
    texts(DELTA_TEXTS, lengths(1 << 30)).refused(said);
    texts(DELTA_TEXTS, [lengths(2), lengths(1 << 30)].concat()).refused(said);
}

#[test]
fn a_long_string_in_every_row_does_not_exceed_the_memory_limit() {
    let (rows, length) = (1024, 1 << 20);
    let text = [&(length as u32).to_le_bytes(), &vec![b'x'; length][..]].concat();
    let indices = [vec![1], varint(rows << 1), vec![0]].concat();
    let pages = [dictionary(1, &text), plain(rows as i64, DICTIONARY, &indices)].concat();
    let (rows, values) = (rows as usize, rows as usize);
    let table = Table { kind: TEXT, rows, values, has_dictionary: true, ..numbers(pages) };
    assert_eq!(read(&table.sample()).unwrap().graph.nodes(), 1);
}

/// The limit counts for all columns of a row group and for all groups that are read at once.
#[test]
fn columns_that_are_decoded_together_share_the_memory_limit() {
    let text = |length: usize| [&(length as u32).to_le_bytes(), &vec![b'x'; length][..]].concat();
    let table = |length: usize| {
        let indices = [vec![1], varint(64 << 1), vec![0]].concat();
        let text = text(length);
        let packed = gzip(&text);
        let about = Struct::default().int(1, 1).int(2, PLAIN);
        let dictionary = page(2, [text.len() as i64, packed.len() as i64], about, &packed);
        let packed = gzip(&indices);
        let about = values(64, DICTIONARY);
        let data = page(0, [indices.len() as i64, packed.len() as i64], about, &packed);
        let pages = [dictionary, data].concat();
        Table { kind: TEXT, codec: GZIP, rows: 64, values: 64, has_dictionary: true, ..numbers(pages) }
    };
    table(12 << 20).refused("a row group of a Parquet file needs");
    assert_eq!(read(&table(4 << 20).sample()).unwrap().graph.nodes(), 1);
}

#[test]
fn a_list_larger_than_the_memory_limit_is_refused() {
    let values = 1 << 27;
    let levels = [level_run(&[(1, 0), (values - 1, 1)]), level_run(&[(values, 1)])].concat();
    let body = [levels, vec![1], varint(values << 1), vec![0]].concat();
    let pages = [dictionary(1, &TWO[..8]), plain(values as i64, DICTIONARY, &body)].concat();
    let values = values as usize;
    let names = ["other", "features"];
    let table =
        Table { names, repetition: REPEATED, rows: 1, values, has_dictionary: true, ..numbers(pages) };
    let place = tempfile::tempdir().unwrap();
    let [edges, nodes] = ["edges.csv", "nodes.parquet"].map(|name| place.path().join(name));
    std::fs::write(&edges, "0,0\n").unwrap();
    std::fs::write(&nodes, table.file()).unwrap();
    let _turn = crate::TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let options = Options { budget: BUDGET, ..Options::default() };
    let read = || open_files(&edges, Some(&nodes), None, &options);
    let (outcome, memory) = crate::allocation::most_during(read);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("a list column of a Parquet file needs 1.0 GiB"), "{error}");
    assert!(memory < crate::MOST_MEMORY, "held {memory} bytes");
}
