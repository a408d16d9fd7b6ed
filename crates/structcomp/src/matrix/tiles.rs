//! Matrix products on AMX tile units, several times as fast as with vector instructions.
//!
//! The unit multiplies `bf16` numbers, which have 8 significant bits, and accumulates in `f32`. So each number
//! is split into two, x = high + low, and a product is high·high + low·high + high·low, with a relative
//! error of about 2⁻¹⁷. Both factors are packed into tiles, the right one once for all rows of the left.
//!
//! `benchmarks/run.sh train` measures what the unsafe code below gains; see docs/design.md.

use super::product::{Sum, View};
use crate::matrix::{Kernel, Unit};
use rayon::prelude::*;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::OnceLock;

/// Rows per tile, and pairs of numbers per row.
const SIDE: usize = 16;
/// Terms of a sum per tile.
pub(super) const TERMS: usize = 2 * SIDE;
/// Rows and columns of the result computed in registers.
pub(super) const BLOCK: usize = 2 * SIDE;
/// Steps of `TERMS` terms between writes to memory, few enough that the packed factors stay in the cache.
const STEPS: usize = 16;

/// 16 rows or columns of 32 `bf16` numbers.
type Tile = [u32; SIDE * SIDE];

/// The tiles of one factor for one step of the inner loop: the high parts of two tiles, then the low parts.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Step([Tile; 4]);

const EMPTY: Step = Step([[0; SIDE * SIDE]; 4]);

/// Whether the processor has the unit and the system permits its use.
pub(super) fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| std::env::var_os("STRUCTCOMP_NO_TILES").is_none() && unit::is_there())
}

/// A packed right factor.
pub(super) struct Packed {
    steps: Vec<Step>,
    /// Steps per panel of `BLOCK` columns.
    depth: usize,
}

impl Packed {
    /// `None` if the unit is not available.
    pub(super) fn new(right: View) -> Option<Self> {
        let mut packed = Self::room(right)?;
        let depth = packed.depth.max(1);
        packed.steps.par_chunks_mut(depth).enumerate().for_each(|(panel, steps)| pack(right, panel, steps));
        Some(packed)
    }

    /// Like [`new`](Self::new), on the current thread only.
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

    /// `out = A B` or `out += scale · A B` with the submatrix of B given by `terms` and `cols`, which must start
    /// at multiples of [`TERMS`] and [`BLOCK`]. Rows of `out` are `stride` apart.
    pub(super) fn multiply(
        &self,
        left: View,
        (terms, cols): (Range<usize>, Range<usize>),
        out: &mut [f32],
        stride: usize,
        sum: Sum,
    ) {
        thread_local! {
            static LEFT: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
        }
        LEFT.with_borrow_mut(|packed| {
            Unit::widest().run(Multiply { right: self, left, terms, cols, out, stride, sum, packed });
        });
    }
}

/// Packs one panel of a right factor.
fn pack(right: View, panel: usize, steps: &mut [Step]) {
    let pack = Pack { of: right.t(), first: panel * BLOCK, terms: 0, role: Role::Right, steps };
    Unit::widest().run(pack);
}

impl Drop for Packed {
    fn drop(&mut self) {
        spare::put(std::mem::take(&mut self.steps));
    }
}

/// Recycled buffers for right factors, since fresh memory is slow to obtain.
mod spare {
    use super::{EMPTY, Step};
    use std::sync::{Mutex, PoisonError};

    static SPARE: Mutex<Vec<Vec<Step>>> = Mutex::new(Vec::new());
    const KEPT: usize = 4;
    /// Buffers above 8 MiB are freed.
    const LARGEST: usize = (8 << 20) / size_of::<Step>();

    pub(super) fn take(len: usize) -> Vec<Step> {
        let mut buffer = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        buffer.resize(len, EMPTY);
        buffer
    }

