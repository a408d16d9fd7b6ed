//! The header of a `.npy` file: a Python dictionary literal with exactly three keys.

/// The type of the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DType {
    pub(crate) kind: Kind,
    /// Bytes per item.
    pub(crate) size: usize,
    pub(crate) big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    /// Bytes, padded with zeros.
    Bytes,
    /// UTF-32 text, padded with zeros.
    Text,
}

/// A header, and the start of the data after it.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) dtype: DType,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
    pub(super) data_at: usize,
}

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Length of the prefix before the dictionary in versions 2 and 3, the longest.
const PREFIX: usize = 12;
/// Only structured arrays, which are not supported, have long headers.
const MAX_HEADER: usize = 1 << 20;
/// NumPy's own limit.
const MAX_DIMENSIONS: usize = 64;

/// Start of the data, from the first bytes of a file; `None` if there are too few.
pub(crate) fn data_start(bytes: &[u8]) -> Result<Option<usize>, String> {
    if bytes.iter().zip(MAGIC).any(|(a, b)| a != b) {
        return Err("is not a NumPy array (it does not start with \\x93NUMPY)".into());
    }
    match *bytes {
        [_, _, _, _, _, _, 1, _, a, b, ..] => Ok(Some(10 + u16::from_le_bytes([a, b]) as usize)),
        [_, _, _, _, _, _, 2 | 3, _, a, b, c, d, ..] => match u32::from_le_bytes([a, b, c, d]) as usize {
            length if length > MAX_HEADER => Err(format!("has an invalid header length of {length} bytes")),
            length => Ok(Some(PREFIX + length)),
        },
        [_, _, _, _, _, _, version, ..] if !(1..=3).contains(&version) => {
            Err(format!("has NumPy format version {version}; versions 1 to 3 are supported"))
        }
        _ => Ok(None),
    }
}

impl Header {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let cut = || "is truncated inside the header".to_owned();
        let data_at = data_start(bytes)?.ok_or_else(cut)?;
        let text_at = if bytes[6] == 1 { 10 } else { PREFIX };
        let text = bytes.get(text_at..data_at).ok_or_else(cut)?;
        let text = std::str::from_utf8(text).map_err(|_| "has a header that is not text")?;
        let mut literal = Literal { rest: text };
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        literal.expect("{")?;
        while !literal.accept("}") {
            let key = literal.string()?;
            literal.expect(":")?;
            let fresh = match key {
                "descr" => dtype.replace(literal.dtype()?).is_none(),
                "fortran_order" => fortran.replace(literal.boolean()?).is_none(),
                "shape" => shape.replace(literal.shape()?).is_none(),
                _ => return Err(format!("has an unknown key '{key}' in its header")),
            };
            if !fresh {
                return Err(format!("has the key '{key}' twice in its header"));
            }
            if !literal.accept(",") {
                literal.expect("}")?;
                break;
            }
        }
        if !literal.rest.trim().is_empty() {
            return Err("has trailing data in its header".into());
        }
        let missing = |key| format!("has no key '{key}' in its header");
        Ok(Self {
            dtype: dtype.ok_or_else(|| missing("descr"))?,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
            data_at,
        })
    }

    /// Size of the data in bytes, unless it overflows.
    pub(super) fn data_size(&self) -> Option<u64> {
        self.shape.iter().try_fold(self.dtype.size as u64, |product, &extent| product.checked_mul(extent))
    }
}

