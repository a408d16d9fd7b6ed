//! Embedding on a GPU: the hops of a layer by strips of columns, as wide as fit, and its products by blocks of rows.

use super::gpu::Gpu;
use super::layers::{blocks, kind};
use super::operand::{GpuArray, GpuMatrix, args};
use crate::device::Precision;
use crate::encoder::Encoder;
use crate::graph::Hops;
use crate::nn::{LayerView, first_layer};
use crate::{Error, Features, Graph, Normalization, Propagation, Result};
use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use half::f16;
use rayon::prelude::*;
use std::borrow::Cow;

/// Bytes of results that are held at once.
const BLOCK: usize = 128 << 20;

/// Features beyond this are not stored in half precision, which ends at 65,504.
const MOST_HALF: f32 = 1e4;

/// How numbers are stored between hops. Sums are in `f32`.
trait Stored: DeviceRepr + ValidAsZeroBits + Copy + Default + Send + Sync {
    /// The kernels for a few and for many columns.
    const HOPS: [&'static str; 2];
    fn of(value: f32) -> Self;
    fn value(self) -> f32;

    /// The same values, if that is how they are stored.
    fn slice(_: &[f32]) -> Option<&[Self]> {
        None
    }
}

impl Stored for f32 {
    const HOPS: [&'static str; 2] = ["hop_single", "hop_single_wide"];

    fn of(value: f32) -> Self {
        value
    }

    fn value(self) -> f32 {
        self
    }

    fn slice(values: &[f32]) -> Option<&[Self]> {
        Some(values)
    }
}

impl Stored for u16 {
    const HOPS: [&'static str; 2] = ["hop_half", "hop_half_wide"];

    fn of(value: f32) -> Self {
        f16::from_f32(value).to_bits()
    }

    fn value(self) -> f32 {
        f16::from_bits(self).to_f32()
    }
}

/// A GPU to embed on.
pub(crate) struct GraphEngine(Gpu);

impl GraphEngine {
    /// Fails if the graph does not fit.
    pub(crate) fn open(graph: &Graph, precision: Precision) -> Result<Self> {
        let gpu = Gpu::open(precision)?;
        let each = if graph.weights().is_some() { 8 } else { 4 };
        let bytes = 12 * graph.nodes() as u64 + each * graph.targets().len() as u64;
        // Three times a strip of four columns, and a block of rows and what becomes of it.
        gpu.check_memory("the graph", bytes + 48 * graph.nodes() as u64 + 3 * BLOCK as u64)?;
        Ok(Self(gpu))
    }

    /// The device as reports name it.
    pub(crate) fn device(&self) -> String {
        format!("{} ({})", self.0.name(), super::reach::name(self.0.precision()))
    }

    /// Hands out the embedding of features block by block, in order.
    pub(crate) fn embed(
        &self,
        encoder: &Encoder,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        GpuGraph::new(&self.0, graph)?.embed(encoder, x, sink)
    }
}

/// The normalised adjacency on a GPU.
pub(super) struct GpuGraph<'g> {
    gpu: &'g Gpu,
    nodes: usize,
    offsets: GpuArray<u64>,
    targets: GpuArray<u32>,
    weights: Option<GpuArray<f32>>,
    /// D^-1/2.
    scale: GpuArray<f32>,
}

/// Rows after their hops: on the GPU, or here if they do not fit there.
enum HoppedRows<T> {
    /// With rows so far apart.
    There(GpuArray<T>, usize),
    Here(Vec<f32>),
}

impl<'g> GpuGraph<'g> {
    pub(super) fn new(gpu: &'g Gpu, graph: &Graph) -> Result<Self> {
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        Ok(Self {
            gpu,
            nodes: graph.nodes(),
            offsets: gpu.upload(graph.offsets())?,
            targets: gpu.upload(graph.targets())?,
            weights: graph.weights().map(|weights| gpu.upload(weights)).transpose()?,
            scale: gpu.upload(propagation.scale())?,
        })
    }