    pub(super) fn put(buffer: Vec<Step>) {
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
    packed: &'a mut Vec<Step>,
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
    /// Whether the tile unit adds to the previous contents; `None` if it cannot, because they must be scaled.
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

/// A row-major block of the result.
#[repr(C, align(64))]
struct Cells([[f32; BLOCK]; BLOCK]);

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Left,
    Right,
}

/// Packs `BLOCK` rows of a matrix from row `first` on, and its columns (the terms) from `terms` on. A tile row
/// holds 32 terms of one row for a left factor, and a pair of terms of 16 rows for a right one.
struct Pack<'a> {
    of: View<'a>,
    first: usize,
    terms: usize,
    role: Role,
    steps: &'a mut [Step],
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
                // Lines are contiguous in memory: rows, or terms if the view is transposed.
                let (line, at, lines, len) =
                    if transposed { (term, row, TERMS, SIDE) } else { (row, term, SIDE, TERMS) };
                let (from, stride) = if whole {
                    (&values[line * stride + at..], stride)
                } else {
                    edge.fill(0.0);
                    let (ends, end) = if transposed { (terms, rows) } else { (rows, terms) };
                    // Pads with zeros beyond the matrix.
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

/// Transposes a tile in four steps that exchange halves, quarters, eighths and sixteenths of two rows, which
/// compile to vector shuffles.
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

/// The AMX instructions, which have no stable intrinsics yet, and the vector code that packs tiles.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[allow(unsafe_code)]
mod unit {
    use super::{BLOCK, SIDE, Step, TERMS, Tile};
    use std::arch::asm;
    use std::arch::x86_64::*;

    /// Asks the processor, then the system, which saves the tile registers only of processes that request it.
    pub(super) fn is_there() -> bool {
        const TILES_AND_BF16: u32 = 1 << 24 | 1 << 22;
        const TILE_STATE: u64 = 1 << 17 | 1 << 18;
        const ARCH_PRCTL: i64 = 158;
        const REQUEST: u64 = 0x1023;
        let vectors = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512bf16");
        if !vectors || !is_x86_feature_detected!("xsave") {
            return false;
        }
        #[allow(unused_unsafe)] // unsafe in older compilers
        // SAFETY: every x86-64 processor has this instruction.
        let features = unsafe { __cpuid_count(7, 0) }.edx;
        if features & TILES_AND_BF16 != TILES_AND_BF16 {
            return false;
        }
        // SAFETY: the processor has xsave, and a system that supports AVX-512 has enabled it.
        if unsafe { xcr0() } & TILE_STATE != TILE_STATE {
            return false;
        }
        let denied: i64;
        // SAFETY: this system call does not access our memory; it only changes rcx and r11.
        unsafe {
            asm!("syscall", inlateout("rax") ARCH_PRCTL => denied, in("rdi") REQUEST, in("rsi") 18u64,
                out("rcx") _, out("r11") _, options(nostack));
        }
        denied == 0
    }

    #[target_feature(enable = "xsave")]
    fn xcr0() -> u64 {
        // SAFETY: register 0 exists wherever xsave is enabled.
        unsafe { _xgetbv(0) }
    }

    /// Splits 16 lines of 32 numbers; pairs are adjacent in a line.
    pub(super) fn along(from: &[f32], stride: usize, high: &mut Tile, low: &mut Tile) {
        // SAFETY: only called by [`Packed`], which exists only if `is_there` has detected these instructions.
        unsafe { split_along(from, stride, high, low) }
    }

    /// Splits 32 lines of 16 numbers; pairs are in consecutive lines.
    pub(super) fn across(from: &[f32], stride: usize, high: &mut Tile, low: &mut Tile) {
        // SAFETY: as above.
        unsafe { split_across(from, stride, high, low) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    fn split_along(from: &[f32], stride: usize, high: &mut Tile, low: &mut Tile) {
        for line in 0..SIDE {
            let from = &from[line * stride..line * stride + TERMS];
            let parts = split(numbers(from), numbers(&from[SIDE..]));
            put(parts.0, &mut high[line * SIDE..]);
            put(parts.1, &mut low[line * SIDE..]);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    fn split_across(from: &[f32], stride: usize, high: &mut Tile, low: &mut Tile) {
        const PAIRS: [u16; TERMS] = {
            let mut pairs = [0; TERMS];
            let mut at = 0;
            while at < SIDE {
                (pairs[2 * at], pairs[2 * at + 1]) = (at as u16, (SIDE + at) as u16);
                at += 1;
            }
            pairs
        };
        // SAFETY: the array and the register both have 64 bytes.
        let pairs = unsafe { _mm512_loadu_si512(PAIRS.as_ptr().cast()) };
        for pair in 0..SIDE {
            let line = |line: usize| numbers(&from[line * stride..]);
            let parts = split(line(2 * pair), line(2 * pair + 1));
            put(_mm512_permutexvar_epi16(pairs, parts.0), &mut high[pair * SIDE..]);
            put(_mm512_permutexvar_epi16(pairs, parts.1), &mut low[pair * SIDE..]);
        }
    }

    /// 32 numbers rounded to `bf16`, and their remainders rounded to `bf16`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    fn split(first: __m512, second: __m512) -> (__m512i, __m512i) {
        let high = narrow(first, second);
        let widened =
            |half: __m256i| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(half)));
        let of_first = widened(_mm512_castsi512_si256(high));
        let of_second = widened(_mm512_extracti64x4_epi64::<1>(high));
        (high, narrow(_mm512_sub_ps(first, of_first), _mm512_sub_ps(second, of_second)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    fn narrow(first: __m512, second: __m512) -> __m512i {
        // SAFETY: both types are 64 bytes, and every bit pattern is valid.
        unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(second, first)) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn numbers(from: &[f32]) -> __m512 {
        let from = &from[..SIDE];
        // SAFETY: the slice holds the 16 numbers that are read.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn put(numbers: __m512i, to: &mut [u32]) {
        let to = &mut to[..SIDE];
        // SAFETY: the slice holds the 16 numbers that are written.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), numbers) }
    }

    /// Configures all eight tile registers as 16 rows of 64 bytes. Bound to its thread.
    pub(super) struct Session(std::marker::PhantomData<*const ()>);

    #[repr(C, align(64))]
    struct Shape([u8; 64]);

    const SHAPE: Shape = {
        let mut shape = [0; 64];
        shape[0] = 1;
        let mut tile = 0;
        while tile < 8 {
            (shape[16 + 2 * tile], shape[48 + tile]) = (64, 16);
            tile += 1;
        }
        Shape(shape)
    };

    impl Session {
        pub(super) fn start() -> Self {
            // SAFETY: only called with a packed factor, which exists only if the unit is available.
            unsafe { asm!("ldtilecfg [{}]", in(reg) &SHAPE, options(nostack, readonly)) }
            Self(std::marker::PhantomData)
        }

        /// Multiplies packed factors of two tiles each over all steps. Writes the result to `out`, whose rows
        /// are `stride` apart, or adds it if `add`.
        #[inline(always)]
        pub(super) fn multiply(
            &self,
            left: &[Step],
            right: &[Step],
            out: &mut [f32],
            stride: usize,
            add: bool,
        ) {
            let steps = left.len().min(right.len());
            assert!(steps > 0 && stride >= BLOCK && out.len() >= (BLOCK - 1) * stride + BLOCK);
            let lower = SIDE * stride * size_of::<f32>();
            // SAFETY: `self` proves that the tiles are configured. Each step reads the 4096 bytes of one
            // `Step` of each slice, and both have at least `steps`. In each of 32 rows of `out`, 32 numbers
            // are read and written; the last row ends within the slice, as asserted above.
            unsafe {
                asm!(
                    "test {add}, {add}",
                    "jz 3f",
                    "tileloadd tmm0, [{out} + {line}]",
                    "tileloadd tmm1, [{out} + {line} + 64]",
                    "tileloadd tmm2, [{below} + {line}]",
                    "tileloadd tmm3, [{below} + {line} + 64]",
                    "jmp 2f",
                    "3:",
                    "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
                    "2:",
                    // high · low
                    "tileloadd tmm4, [{left} + {row}]",
                    "tileloadd tmm6, [{right} + {row} + 2048]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm5, [{left} + {row} + 1024]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tileloadd tmm7, [{right} + {row} + 3072]",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tileloadd tmm6, [{right} + {row}]",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    // high · high
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tileloadd tmm7, [{right} + {row} + 1024]",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tileloadd tmm4, [{left} + {row} + 2048]",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    // low · high
                    "tileloadd tmm5, [{left} + {row} + 3072]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    "add {left}, 4096", "add {right}, 4096", "dec {steps}", "jnz 2b",
                    "tilestored [{out} + {line}], tmm0",
                    "tilestored [{out} + {line} + 64], tmm1",
                    "tilestored [{below} + {line}], tmm2",
                    "tilestored [{below} + {line} + 64], tmm3",
                    left = inout(reg) left.as_ptr() => _,
                    right = inout(reg) right.as_ptr() => _,
                    steps = inout(reg) steps => _,
                    out = in(reg) out.as_mut_ptr(),
                    below = in(reg) out.as_mut_ptr().byte_add(lower),
                    add = in(reg) usize::from(add),
                    row = in(reg) 64usize,
                    line = in(reg) stride * size_of::<f32>(),
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    }

    impl Drop for Session {
        fn drop(&mut self) {
            // SAFETY: as in `start`; the tiles are not used after this.
            unsafe { asm!("tilerelease", options(nostack, nomem)) }
        }
    }
}

/// Stubs for machines without AMX.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod unit {
    use super::{Step, Tile};

    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn along(_: &[f32], _: usize, _: &mut Tile, _: &mut Tile) {}

    pub(super) fn across(_: &[f32], _: usize, _: &mut Tile, _: &mut Tile) {}

    pub(super) struct Session;

    impl Session {
        pub(super) fn start() -> Self {
            Self
        }

        pub(super) fn multiply(&self, _: &[Step], _: &[Step], _: &mut [f32], _: usize, _: bool) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::print_stderr)] // reports that it was skipped
    fn two_parts_are_nearly_the_number() {
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

    #[test]
    #[allow(clippy::print_stderr)] // reports that it was skipped
    fn parts_of_a_factor_are_multiplied() {
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
            // Nothing else is overwritten.
            assert!(out.chunks(100).all(|row| row[..3] == [5.0; 3] && row[61..].iter().all(|&x| x == 5.0)));
        }
    }
}