/// The rest of the dictionary.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn accept(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.accept(token) {
            true => Ok(()),
            false => Err(format!("has an invalid header: expected '{token}' {}", self.place())),
        }
    }

    fn place(&self) -> String {
        let next: String = self.rest.chars().take(12).collect();
        if next.is_empty() { "before its end".into() } else { format!("before {next:?}") }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.accept("\"") { '"' } else { self.expect("'").map(|()| '\'')? };
        let (text, rest) = self.rest.split_once(quote).ok_or("has an unclosed quote in its header")?;
        self.rest = rest;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        Ok(self.accept("True") || self.expect("False").map(|()| false)?)
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect("(")?;
        while !self.accept(")") {
            if shape.len() == MAX_DIMENSIONS {
                return Err(format!("has more than {MAX_DIMENSIONS} dimensions"));
            }
            self.rest = self.rest.trim_start();
            let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = self.rest.split_at(digits);
            shape.push(number.parse().map_err(|_| format!("has an invalid shape {}", self.place()))?);
            self.rest = rest;
            // Python 2 writes long integers as `10L`.
            self.accept("L");
            if !self.accept(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(shape)
    }

    fn dtype(&mut self) -> Result<DType, String> {
        if self.accept("[") || self.accept("(") || self.accept("{") {
            return Err("is a structured array, which is not supported; save its columns separately".into());
        }
        DType::parse(self.string()?)
    }
}

impl DType {
    fn parse(text: &str) -> Result<Self, String> {
        let unknown = || format!("has the unsupported type '{text}'");
        let mut letters = text.chars();
        let (order, letter) = (letters.next(), letters.next());
        if letter == Some('O') {
            return Err("contains pickled Python objects, which are not supported".into());
        }
        let number = letters.as_str();
        let size: usize = number.parse().ok().filter(|_| !number.starts_with('+')).ok_or_else(unknown)?;
        let (kind, size) = match (letter, size) {
            (Some('b'), 1) => (Kind::Bool, 1),
            (Some('i'), 1 | 2 | 4 | 8) => (Kind::Signed, size),
            (Some('u'), 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
            (Some('f'), 2 | 4 | 8) => (Kind::Float, size),
            (Some('S'), _) => (Kind::Bytes, size),
            (Some('U'), _) => (Kind::Text, size.checked_mul(4).ok_or_else(unknown)?),
            _ => return Err(unknown()),
        };
        match order {
            Some('<' | '=') => Ok(Self { kind, size, big_endian: false }),
            Some('>') => Ok(Self { kind, size, big_endian: true }),
            Some('|') if size == 1 || kind == Kind::Bytes => Ok(Self { kind, size, big_endian: false }),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, String> {
        let length = (text.len() as u16).to_le_bytes();
        Header::parse(&[&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes()].concat())
    }

    #[test]
    fn keys_come_in_any_order_and_quotes_and_longs_vary() {
        let little = DType { kind: Kind::Float, size: 4, big_endian: false };
        let usual = header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n").unwrap();
        assert_eq!((usual.dtype, usual.fortran, &usual.shape[..]), (little, false, &[3, 4][..]));
        let other = header("{\"shape\":(3L,),'fortran_order':True,'descr':\">i8\"}").unwrap();
        assert_eq!(other.dtype, DType { kind: Kind::Signed, size: 8, big_endian: true });
        assert_eq!((other.fortran, &other.shape[..]), (true, &[3][..]));
        let scalar = header("{'descr': '<U3', 'fortran_order': False, 'shape': ()}").unwrap();
        assert_eq!((scalar.dtype.size, scalar.shape.len()), (12, 0));
    }

    #[test]
    fn other_headers_are_refused() {
        let with = |descr: &str, order: &str, shape: &str| {
            header(&format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}"))
        };
        assert!(with("'<f4'", "False", "(1,)").is_ok());
        for descr in
            ["'<f16'", "'<c8'", "'|i4'", "'f4'", "'<M8[ns]'", "''", "'<f+4'", "'<U99999999999999999999'"]
        {
            assert!(with(descr, "False", "(1,)").unwrap_err().contains("unsupported"), "{descr}");
        }
        assert!(with("'|O'", "False", "(1,)").unwrap_err().contains("pickled"));
        assert!(with("[('a', '<f4')]", "False", "(1,)").unwrap_err().contains("structured"));
        assert!(with("('<f4', (2,))", "False", "(1,)").unwrap_err().contains("structured"));
        for shape in ["(-1,)", "(1", "1", "(1 2)", "(99999999999999999999,)", "(,)", "[1]"] {
            assert!(with("'<f4'", "False", shape).is_err(), "{shape}");
        }
        assert!(with("'<f4'", "1", "(1,)").is_err());
        assert!(
            with("'<f4'", "False", &format!("({})", "1,".repeat(65))).unwrap_err().contains("dimensions")
        );
        assert!(header("{'descr': '<f4', 'descr': '<f4'}").unwrap_err().contains("twice"));
        assert!(header("{'descr': '<f4', 'shape': ()}").unwrap_err().contains("fortran_order"));
        assert!(header("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x").is_err());
        assert!(header("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}").is_err());
        assert!(
            Header::parse(b"\x93NUMPY\x02\x00\xff\xff\xff\xff")
                .unwrap_err()
                .contains("invalid header length")
        );
        assert!(Header::parse(b"\x93NUMPY\x04\x00\x00\x00").unwrap_err().contains("version 4"));
    }
}
