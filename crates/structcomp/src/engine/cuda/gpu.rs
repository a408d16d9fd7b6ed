//! One GPU: its memory, and how kernels and products are started on it. The driver and cuBLAS are looked for at run
//! time; where one is missing or too old, that is an error in words.
//!
//! The unsafe code in this file and in `operand.rs` is all of this engine. It hands work to the driver, which touches
//! the GPU's memory alone: a wrong argument ends in an error of the driver, and harms nothing of this process.

use super::operand::{Arg, GpuArray, GpuMatrix, Width};
use crate::device::Precision;
use crate::guard::caught;
use crate::memory::human_bytes;
use crate::{Error, Result};
use cudarc::cublas::{CudaBlas, result::gemm_ex, sys as blas};
use cudarc::driver::sys::{CUdevice_attribute, CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaGraph, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError,
    LaunchConfig, PushKernelArg, ValidAsZeroBits, sys,
};
use cudarc::nvrtc::Ptx;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

/// What `kernels.cu` became; see `scripts/kernels.py`.
pub(super) const KERNELS: &[u8] = include_bytes!("kernels.fatbin");

/// What `hopper.cu` became: kernels for compute capability 9.0 alone.
pub(super) const HOPPER: &[u8] = include_bytes!("hopper.fatbin");

/// Bytes of shared memory that those kernels ask for; as in `hopper.cu`, and 1,024 to align them.
const HOPPER_SHARED: u32 = 4 * (128 + 256) * 64 * 2 + 8 * 256 * 4 + 2 * 4 * 8 + 1024;

/// Bytes that cuBLAS may use beside the operands.
pub(super) const WORKSPACE: usize = 32 << 20;

/// The capability that `hopper.cu` is for.
const HOPPER_CAPABILITY: (i32, i32) = (9, 0);

/// The oldest GPUs that the kernels are compiled for, by compute capability.
const OLDEST: (i32, i32) = (8, 0);

pub(super) struct Gpu {
    stream: Arc<CudaStream>,
    functions: HashMap<&'static str, CudaFunction>,
    blas: CudaBlas,
    /// What cuBLAS works in, which must live as long as it does.
    _workspace: CudaSlice<u8>,
    precision: Precision,
    name: String,
    /// Multiprocessors.
    processors: usize,
}

impl Gpu {
    /// The first GPU, ready to work.
    pub(super) fn open(precision: Precision) -> Result<Self> {
        // The bindings panic where a function is missing from an old library.
        caught(|| Self::opened(precision)).unwrap_or_else(|| {
            Err(refused(
                "the NVIDIA driver or cuBLAS is too old or damaged; update the driver, or use the CPU",
            ))
        })
    }

    fn opened(precision: Precision) -> Result<Self> {
        let context = context()?;
        let capability = context.compute_capability().map_err(failed)?;
        let name = context.name().map_err(failed)?;
        if capability < OLDEST {
            let (major, minor) = capability;
            return Err(refused(&format!(
                "{name} has compute capability {major}.{minor}, but {}.{} is needed",
                OLDEST.0, OLDEST.1
            )));
        }
        // SAFETY: looks for a library and closes it again.
        #[allow(unsafe_code)]
        if !unsafe { blas::is_culib_present() } {
            return Err(refused(
                "cuBLAS is not installed; add the folder of libcublas to LD_LIBRARY_PATH, or use the CPU",
            ));
        }
        // SAFETY: all memory is used in the order of one stream, so that nothing needs to be waited for.
        #[allow(unsafe_code)]
        unsafe {
            context.disable_event_tracking();
        }
        let stream = context.new_stream().map_err(failed)?;
        let module = context.load_module(Ptx::from_binary(KERNELS.to_vec())).map_err(|error| {
            refused(&format!("the driver refuses the kernels ({error}); update it, or use the CPU"))
        })?;
        let functions = super::NAMES.iter().map(|&name| Ok((name, module.load_function(name)?)));
        let mut functions: HashMap<_, _> =
            functions.collect::<std::result::Result<_, _>>().map_err(failed)?;
        if capability == HOPPER_CAPABILITY {
            functions.extend(hopper(&context)?);
        }
        let blas = CudaBlas::new(stream.clone()).map_err(|error| refused(&format!("cuBLAS: {error}")))?;
        let workspace = stream.alloc_zeros(WORKSPACE).map_err(failed)?;
        let start = workspace.device_ptr(&stream).0;
        // SAFETY: the memory lives as long as the handle, since both are in `Gpu`.
        #[allow(unsafe_code)]
        let set = unsafe { blas::cublasSetWorkspace_v2(*blas.handle(), start as *mut c_void, WORKSPACE) };
        set.result().map_err(|error| refused(&format!("cuBLAS: {error}")))?;
        let processors = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let processors = context.attribute(processors).map_err(failed)? as usize;
        Ok(Self { stream, functions, blas, _workspace: workspace, precision, name, processors })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn precision(&self) -> Precision {
        self.precision
    }

    /// Fails if so many bytes are more than are free.
    pub(super) fn check_memory(&self, what: &str, need: u64) -> Result<()> {
        match self.free_memory()? {
            free if need <= free => Ok(()),
            free => Err(refused(&format!(
                "{what} needs {} of GPU memory, but {} are free on {}",
                human_bytes(need),
                human_bytes(free),
                self.name
            ))),
        }
    }

    pub(super) fn free_memory(&self) -> Result<u64> {
        let (free, _) = self.stream.context().mem_get_info().map_err(failed)?;
        Ok(free as u64)
    }

    /// Memory with zeros.
    pub(super) fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, len: usize) -> Result<GpuArray<T>> {
        // The driver has no arrays of nothing.
        GpuArray::new(self.stream.alloc_zeros(len.max(1)).map_err(failed)?, len, &self.stream)
    }

