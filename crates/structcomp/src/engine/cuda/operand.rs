//! What kernels and products are given: arrays and matrices on the GPU, and numbers.

use super::gpu::failed;
use crate::Result;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceRepr, sys};
use std::ffi::c_void;

/// Numbers on the GPU.
pub(super) struct GpuArray<T> {
    pub(super) memory: CudaSlice<T>,
    pub(super) len: usize,
    start: u64,
}

impl<T> GpuArray<T> {
    pub(super) fn new(memory: CudaSlice<T>, len: usize, stream: &CudaStream) -> Result<Self> {
        let start = memory.device_ptr(stream).0;
        Ok(Self { memory, len, start })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where the number `at` is.
    pub(super) fn from(&self, at: usize) -> Arg {
        Arg::At(self.place(at))
    }

    fn place(&self, at: usize) -> u64 {
        self.start + (at.min(self.len) * size_of::<T>()) as u64
    }

    /// Rows of a matrix that start at the number `at`.
    pub(super) fn matrix(&self, at: usize, rows: usize, cols: usize) -> GpuMatrix {
        let (start, len) = (self.place(at), self.len - at.min(self.len));
        GpuMatrix { start, len, rows, cols, stride: cols, turned: false, kind: Width::of::<T>() }
    }
}

/// A matrix on the GPU, stored by rows.
#[derive(Clone, Copy)]
pub(super) struct GpuMatrix {
    pub(super) start: u64,
    /// Numbers from its start to the end of its array.
    len: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) stride: usize,
    /// Whether it is stored by columns.
    pub(super) turned: bool,
    pub(super) kind: Width,
}

/// How the numbers of a matrix are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Single,
    /// IEEE's half precision.
    Half,
    /// bf16.
    Brain,
}

impl Width {
    fn of<T>() -> Self {
        if size_of::<T>() == 2 { Self::Half } else { Self::Single }
    }
}

impl GpuMatrix {
    /// With rows so far apart.
    pub(super) fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Of bf16, which numbers of two bytes may be as well.
    pub(super) fn brain(self) -> Self {
        Self { kind: Width::Brain, ..self }
    }

    /// The transpose.
    pub(super) fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, turned: !self.turned, ..self }
    }

    pub(super) fn fits(&self) -> bool {
        let (rows, cols) = if self.turned { (self.cols, self.rows) } else { (self.rows, self.cols) };
        let end = rows.saturating_sub(1).checked_mul(self.stride).and_then(|start| start.checked_add(cols));
        let countable = [self.rows, self.cols, self.stride].iter().all(|&size| size <= i32::MAX as usize);
        rows == 0 || (cols <= self.stride && countable && end.is_some_and(|end| end <= self.len))
    }
}

/// What a kernel is given.
#[derive(Clone, Copy)]
pub(super) enum Arg {
    At(u64),
    U32(u32),
    I32(i32),
    F32(f32),
    F64(f64),
    Map(TensorMap),
}

impl Arg {
    pub(super) const NOTHING: Self = Self::At(0);
}

impl<T> From<&GpuArray<T>> for Arg {
    fn from(array: &GpuArray<T>) -> Self {
        Self::At(array.start)
    }
}

macro_rules! arg_from {
    ($($kind:ident $of:ty,)*) => { $(
        impl From<$of> for Arg {
            fn from(value: $of) -> Self {
                Self::$kind(value)
            }
        }
    )* };
}

arg_from! { U32 u32, I32 i32, F32 f32, F64 f64, At u64, Map TensorMap, }

/// The arguments of a kernel.
macro_rules! args {
    ($($arg:expr),* $(,)?) => { &[$($crate::engine::cuda::operand::Arg::from($arg)),*] };
}
pub(super) use args;

/// How the tensor copy engine fetches 128 rows and 64 columns of a matrix at once.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct TensorMap(sys::CUtensorMap);

// SAFETY: it is handed to kernels as it is.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for TensorMap {}

impl TensorMap {
    /// For rows in half precision; none where rows do not start at multiples of 16 bytes.
    pub(super) fn new(rows: &GpuArray<u16>, count: usize, width: usize) -> Result<Option<Self>> {
        if !width.is_multiple_of(8) || width == 0 || rows.len() < count * width {
            return Ok(None);
        }
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        let (sizes, strides) = ([width as u64, count as u64], [2 * width as u64]);
        let (tile, steps) = ([64u32, 128], [1u32, 1]);
        // SAFETY: see the top of `gpu.rs`; all pointers are to arrays of two or, for the strides, one number.
        #[allow(unsafe_code)]
        let done = unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut map,
                sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                2,
                rows.start as *mut c_void,
                sizes.as_ptr(),
                strides.as_ptr(),
                tile.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        done.result().map_err(failed)?;
        Ok(Some(Self(map)))
    }
}
