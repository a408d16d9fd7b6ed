//! Validates a Parquet footer and its schema before decoding.
//!
//! The decoder recurses into the schema and allocates memory for the children that each group claims,
//! so those claims are checked here.

use super::thrift::{I32, LIST, MOST_LEVELS, STRUCT, Thrift};

/// Checks magic number, footer length and schema of a file.
pub(super) fn check(file: &[u8]) -> Result<(), String> {
    let cut = || "is truncated: the Parquet footer is missing".to_owned();
    if !file.starts_with(b"PAR1") && !file.starts_with(b"PARE") {
        return Err("is not a Parquet file".into());
    }
    let (body, magic) = file.split_last_chunk::<4>().ok_or_else(cut)?;
    if magic == b"PARE" {
        return Err("is encrypted".into());
    }
    if magic != b"PAR1" || body.len() < 8 {
        return Err(cut());
    }
    let (body, length) = body.split_last_chunk::<4>().ok_or_else(cut)?;
    let length = u32::from_le_bytes(*length) as usize;
    let start = body.len().checked_sub(length).filter(|&start| start >= 4);
    let start = start.ok_or_else(|| format!("claims a footer of {length} bytes, longer than the file"))?;
    schema_is_sane(&mut Thrift { bytes: &body[start..] })
        .filter(|&sane| sane)
        .map(|_| ())
        .ok_or_else(|| "has a damaged footer".into())
}

/// Field 2 of the footer is the schema: its elements in depth-first order, field 5 of each being the
/// number of children. `None` if the bytes are truncated or invalid.
fn schema_is_sane(thrift: &mut Thrift) -> Option<bool> {
    let mut number = 0;
    while let Some(kind) = thrift.field(&mut number)? {
        if number != 2 || kind != LIST {
            thrift.skip(kind, 0)?;
            continue;
        }
        let (of, elements) = thrift.list()?;
        if of != STRUCT {
            return Some(false);
        }
        return tree_is_sane(thrift, elements);
    }
    Some(false)
}

fn tree_is_sane(thrift: &mut Thrift, elements: u64) -> Option<bool> {
    let mut open: Vec<u64> = Vec::new();
    for element in 0..elements {
        let children = children(thrift)?;
        if children > elements - element || open.len() > MOST_LEVELS {
            return Some(false);
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.is_empty() && element + 1 < elements {
            return Some(false);
        }
    }
    Some(open.is_empty())
}

/// Reads a schema element; returns its number of children.
fn children(thrift: &mut Thrift) -> Option<u64> {
    let (mut number, mut children) = (0, 0);
    while let Some(kind) = thrift.field(&mut number)? {
        match (number, kind) {
            (5, I32) => children = u64::try_from(thrift.zigzag()?).ok()?,
            (5, _) => return None,
            _ => thrift.skip(kind, 0)?,
        }
    }
    Some(children)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with only a schema, given by the number of children of each element.
    fn file(children: &[u8]) -> Vec<u8> {
        let mut footer = vec![0x29, 0xf0 | STRUCT, children.len() as u8];
        for &count in children {
            footer.extend([0x55, count * 2, 0]);
        }
        footer.push(0);
        let mut file = b"PAR1".to_vec();
        file.extend(&footer);
        file.extend((footer.len() as u32).to_le_bytes());
        file.extend(b"PAR1");
        file
    }

    #[test]
    fn a_schema_must_be_one_shallow_tree() {
        assert_eq!(check(&file(&[2, 0, 1, 1, 0])), Ok(()));
        assert!(check(&file(&[3, 0, 0])).is_err(), "a child is missing");
        assert!(check(&file(&[1, 0, 0])).is_err(), "an element outside the tree");
        assert!(check(&file(&[60])).is_err(), "more children than elements");
        let mut deep = [1; 60];
        deep[59] = 0;
        assert!(check(&file(&deep)).is_err(), "too deep");
    }

    #[test]
    fn truncated_files_and_wrong_footer_lengths_are_refused() {
        let whole = file(&[1, 0]);
        for end in 0..whole.len() {
            assert!(check(&whole[..end]).is_err(), "{end}");
        }
        let mut long = whole.clone();
        let at = long.len() - 8;
        long[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(check(&long).unwrap_err().contains("longer than the file"));
        let mut encrypted = whole;
        let last = encrypted.len() - 1;
        encrypted[last] = b'E';
        assert_eq!(check(&encrypted).unwrap_err(), "is encrypted");
    }
}