    /// A copy of values.
    pub(super) fn upload<T: DeviceRepr + ValidAsZeroBits>(&self, values: &[T]) -> Result<GpuArray<T>> {
        let mut array = self.zeros(values.len())?;
        self.write(&mut array, values)?;
        Ok(array)
    }

    /// Copies values to the start of an array.
    pub(super) fn write<T: DeviceRepr>(&self, array: &mut GpuArray<T>, values: &[T]) -> Result<()> {
        if values.len() > array.len {
            return Err(refused(&format!("{} values for an array of {}", values.len(), array.len)));
        }
        match values.is_empty() {
            true => Ok(()),
            false => self.stream.memcpy_htod(values, &mut array.memory).map_err(failed),
        }
    }

    /// Copies the start of an array back; waits for all work before it.
    pub(super) fn read<T: DeviceRepr>(&self, array: &GpuArray<T>, into: &mut [T]) -> Result<()> {
        if into.is_empty() || into.len() > array.len {
            return Ok(());
        }
        self.stream.memcpy_dtoh(&array.memory.slice(..into.len()), into).map_err(failed)?;
        self.wait()
    }

    /// Copies a part of an array back, from the number `at` on.
    pub(super) fn read_from<T: DeviceRepr>(
        &self,
        array: &GpuArray<T>,
        at: usize,
        into: &mut [T],
    ) -> Result<()> {
        let part = array.memory.try_slice(at..at + into.len());
        let part = part.ok_or_else(|| refused("a part of an array is longer than the array"))?;
        self.stream.memcpy_dtoh(&part, into).map_err(failed)?;
        self.wait()
    }

    /// All of an array.
    pub(super) fn download<T: DeviceRepr + Clone + Default>(&self, array: &GpuArray<T>) -> Result<Vec<T>> {
        let mut values = vec![T::default(); array.len];
        self.read(array, &mut values)?;
        Ok(values)
    }

    pub(super) fn clear<T: DeviceRepr + ValidAsZeroBits>(&self, array: &mut GpuArray<T>) -> Result<()> {
        self.stream.memset_zeros(&mut array.memory).map_err(failed)
    }

