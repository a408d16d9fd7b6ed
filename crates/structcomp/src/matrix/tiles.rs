//! Products on the tile unit of some processors (AMX), several times as fast as on vector units.
//!
//! The unit multiplies values of 8 significant bits and adds up in `f32`. Each value is therefore split in two,
//! x = high + low, and a product is high·high + low·high + high·low, with a relative error of about 2⁻¹⁷. Both factors
//! are packed into tiles, the right one once for all rows of the left.
//!
//! `benchmarks/run.sh train` measures what the unsafe code in `tiles/unit.rs` gains: see docs/background/design.md.

mod pack;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod unit;
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[path = "tiles/no_unit.rs"]
mod unit;

use super::product::{Sum, View};
use super::simd::{Kernel, Unit};
use pack::{Pack, Role};
use rayon::prelude::*;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;

/// Rows of a tile, and pairs of values in each row.
const SIDE: usize = 16;
/// Terms of a sum in one tile.
pub(super) const TERMS: usize = 2 * SIDE;
/// Rows and columns of the result that are held in registers.
pub(super) const BLOCK: usize = 2 * SIDE;
/// Steps of `TERMS` terms after which sums are written to memory, so that the packed factors stay in the cache.
const STEPS: usize = 16;

/// One part, high or low, of 16 rows or columns of 32 values each, two values per entry.
type Tile = [u32; SIDE * SIDE];

/// One factor in one step of the innermost loop: the high parts of two tiles, then the low parts.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct TileStep([Tile; 4]);

const EMPTY: TileStep = TileStep([[0; SIDE * SIDE]; 4]);

/// Whether the processor has the unit and the system grants its use.
pub(super) fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| std::env::var_os("STRUCTCOMP_NO_TILES").is_none() && unit::is_there())
}

/// A right factor, packed.
pub(super) struct Packed {
    steps: Vec<TileStep>,
    /// Steps of a panel of `BLOCK` columns.
    depth: usize,
}

impl Packed {
    /// None without a tile unit.
    pub(super) fn new(right: View) -> Option<Self> {
        let mut packed = Self::room(right)?;
        let depth = packed.depth.max(1);
        packed.steps.par_chunks_mut(depth).enumerate().for_each(|(panel, steps)| pack(right, panel, steps));
        Some(packed)
    }

    /// The same, on this thread only.
    pub(super) fn here(right: View) -> Option<Self> {
        let mut packed = Self::room(right)?;
        let depth = packed.depth.max(1);
        packed.steps.chunks_mut(depth).enumerate().for_each(|(panel, steps)| pack(right, panel, steps));
        Some(packed)
    }

    fn room(right: View) -> Option<Self> {
        let (terms, cols) = right.shape();
        let depth = terms.div_ceil(TERMS);
        available().then(|| Self { steps: spare::take(depth * cols.div_ceil(BLOCK)), depth })
    }

    /// `out = A B`, or `out += scale · A B`, with the rows `terms` and the columns `cols` of B, which start at
    /// multiples of [`TERMS`] and [`BLOCK`]. Rows of `out` are `stride` apart.
    pub(super) fn multiply(
        &self,
        left: View,
        (terms, cols): (Range<usize>, Range<usize>),
        out: &mut [f32],
        stride: usize,
        sum: Sum,
    ) {
        thread_local! {
            static LEFT: RefCell<Vec<TileStep>> = const { RefCell::new(Vec::new()) };
        }
        LEFT.with_borrow_mut(|packed| {
            Unit::widest().run(Multiply { right: self, left, terms, cols, out, stride, sum, packed });
        });
    }
}

/// Packs a panel of a right factor.
fn pack(right: View, panel: usize, steps: &mut [TileStep]) {
    let pack = Pack { of: right.t(), first: panel * BLOCK, terms: 0, role: Role::Right, steps };
    Unit::widest().run(pack);
}

impl Drop for Packed {
    fn drop(&mut self) {
        spare::put(std::mem::take(&mut self.steps));
    }
}

/// Buffers of right factors, kept for reuse: fresh memory from the system is slow.
mod spare {
    use super::{EMPTY, TileStep};
    use std::sync::{Mutex, PoisonError};

    static SPARE: Mutex<Vec<Vec<TileStep>>> = Mutex::new(Vec::new());
    const KEPT: usize = 4;
    /// Buffers above 8 MiB are freed.
    const LARGEST: usize = (8 << 20) / size_of::<TileStep>();

    pub(super) fn take(len: usize) -> Vec<TileStep> {
        let mut buffer = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        buffer.resize(len, EMPTY);
        buffer
    }