    /// Hands out the embedding of features block by block, in order.
    fn embed(
        &self,
        encoder: &Encoder,
        x: &Features,
        mut sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let chains = encoder.chains();
        let [chain] = &chains[..] else { return Err(Error::Input("there is more than one encoder".into())) };
        let Some((last, before)) = chain.split_last() else { return Ok(()) };
        let mut h: Option<Vec<f32>> = None;
        for view in before {
            let mut out = Vec::with_capacity(self.nodes * view.layer.outputs);
            self.layer(*view, x, h.as_deref(), &mut |rows| {
                out.extend_from_slice(rows);
                Ok(())
            })?;
            h = Some(out);
        }
        self.layer(*last, x, h.as_deref(), &mut sink)
    }

    /// Hands out the result of a layer of the features, or of the result before.
    fn layer(
        &self,
        view: LayerView<'_>,
        x: &Features,
        h: Option<&[f32]>,
        sink: &mut dyn FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let values = match (h, x) {
            (Some(h), _) => Some(h),
            (None, Features::Dense(x)) => Some(x.values()),
            (None, Features::Sparse(_)) => None,
        };
        let in_range = |values: &[f32]| values.par_iter().all(|value| value.abs() <= MOST_HALF);
        let half = self.gpu.precision() == Precision::Bf16 && values.is_some_and(in_range);
        match (values, half) {
            (Some(values), false) => self.dense_layer::<f32>(view, values, sink),
            (Some(values), true) => self.dense_layer::<u16>(view, values, sink),
            (None, _) => {
                // The few entries of sparse features are multiplied where they are.
                let width = view.layer.outputs;
                let mut product = vec![0.0; self.nodes * width];
                first_layer::forward(x, &view.finish().scaled_weight(), width, &mut product);
                let hopped = self.hopped::<f32>(&product, width, &view.layer.hops)?;
                self.finished(view, &hopped, None, sink)
            }
        }
    }

    fn dense_layer<T: Stored>(
        &self,
        view: LayerView<'_>,
        h: &[f32],
        sink: &mut dyn FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let (inputs, width) = (view.layer.inputs, view.layer.outputs);
        let finish = view.finish();
        let weight: Vec<T> = finish.scaled_weight().iter().map(|&weight| T::of(weight)).collect();
        let weight = self.gpu.upload(&weight)?;
        if inputs <= width || view.layer.hops.is_none() {
            let hopped = self.hopped::<T>(h, inputs, &view.layer.hops)?;
            return self.finished(view, &hopped, Some(&weight), sink);
        }
        // Hops and the linear map can change places, so the hops are made on the narrower side.
        let mut product = Vec::with_capacity(self.nodes * width);
        let unhopped = HoppedRows::<T>::Here(h.to_vec());
        self.each_block(&unhopped, (inputs, width), Some(&weight), |block, out| {
            let mut rows = vec![0.0; block * width];
            self.gpu.read(out, &mut rows)?;
            product.extend_from_slice(&rows);
            Ok(())
        })?;
        let hopped = self.hopped::<f32>(&product, width, &view.layer.hops)?;
        self.finished(view, &hopped, None, sink)
    }

    /// Hands out act(H·W + b), or act(H + b) without a weight.
    fn finished<T: Stored>(
        &self,
        view: LayerView<'_>,
        hopped: &HoppedRows<T>,
        weight: Option<&GpuArray<T>>,
        sink: &mut dyn FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let (inputs, width) = (view.layer.inputs, view.layer.outputs);
        let bias = self.gpu.upload(view.finish().bias())?;
        let slopes = self.gpu.upload(view.slopes)?;
        let inputs = if weight.is_some() { inputs } else { width };
        let mut rows = Vec::new();
        self.each_block(hopped, (inputs, width), weight, |block, out| {
            let count = block * width;
            let args = args![
                out,
                &bias,
                &slopes,
                kind(view.layer.activation),
                count as u64,
                width as u32,
                out,
                super::operand::Arg::NOTHING
            ];
            self.gpu.launch("activate", (blocks(count), 1), (256, 1), args)?;
            rows.resize(count, 0.0);
            self.gpu.read(out, &mut rows)?;
            sink(&rows)
        })
    }

