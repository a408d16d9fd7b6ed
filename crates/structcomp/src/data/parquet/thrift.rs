//! Thrift's compact encoding, as needed for footers and page headers of Parquet.
//!
//! A struct is a sequence of fields that ends with a zero byte. Each field starts with a byte: the upper
//! half is the difference to the previous field id, the lower half is the type. Everything accepted
//! here is read the same way by the decoder. What it might read differently (field ids beyond 16 bits,
//! numbers of more than ten bytes, lists of booleans) is refused.

/// More than any supported table needs: a list column takes three levels.
pub(super) const MOST_LEVELS: usize = 32;

pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const I32: u8 = 5;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// The bytes left to read. Every method returns `None` if they are truncated or invalid.
pub(super) struct Thrift<'a> {
    pub(super) bytes: &'a [u8],
}

impl Thrift<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= ((byte & 0x7f) as u64) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn zigzag(&mut self) -> Option<i64> {
        self.varint().map(|value| (value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The type of the next field of a struct, `Some(None)` at its end; updates `number`.
    pub(super) fn field(&mut self, number: &mut i16) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *number = match head >> 4 {
            0 => i16::try_from(self.zigzag()?).ok()?,
            step => number.checked_add(step as i16)?,
        };
        Some(Some(head & 0x0f))
    }

    /// Item type and length of a list.
    pub(super) fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let items = if head >> 4 == 15 { self.varint()? } else { (head >> 4) as u64 };
        // An item takes at least one byte.
        (items <= self.bytes.len() as u64).then_some((head & 0x0f, items))
    }

    /// Skips a value. Lists are not supported here.
    pub(super) fn skip(&mut self, kind: u8, level: usize) -> Option<()> {
        if level > MOST_LEVELS {
            return None;
        }
        match kind {
            TRUE | FALSE => {}
            3 => drop(self.byte()?),
            4..=6 => drop(self.varint()?),
            7 => self.bytes = self.bytes.get(8..)?,
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.bytes = self.bytes.get(length..)?;
            }
            STRUCT => {
                let mut number = 0;
                while let Some(kind) = self.field(&mut number)? {
                    self.skip(kind, level + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_ids_beyond_16_bits_are_refused() {
        // A reader that keeps 16 bits would take 65,538 for field 2; 131,076 is its zigzag encoding.
        let mut far = Thrift { bytes: &[I32, 0x84, 0x80, 0x08, 0] };
        assert_eq!(far.field(&mut 0), None);
        let mut number = 0;
        let mut near = Thrift { bytes: &[I32, 4, 0] };
        assert_eq!((near.field(&mut number), number), (Some(Some(I32)), 2));
    }

    #[test]
    fn numbers_may_be_negative_and_must_be_terminated() {
        assert_eq!(Thrift { bytes: &[0x03] }.zigzag(), Some(-2));
        assert_eq!(Thrift { bytes: &[0xac, 0x02] }.varint(), Some(300));
        assert_eq!(Thrift { bytes: &[0x80; 11] }.varint(), None);
    }

    #[test]
    fn values_are_skipped_by_their_length() {
        // A struct of a string of two bytes, a double and a flag; 0x7f follows.
        let bytes = [0x18, 2, b'a', b'b', 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0, 0x7f];
        let mut thrift = Thrift { bytes: &bytes };
        assert_eq!((thrift.skip(STRUCT, 0), thrift.bytes), (Some(()), &[0x7f][..]));
        assert_eq!(Thrift { bytes: &[0x18, 9, b'a', 0] }.skip(STRUCT, 0), None, "a text beyond the end");
        assert_eq!(Thrift { bytes: &[0x1c; 50] }.skip(STRUCT, 0), None, "too deep");
        assert_eq!(Thrift { bytes: &[0x11, 1] }.skip(LIST, 0), None, "a list of flags");
    }
}