    pub(super) fn put(buffer: Vec<TileStep>) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < KEPT && buffer.capacity() <= LARGEST {
            spare.push(buffer);
        }
    }
}

struct Multiply<'a> {
    right: &'a Packed,
    left: View<'a>,
    terms: Range<usize>,
    cols: Range<usize>,
    out: &'a mut [f32],
    stride: usize,
    sum: Sum,
    packed: &'a mut Vec<TileStep>,
}

impl Kernel for Multiply<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { right, left, terms, cols, out, stride, sum, packed } = self;
        let (rows, depth) = (left.shape().0, terms.len().div_ceil(TERMS));
        let session = unit::Session::start();
        let mut cells = Cells([[0.0; BLOCK]; BLOCK]);
        for done in (0..depth).step_by(STEPS) {
            let steps = STEPS.min(depth - done);
            packed.resize(rows.div_ceil(BLOCK) * steps, EMPTY);
            for (block, packed) in packed.chunks_exact_mut(steps).enumerate() {
                let (first, terms) = (block * BLOCK, done * TERMS);
                Pack { of: left, first, terms, role: Role::Left, steps: packed }.run();
            }
            let sum = if done == 0 { sum } else { sum.more() };
            for panel in cols.clone().step_by(BLOCK) {
                let start = panel / BLOCK * right.depth + terms.start / TERMS + done;
                let right = &right.steps[start..start + steps];
                let wide = BLOCK.min(cols.end - panel);
                for (block, left) in packed.chunks_exact(steps).enumerate() {
                    let (first, at) = (block * BLOCK, block * BLOCK * stride + panel - cols.start);
                    if let (true, Some(add)) = (wide == BLOCK && first + BLOCK <= rows, sum.in_place()) {
                        let out = &mut out[at..at + (BLOCK - 1) * stride + BLOCK];
                        session.multiply(left, right, out, stride, add);
                        continue;
                    }
                    session.multiply(left, right, cells.0.as_flattened_mut(), BLOCK, false);
                    for (row, cells) in (first..rows).zip(&cells.0) {
                        let at = row * stride + panel - cols.start;
                        sum.write(&mut out[at..at + wide], cells);
                    }
                }
            }
        }
    }
}

impl Sum {
    /// Whether tiles start from the present contents of the result; none where they cannot do it in place.
    #[inline(always)]
    fn in_place(self) -> Option<bool> {
        match self {
            Self::Set => Some(false),
            Self::Add(1.0) => Some(true),
            Self::Add(_) => None,
        }
    }

    #[inline(always)]
    fn write(self, out: &mut [f32], cells: &[f32; BLOCK]) {
        match self {
            Self::Set => out.copy_from_slice(&cells[..out.len()]),
            Self::Add(scale) => out.iter_mut().zip(cells).for_each(|(out, cell)| *out += scale * cell),
        }
    }
}

/// A block of the result.
#[repr(C, align(64))]
struct Cells([[f32; BLOCK]; BLOCK]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::print_stderr)] // reports that it was skipped
    fn a_part_of_a_factor_is_multiplied() {
        if !available() {
            eprintln!("skipped: this processor has no tiles");
            return;
        }
        let (rows, terms, cols) = (75, 700, 90);
        let numbers = |count: usize| (0..count).map(|i| (i * 7919 % 23) as f32 - 11.0).collect::<Vec<_>>();
        let (a, b) = (numbers(rows * terms), numbers(terms * cols));
        let packed = Packed::new(View::new(&b, cols)).unwrap();
        let left = View::new(&a, terms).part(0..rows, 64..terms);
        for (how, kept, scale) in [(Sum::Add(0.5), 5.0, 0.5), (Sum::Add(1.0), 5.0, 1.0), (Sum::Set, 0.0, 1.0)]
        {
            let mut out = vec![5.0; rows * 100];
            packed.multiply(left, (64..terms, 32..cols), &mut out[3..], 100, how);
            for (row, col) in [(0, 0), (74, 57), (31, 32), (40, 3), (20, 20)] {
                let sum: f32 = (64..terms).map(|t| a[row * terms + t] * b[t * cols + 32 + col]).sum();
                assert_eq!(out[row * 100 + 3 + col], kept + scale * sum, "{row} {col}");
            }
            // Nothing else is written.
            assert!(out.chunks(100).all(|row| row[..3] == [5.0; 3] && row[61..].iter().all(|&x| x == 5.0)));
        }
    }
}
