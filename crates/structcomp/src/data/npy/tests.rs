//! Handwritten arrays, intact and damaged. `tests/formats` reads arrays written by NumPy.

use super::*;

const ALL: Budget = Budget { bytes: 1 << 30 };

pub(crate) fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    // NumPy pads so that the data is aligned.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let text = format!("{text:<width$}\n", width = length - 1);
    [&b"\x93NUMPY\x01\x00"[..], &(length as u16).to_le_bytes(), text.as_bytes(), data].concat()
}

fn parse(bytes: &[u8]) -> Result<Array<'_>> {
    Array::parse(bytes, Path::new("a.npy"))
}

fn message<T>(result: Result<T>) -> String {
    result.err().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn both_byte_orders_and_both_storage_orders_give_the_same_matrix() {
    // 1 2 3
    // 4 5 6
    let rows = [1i16, 2, 3, 4, 5, 6];
    let columns = [1i16, 4, 2, 5, 3, 6];
    let little = |items: &[i16]| items.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let big = |items: &[i16]| items.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<u8>>();
    for (descr, order, data) in [
        ("<i2", "False", little(&rows)),
        (">i2", "False", big(&rows)),
        ("<i2", "True", little(&columns)),
        (">i2", "True", big(&columns)),
    ] {
        let bytes = file(descr, order, "(2, 3)", &data);
        let array = parse(&bytes).unwrap();
        assert_eq!(array.rows_cols().unwrap(), (2, 3));
        assert_eq!(array.to_i64(&ALL).unwrap(), [1, 2, 3, 4, 5, 6], "{descr} {order}");
        assert_eq!(array.to_f32(&ALL).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(array.i64_range(2..4, &ALL).unwrap(), [3, 4]);
    }
}

#[test]
fn numbers_out_of_range_are_reported() {
    let doubles = |items: &[f64]| items.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let bytes = file("<f8", "False", "(3,)", &doubles(&[1.0, 1e39, f64::NAN]));
    let array = parse(&bytes).unwrap();
    assert_eq!(message(array.to_f32(&ALL)), "a.npy: item 1 is too large for a 32-bit float");
    let bytes = file("<f8", "False", "(2,)", &doubles(&[-(2f64.powi(63)), 2f64.powi(63)]));
    assert_eq!(parse(&bytes).unwrap().i64_range(0..1, &ALL).unwrap(), [i64::MIN]);
    assert_eq!(message(parse(&bytes).unwrap().to_i64(&ALL)), "a.npy: item 1 is not a 64-bit integer");
    let bytes = file("<f8", "False", "(1,)", &doubles(&[0.5]));
    assert!(parse(&bytes).unwrap().to_i64(&ALL).is_err());
    let bytes = file("<u8", "False", "(1,)", &u64::MAX.to_le_bytes());
    assert!(parse(&bytes).unwrap().to_i64(&ALL).is_err());
    let bytes = file("|u1", "False", "(3,)", &[0, 1, 2]);
    assert_eq!(message(parse(&bytes).unwrap().to_bool(&ALL)), "a.npy: item 2 is neither 0 nor 1");
}

#[test]
fn only_the_first_invalid_item_is_reported() {
    let bytes = file("|u1", "False", "(200000,)", &vec![7; 200_000]);
    assert_eq!(message(parse(&bytes).unwrap().to_bool(&ALL)), "a.npy: item 0 is neither 0 nor 1");
}

#[test]
fn text_is_read_without_padding() {
    let bytes = file("|S3", "False", "()", b"csr");
    assert_eq!(parse(&bytes).unwrap().to_strings(&ALL).unwrap(), ["csr"]);
    let code = |text: &str| text.chars().flat_map(|c| (c as u32).to_be_bytes()).collect::<Vec<u8>>();
    let bytes = file(">U2", "False", "(2,)", &code("é\0ab"));
    assert_eq!(parse(&bytes).unwrap().to_strings(&ALL).unwrap(), ["é", "ab"]);
    assert!(parse(&bytes).unwrap().to_f32(&ALL).is_err());
    assert!(parse(&file("<U1", "False", "(1,)", &[255; 4])).unwrap().to_strings(&ALL).is_err());
    // Empty strings take no bytes, so any number of them fits.
    let bytes = file("|S0", "False", "(18446744073709551615,)", b"");
    assert!(parse(&bytes).unwrap().to_strings(&ALL).is_err());
    assert!(parse(&bytes).unwrap().to_f32(&ALL).is_err());
}

#[test]
fn every_truncation_and_any_excess_is_an_error() {
    let bytes = file("<f4", "False", "(2,)", &[0; 8]);
    assert!(parse(&bytes).is_ok());
    for length in 0..bytes.len() {
        assert!(parse(&bytes[..length]).is_err(), "cut to {length}");
    }
    assert!(parse(&[&bytes[..], &[0]].concat()).is_err());
    assert!(message(parse(b"PK\x03\x04 not an array")).contains("is not a NumPy array"));
}

#[test]
fn absurd_shapes_neither_overflow_nor_allocate() {
    for shape in ["(4294967296, 4294967296, 4)", "(18446744073709551615,)", "(3,)", "(0, 5, 1)", "()"] {
        assert!(parse(&file("<f4", "False", shape, &[0; 8])).is_err(), "{shape}");
    }
    let empty = file("<f4", "True", "(0, 5)", &[]);
    assert_eq!(parse(&empty).unwrap().to_f32(&ALL).unwrap(), [0f32; 0]);
    let small = Budget { bytes: 8 };
    let bytes = file("|i1", "False", "(3,)", &[1, 2, 3]);
    assert!(matches!(parse(&bytes).unwrap().to_f32(&small), Err(Error::Memory { need: 12, .. })));
}

#[test]
fn matrices_are_mapped_if_possible() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let data: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    // A mapped file needs no memory, so it must open with a limit of zero.
    for (order, budget, third) in [("False", 0, 3.0), ("True", 16, 2.0)] {
        std::fs::write(&path, file("<f4", order, "(2, 2)", &data)).unwrap();
        let matrix = open_matrix(&path, &Budget { bytes: budget }).unwrap();
        assert_eq!((matrix.rows(), matrix.row(1)[0]), (2, third));
    }
    std::fs::write(&path, file("<f4", "False", "(1, 2, 2)", &data)).unwrap();
    assert!(message(open_matrix(&path, &ALL)).contains("3 dimensions"));
    let bad: Vec<u8> = [1f32, f32::NAN].iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(&path, file("<f4", "False", "(2,)", &bad)).unwrap();
    assert!(message(open_matrix(&path, &ALL)).ends_with("x.npy: row 1, column 0 is NaN"));
}
