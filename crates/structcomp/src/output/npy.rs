//! NumPy's `.npy`: a text header padded to 64 bytes, then the values row by row.

use crate::{Result, atomic::AtomicFile};
use std::path::Path;

/// Starts a file of `rows` x `cols` little-endian `f32` values, which follow.
pub(super) fn start(path: &Path, rows: usize, cols: usize) -> Result<AtomicFile> {
    start_with(path, "<f4", rows, cols)
}

/// The same for values of another type, by NumPy's name for it.
pub(super) fn start_with(path: &Path, of: &str, rows: usize, cols: usize) -> Result<AtomicFile> {
    let mut file = AtomicFile::create(path)?;
    file.write(&header(of, rows, cols))?;
    Ok(file)
}

fn header(of: &str, rows: usize, cols: usize) -> Vec<u8> {
    let mut about = format!("{{'descr': '{of}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    // The text is preceded by ten bytes and followed by a line feed. NumPy can map the values if they
    // start at a multiple of 64.
    while !(10 + about.len() + 1).is_multiple_of(64) {
        about.push(' ');
    }
    about.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((about.len() as u16).to_le_bytes());
    bytes.extend(about.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_what_numpy_writes() {
        // numpy.save of zeros((2708, 128), '<f4'), first 128 bytes
        let mut expected =
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2708, 128), }"
                .to_vec();
        expected.resize(127, b' ');
        expected.push(b'\n');
        assert_eq!(header("<f4", 2708, 128), expected);
        assert!(header("<f4", usize::MAX, usize::MAX).len().is_multiple_of(64));
    }
}