    /// Waits until all work is done.
    pub(super) fn wait(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed)
    }

    /// Starts a kernel on `blocks` blocks of `threads` threads.
    pub(super) fn launch(
        &self,
        kernel: &'static str,
        blocks: (usize, usize),
        threads: (u32, u32),
        args: &[Arg],
    ) -> Result<()> {
        self.launch_with(0, kernel, blocks, threads, args)
    }

    /// The same for a kernel of `hopper.cu`, with a block for each multiprocessor.
    pub(super) fn launch_hopper(&self, kernel: &'static str, args: &[Arg]) -> Result<()> {
        self.launch_with(HOPPER_SHARED, kernel, (self.processors, 1), (384, 1), args)
    }

    /// Whether the kernels of `hopper.cu` run here.
    pub(super) fn is_hopper(&self) -> bool {
        self.functions.contains_key(super::HOPPER_NAMES[0])
    }

    fn launch_with(
        &self,
        shared_mem_bytes: u32,
        kernel: &'static str,
        blocks: (usize, usize),
        threads: (u32, u32),
        args: &[Arg],
    ) -> Result<()> {
        if blocks.0 == 0 || blocks.1 == 0 {
            return Ok(());
        }
        let function = self.functions.get(kernel);
        let function = function.ok_or_else(|| refused(&format!("there is no kernel {kernel}")))?;
        let mut launch = self.stream.launch_builder(function);
        for arg in args {
            match arg {
                Arg::At(value) => launch.arg(value),
                Arg::U32(value) => launch.arg(value),
                Arg::I32(value) => launch.arg(value),
                Arg::F32(value) => launch.arg(value),
                Arg::F64(value) => launch.arg(value),
                Arg::Map(map) => launch.arg(map),
            };
        }
        let grid_dim = (blocks.0 as u32, blocks.1 as u32, 1);
        let config = LaunchConfig { grid_dim, block_dim: (threads.0, threads.1, 1), shared_mem_bytes };
        // SAFETY: see the top of this file.
        #[allow(unsafe_code)]
        unsafe { launch.launch(config) }.map(|_| ()).map_err(failed)
    }

    /// C = A·B, or C += A·B.
    pub(super) fn product(&self, c: GpuMatrix, a: GpuMatrix, b: GpuMatrix, add: bool) -> Result<()> {
        let (rows, inner, cols) = (a.rows, a.cols, b.cols);
        if b.rows != inner || c.rows != rows || c.cols != cols || !(a.fits() && b.fits() && c.fits()) {
            return Err(refused(&format!(
                "a product of {rows} x {inner} x {cols} does not fit its operands"
            )));
        }
        if rows == 0 || cols == 0 {
            return Ok(());
        }
        let (alpha, beta) = (1f32, if add { 1f32 } else { 0f32 });
        let kind = |matrix: &GpuMatrix| match matrix.kind {
            Width::Single => blas::cudaDataType_t::CUDA_R_32F,
            Width::Half => blas::cudaDataType_t::CUDA_R_16F,
            Width::Brain => blas::cudaDataType_t::CUDA_R_16BF,
        };
        let turned = |matrix: &GpuMatrix| match matrix.turned {
            true => blas::cublasOperation_t::CUBLAS_OP_T,
            false => blas::cublasOperation_t::CUBLAS_OP_N,
        };
        use blas::cublasComputeType_t as Computing;
        let computing = match self.precision {
            _ if a.kind != Width::Single => Computing::CUBLAS_COMPUTE_32F,
            Precision::F32 => Computing::CUBLAS_COMPUTE_32F,
            Precision::Tf32 => Computing::CUBLAS_COMPUTE_32F_FAST_TF32,
            Precision::Bf16 => Computing::CUBLAS_COMPUTE_32F_FAST_16BF,
        };
        // SAFETY: see the top of this file; that the operands are long enough has been checked. To cuBLAS, which
        // counts by columns, our rows are columns: Cᵀ = Bᵀ·Aᵀ.
        #[allow(unsafe_code)]
        let done = unsafe {
            gemm_ex(
                *self.blas.handle(),
                turned(&b),
                turned(&a),
                cols as i32,
                rows as i32,
                inner as i32,
                (&raw const alpha).cast(),
                b.start as *const c_void,
                kind(&b),
                b.stride as i32,
                a.start as *const c_void,
                kind(&a),
                a.stride as i32,
                (&raw const beta).cast(),
                c.start as *mut c_void,
                kind(&c),
                c.stride as i32,
                computing,
                blas::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        };
        done.map_err(|error| refused(&format!("cuBLAS: {error}")))
    }

    /// Records what is started from here on instead of starting it.
    pub(super) fn begin_recording(&self) -> Result<()> {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode).map_err(failed)
    }

    /// What was recorded, as one graph that can be started again and again.
    pub(super) fn end_recording(&self) -> Result<Option<Recorded>> {
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0));
        Ok(graph.map_err(failed)?.map(Recorded))
    }
}

/// The kernels of `hopper.cu`.
fn hopper(context: &Arc<CudaContext>) -> Result<HashMap<&'static str, CudaFunction>> {
    let module = context.load_module(Ptx::from_binary(HOPPER.to_vec())).map_err(failed)?;
    let shared = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let function = |name: &'static str| {
        let function = module.load_function(name).map_err(failed)?;
        if name != super::HOPPER_NAMES[0] {
            function.set_attribute(shared, HOPPER_SHARED as i32).map_err(failed)?;
        }
        Ok((name, function))
    };
    super::HOPPER_NAMES.into_iter().map(function).collect()
}

/// Work that was recorded.
pub(super) struct Recorded(CudaGraph);

// SAFETY: a graph may be used from any thread, but from one at a time; it is used by `&mut` of what holds it alone.
#[allow(unsafe_code)]
unsafe impl Send for Recorded {}

impl Recorded {
    pub(super) fn start(&mut self) -> Result<()> {
        self.0.launch().map_err(failed)
    }
}

/// The first GPU. Starting it takes most of a second, so it stays open.
fn context() -> Result<Arc<CudaContext>> {
    static OPEN: OnceLock<Arc<CudaContext>> = OnceLock::new();
    if let Some(open) = OPEN.get() {
        return Ok(open.clone());
    }
    // SAFETY: looks for a library and closes it again.
    #[allow(unsafe_code)]
    if !unsafe { sys::is_culib_present() } {
        return Err(refused("there is no NVIDIA driver on this machine"));
    }
    let context = CudaContext::new(0).map_err(|error| match error.0 {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => refused("there is no NVIDIA GPU on this machine"),
        _ => refused(&format!("the GPU cannot be started: {error}")),
    })?;
    Ok(OPEN.get_or_init(|| context).clone())
}

pub(super) fn failed(error: DriverError) -> Error {
    match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => refused("the GPU has too little free memory"),
        _ => refused(&error.to_string()),
    }
}

fn refused(what: &str) -> Error {
    Error::Input(format!("GPU: {what}"))
}