    /// Calls `each` with every block of rows after its product with a weight, if there is one.
    fn each_block<T: Stored>(
        &self,
        hopped: &HoppedRows<T>,
        (inputs, width): (usize, usize),
        weight: Option<&GpuArray<T>>,
        mut each: impl FnMut(usize, &GpuArray<f32>) -> Result<()>,
    ) -> Result<()> {
        let rows = (BLOCK / (4 * width.max(inputs).max(1))).clamp(1, self.nodes.max(1));
        let out = self.gpu.zeros::<f32>(rows * width)?;
        let mut room =
            self.gpu.zeros::<T>(if matches!(hopped, HoppedRows::Here(_)) { rows * inputs } else { 0 })?;
        let mut single = self.gpu.zeros::<f32>(if weight.is_none() { 0 } else { 1 })?;
        for start in (0..self.nodes).step_by(rows) {
            let block = rows.min(self.nodes - start);
            let from: GpuMatrix = match hopped {
                HoppedRows::There(all, stride) => all.matrix(start * stride, block, inputs).stride(*stride),
                HoppedRows::Here(all) => {
                    let values = &all[start * inputs..(start + block) * inputs];
                    match weight {
                        Some(_) => self.gpu.write(&mut room, &stored::<T>(values))?,
                        None => single = self.gpu.upload(values)?,
                    }
                    room.matrix(0, block, inputs)
                }
            };
            match (weight, hopped) {
                (Some(weight), _) => {
                    let product = out.matrix(0, block, width);
                    self.gpu.product(product, from, weight.matrix(0, inputs, width), false)?;
                    each(block, &out)?;
                }
                (None, HoppedRows::Here(_)) => each(block, &single)?,
                (None, HoppedRows::There(all, stride)) => {
                    let mut rows = vec![T::default(); block * stride];
                    self.gpu.read_from(all, start * stride, &mut rows)?;
                    let values: Vec<f32> = rows
                        .chunks(*stride)
                        .flat_map(|row| &row[..width])
                        .map(|&value| value.value())
                        .collect();
                    single = self.gpu.upload(&values)?;
                    each(block, &single)?;
                }
            }
        }
        Ok(())
    }

    /// The polynomial of rows of `width` numbers.
    fn hopped<T: Stored>(&self, x: &[f32], width: usize, hops: &Hops) -> Result<HoppedRows<T>> {
        if hops.is_none() {
            return Ok(HoppedRows::Here(x.to_vec()));
        }
        let buffers = if hops.as_power().is_some() { 2 } else { 3 };
        let free = (self.gpu.free_memory()? as usize / 10 * 9).saturating_sub(3 * BLOCK);
        let fit = free / (buffers * self.nodes * size_of::<T>()).max(1) / 4 * 4;
        let strip = fit.max(4).min(width.next_multiple_of(4));
        if strip >= width {
            let all = self.hop_strip::<T>(x, width, 0..width, hops)?;
            return Ok(HoppedRows::There(all, width.next_multiple_of(4)));
        }
        let mut out = vec![0.0; x.len()];
        for first in (0..width).step_by(strip) {
            let columns = first..(first + strip).min(width);
            let stride = columns.len().next_multiple_of(4);
            let made = self.gpu.download(&self.hop_strip::<T>(x, width, columns.clone(), hops)?)?;
            out.par_chunks_mut(width).zip(made.par_chunks(stride)).for_each(|(out, made)| {
                out[columns.clone()].iter_mut().zip(made).for_each(|(out, made)| *out = made.value());
            });
        }
        Ok(HoppedRows::Here(out))
    }

