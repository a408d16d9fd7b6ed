//! The instructions of the tile unit, which have no intrinsics in stable Rust yet, and the vector code that packs for
//! it.
#![allow(unsafe_code)]

use super::{BLOCK, SIDE, TERMS, Tile, TileStep};
use std::arch::asm;
use std::arch::x86_64::*;

/// Whether the processor has the unit and the system grants its use: the registers of the unit are only kept for
/// processes that asked for it.
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
    // SAFETY: every x86-64 processor has the instruction.
    let features = unsafe { __cpuid_count(7, 0) }.edx;
    if features & TILES_AND_BF16 != TILES_AND_BF16 {
        return false;
    }
    // SAFETY: the processor has xsave, and a system that supports AVX-512 has enabled it.
    if unsafe { xcr0() } & TILE_STATE != TILE_STATE {
        return false;
    }
    let denied: i64;
    // SAFETY: this system call touches no memory of the process; it changes rcx and r11.
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

/// Splits 16 lines of 32 values, with pairs next to each other in a line.
pub(super) fn along(from: &[f32], stride: usize, high: &mut Tile, low: &mut Tile) {
    // SAFETY: only called for a `Packed`, which exists only where `is_there` has found these vectors.
    unsafe { split_along(from, stride, high, low) }
}

/// Splits 32 lines of 16 values, with pairs below each other.
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
    // SAFETY: the array has the 64 bytes that are read.
    let pairs = unsafe { _mm512_loadu_si512(PAIRS.as_ptr().cast()) };
    for pair in 0..SIDE {
        let line = |line: usize| numbers(&from[line * stride..]);
        let parts = split(line(2 * pair), line(2 * pair + 1));
        put(_mm512_permutexvar_epi16(pairs, parts.0), &mut high[pair * SIDE..]);
        put(_mm512_permutexvar_epi16(pairs, parts.1), &mut low[pair * SIDE..]);
    }
}

/// 32 values rounded to 8 significant bits, and the rounded remainders.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn split(first: __m512, second: __m512) -> (__m512i, __m512i) {
    let high = narrow(first, second);
    let widened = |half: __m256i| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(half)));
    let of_first = widened(_mm512_castsi512_si256(high));
    let of_second = widened(_mm512_extracti64x4_epi64::<1>(high));
    (high, narrow(_mm512_sub_ps(first, of_first), _mm512_sub_ps(second, of_second)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn narrow(first: __m512, second: __m512) -> __m512i {
    // SAFETY: both are 64 bytes of any contents.
    unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(second, first)) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(from: &[f32]) -> __m512 {
    let from = &from[..SIDE];
    // SAFETY: the slice has the 16 values that are read.
    unsafe { _mm512_loadu_ps(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn put(numbers: __m512i, to: &mut [u32]) {
    let to = &mut to[..SIDE];
    // SAFETY: the slice has the 16 values that are written.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), numbers) }
}

/// The tile registers of the current thread, set up as eight tiles of 16 rows of 64 bytes until dropped.
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
        // SAFETY: only called for a `Packed`, which exists only where the unit does.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &SHAPE, options(nostack, readonly)) }
        Self(std::marker::PhantomData)
    }

    /// Writes the product of packed factors, two tiles by two over all steps, to `out`, whose rows are `stride`
    /// apart; with `add`, adds it.
    #[inline(always)]
    pub(super) fn multiply(
        &self,
        left: &[TileStep],
        right: &[TileStep],
        out: &mut [f32],
        stride: usize,
        add: bool,
    ) {
        let steps = left.len().min(right.len());
        assert!(steps > 0 && stride >= BLOCK && out.len() >= (BLOCK - 1) * stride + BLOCK);
        let lower = SIDE * stride * size_of::<f32>();
        // SAFETY: `self` proves that tiles are set up. Each step reads the 4096 bytes of a `TileStep` of
        // both slices, which have `steps` of them. In `out`, 32 values are read and written in each of
        // 32 rows, and the last row ends within it.
        unsafe {
            asm!(
                "test {add}, {add}", "jz 3f",
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
