//! Packs the rows of a factor into tiles: each value as a high and a low part of 8 significant bits.

use super::super::product::View;
use super::super::simd::Kernel;
use super::{SIDE, TERMS, Tile, TileStep, unit};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Role {
    Left,
    Right,
}

/// Packs `BLOCK` rows of a matrix, from row `first` and column `terms` on. In a tile of a left factor, a row holds 32
/// terms of one row; of a right factor, a pair of terms of 16 rows.
pub(super) struct Pack<'a> {
    pub(super) of: View<'a>,
    pub(super) first: usize,
    pub(super) terms: usize,
    pub(super) role: Role,
    pub(super) steps: &'a mut [TileStep],
}

impl Kernel for Pack<'_> {
    #[inline(always)]
    fn run(self) {
        let (rows, terms) = self.of.shape();
        let (values, stride, transposed) = self.of.layout();
        let mut edge = [0f32; SIDE * TERMS];
        for (step, packed) in self.steps.iter_mut().enumerate() {
            let [high_0, high_1, low_0, low_1] = &mut packed.0;
            for (half, high, low) in [(0, high_0, low_0), (1, high_1, low_1)] {
                let (row, term) = (self.first + half * SIDE, self.terms + step * TERMS);
                let whole = row + SIDE <= rows && term + TERMS <= terms;
                // Lines of the matrix in memory: rows, or terms if it is transposed.
                let (line, at, lines, len) =
                    if transposed { (term, row, TERMS, SIDE) } else { (row, term, SIDE, TERMS) };
                let (from, stride) = if whole {
                    (&values[line * stride + at..], stride)
                } else {
                    edge.fill(0.0);
                    let (ends, end) = if transposed { (terms, rows) } else { (rows, terms) };
                    // Padded with zeros beyond the matrix.
                    let (at, wide) = (at.min(end), len.min(end.saturating_sub(at)));
                    for (edge, line) in edge.chunks_exact_mut(len).zip(line..(line + lines).min(ends)) {
                        let from = line * stride + at;
                        edge[..wide].copy_from_slice(&values[from..from + wide]);
                    }
                    (&edge[..], len)
                };
                match transposed {
                    true => unit::across(from, stride, high, low),
                    false => unit::along(from, stride, high, low),
                }
                if transposed == (self.role == Role::Left) {
                    transpose(high);
                    transpose(low);
                }
            }
        }
    }
}

/// Transposes in four steps that swap halves, quarters and so on between pairs of rows, which suits vector units.
#[inline(always)]
fn transpose(tile: &mut Tile) {
    for half in [8, 4, 2, 1] {
        for row in (0..SIDE).filter(|row| row & half == 0) {
            let (above, below) = tile.split_at_mut((row + half) * SIDE);
            let (Ok(one), Ok(two)) = (
                <&mut [u32; SIDE]>::try_from(&mut above[row * SIDE..(row + 1) * SIDE]),
                <&mut [u32; SIDE]>::try_from(&mut below[..SIDE]),
            ) else {
                return;
            };
            let (a, b) = (*one, *two);
            for at in 0..SIDE {
                one[at] = if at & half == 0 { a[at] } else { b[at ^ half] };
                two[at] = if at & half == 0 { a[at ^ half] } else { b[at] };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::available;
    use super::*;

    #[test]
    #[allow(clippy::print_stderr)] // reports that it was skipped
    fn the_two_parts_of_a_value_nearly_add_up_to_it() {
        if !available() {
            eprintln!("skipped: this processor has no tiles");
            return;
        }
        let numbers = |salt: u32| -> Vec<f32> {
            let number = |at: u32| 0x3000_0000 + (at ^ salt << 16).wrapping_mul(2_654_435_761) % 0x1800_0000;
            (0..(SIDE * TERMS) as u32).map(|at| f32::from_bits(number(at))).collect()
        };
        let parts = |tile: &Tile, pair: usize, at: usize| -> f64 {
            let both = tile[pair];
            f32::from_bits(if at == 0 { both << 16 } else { both & 0xffff_0000 }) as f64
        };
        let (mut high, mut low) = ([0; SIDE * SIDE], [0; SIDE * SIDE]);
        for salt in 0..200 {
            let numbers = numbers(salt);
            let near = |high: &Tile, low: &Tile, pair: usize, at: usize, x: f32| {
                let sum = parts(high, pair, at) + parts(low, pair, at);
                assert!((sum / x as f64 - 1.0).abs() < 2f64.powi(-17), "{x}: {sum}");
            };
            unit::along(&numbers, TERMS, &mut high, &mut low);
            for (place, &x) in numbers.iter().enumerate() {
                near(&high, &low, place / 2, place % 2, x);
            }
            unit::across(&numbers, SIDE, &mut high, &mut low);
            for (place, &x) in numbers.iter().enumerate() {
                let (line, column) = (place / SIDE, place % SIDE);
                near(&high, &low, line / 2 * SIDE + column, line % 2, x);
            }
        }
        let lost = [f32::NAN, f32::from_bits(0x7fff_ffff), f32::INFINITY, f32::NEG_INFINITY];
        let lines: Vec<f32> = lost.iter().copied().cycle().take(SIDE * TERMS).collect();
        unit::along(&lines, TERMS, &mut high, &mut low);
        assert!(parts(&high, 0, 0).is_nan() && parts(&high, 0, 1).is_nan());
        assert_eq!((parts(&high, 1, 0), parts(&high, 1, 1)), (f64::INFINITY, f64::NEG_INFINITY));
    }

    #[test]
    fn tiles_are_transposed() {
        let mut tile: Tile = std::array::from_fn(|at| at as u32);
        transpose(&mut tile);
        assert!((0..256).all(|at| tile[at % 16 * 16 + at / 16] == at as u32));
    }
}