    /// All hops of some columns, whose number is filled up to a multiple of four.
    fn hop_strip<T: Stored>(
        &self,
        x: &[f32],
        width: usize,
        columns: std::ops::Range<usize>,
        hops: &Hops,
    ) -> Result<GpuArray<T>> {
        let stride = columns.len().next_multiple_of(4);
        let strip: Cow<[T]> = match columns.len() == width && stride == width {
            true => stored(x),
            false => {
                let mut strip = vec![T::default(); self.nodes * stride];
                strip.par_chunks_mut(stride).zip(x.par_chunks(width)).for_each(|(to, from)| {
                    to.iter_mut().zip(&from[columns.clone()]).for_each(|(to, &from)| *to = T::of(from));
                });
                strip.into()
            }
        };
        let base = self.gpu.upload(&strip)?;
        let weights = hops.weights();
        let (Some((&last, others)), true) = (weights.split_last(), weights.len() > 1) else {
            return Ok(base);
        };
        let mut by = last;
        let (mut from, mut spare): (Option<GpuArray<T>>, Option<GpuArray<T>>) = (None, None);
        for &own in others.iter().rev() {
            let to = spare.take().map_or_else(|| self.gpu.zeros(self.nodes * stride), Ok)?;
            let with = (own != 0.0).then_some((&base, own));
            self.hop(from.as_ref().unwrap_or(&base), &to, stride, by, with)?;
            (spare, from, by) = (from.take(), Some(to), 1.0);
        }
        self.gpu.wait()?;
        Ok(from.unwrap_or(base))
    }

    /// `by` Â X, plus a share of other rows.
    fn hop<T: Stored>(
        &self,
        x: &GpuArray<T>,
        out: &GpuArray<T>,
        stride: usize,
        by: f32,
        with: Option<(&GpuArray<T>, f32)>,
    ) -> Result<()> {
        let nothing = super::operand::Arg::NOTHING;
        let weights = self.weights.as_ref().map_or(nothing, |weights| weights.from(0));
        let (base, own) = with.map_or((nothing, 0.0), |(base, own)| (base.from(0), own));
        let fours = stride / 4;
        let (offsets, targets, scale) = (&self.offsets, &self.targets, &self.scale);
        let (rows, fours_u32) = (self.nodes as u32, fours as u32);
        let args = args![offsets, targets, weights, scale, x, 0u32, rows, fours_u32, base, by, own, out];
        // A warp goes over 128 columns, or over 512 where there are as many.
        let is_wide = fours >= 128;
        let strips = fours.div_ceil(if is_wide { 128 } else { 32 });
        self.gpu.launch(T::HOPS[usize::from(is_wide)], (self.nodes.div_ceil(8), strips), (256, 1), args)
    }

    /// Hops of rows that stay on the GPU, for tests.
    #[cfg(test)]
    pub(super) fn hops_of(&self, x: &[f32], width: usize, hops: &Hops, half: bool) -> Result<Vec<f32>> {
        let stride = width.next_multiple_of(4);
        let made: Vec<f32> = match half {
            false => self.gpu.download(&self.hop_strip::<f32>(x, width, 0..width, hops)?)?,
            true => {
                let made = self.gpu.download(&self.hop_strip::<u16>(x, width, 0..width, hops)?)?;
                made.into_iter().map(Stored::value).collect()
            }
        };
        Ok(made.chunks(stride).flat_map(|row| &row[..width]).copied().collect())
    }

    /// Milliseconds of one hop of random rows, the median of some, for the benchmark.
    #[cfg(test)]
    pub(super) fn time_hop(&self, width: usize, half: bool, median: impl Fn(&mut dyn FnMut()) -> f64) -> f64 {
        fn time<T: Stored>(of: &GpuGraph<'_>, width: usize, median: impl Fn(&mut dyn FnMut()) -> f64) -> f64 {
            let values: Vec<T> =
                (0..of.nodes * width).map(|at| T::of((at % 1013) as f32 * 1e-3 - 0.5)).collect();
            let x = of.gpu.upload(&values).unwrap();
            let out = of.gpu.zeros::<T>(values.len()).unwrap();
            median(&mut || {
                of.hop(&x, &out, width, 1.0, None).unwrap();
                of.gpu.wait().unwrap();
            })
        }
        if half { time::<u16>(self, width, median) } else { time::<f32>(self, width, median) }
    }
}

/// Values as they are stored.
fn stored<T: Stored>(values: &[f32]) -> Cow<'_, [T]> {
    T::slice(values).map_or_else(|| values.par_iter().map(|&value| T::of(value)).collect(), Cow::Borrowed)
}
