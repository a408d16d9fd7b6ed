//! The layers of a network on the GPU, forward and backward. All parameters are one vector, as on the CPU.

use super::gpu::Gpu;
use super::operand::{Arg, GpuArray, GpuMatrix, args};
use crate::device::Precision;
use crate::nn::{Activation, Layer, Network};
use crate::{Error, Result};
use std::ops::Range;

/// Rows whose columns a block sums up.
pub(super) const ROWS: usize = 256;

/// A layer, and where its parameters are.
struct GpuLayer {
    layer: Layer,
    weight: Range<usize>,
    bias: Range<usize>,
    slopes: Range<usize>,
    /// What the bias was added to, for learnt slopes.
    before: Option<GpuArray<f32>>,
    /// Not where only the next layer sees it, which sees it in bf16.
    result: Option<GpuArray<f32>>,
    narrow: Option<GpuArray<u16>>,
}

/// What the precision bf16 multiplies, besides the layers' results.
struct NarrowOperands {
    x: GpuArray<u16>,
    parameters: GpuArray<u16>,
    gradient: GpuArray<u16>,
}

pub(super) struct GpuLayers {
    layers: Vec<GpuLayer>,
    rows: usize,
    /// The gradient of the last result, and one that a layer passes to the one before.
    gradient: GpuArray<f32>,
    spare: Option<GpuArray<f32>>,
    narrow: Option<NarrowOperands>,
    of_bias: GpuArray<f32>,
    of_slopes: GpuArray<f32>,
    shared: GpuArray<f32>,
}

/// Which of its results a layer keeps: in single precision before and after the activation, and after it in bf16.
fn kept(layer: &Layer, is_last: bool, is_narrow: bool) -> [bool; 3] {
    let told = layer.activation.is_told_by_result();
    [!told, told || is_last || !is_narrow, is_narrow && !is_last]
}

impl GpuLayers {
    pub(super) fn new(gpu: &Gpu, network: &Network, rows: usize) -> Result<Self> {
        let is_narrow = gpu.precision() == Precision::Bf16;
        let count = network.layers().len();
        let layer = |(at, layer): (usize, &Layer)| {
            let (weight, bias, slopes) = network.places(at);
            let size = rows * layer.outputs;
            let [before, result, narrow] = kept(layer, at + 1 == count, is_narrow);
            let before = before.then(|| gpu.zeros(size)).transpose()?;
            let result = result.then(|| gpu.zeros(size)).transpose()?;
            let narrow = narrow.then(|| gpu.zeros(size)).transpose()?;
            Ok(GpuLayer { layer: layer.clone(), weight, bias, slopes, before, result, narrow })
        };
        let layers = network.layers().iter().enumerate().map(layer).collect::<Result<Vec<_>>>()?;
        let widest = layers.iter().map(|layer| layer.layer.outputs).max().unwrap_or(0);
        let inputs = layers.first().map_or(0, |layer| layer.layer.inputs);
        let narrow = || {
            let (x, gradient) = (gpu.zeros(rows * inputs)?, gpu.zeros(rows * widest)?);
            Ok(NarrowOperands { x, gradient, parameters: gpu.zeros(network.len())? })
        };
        let partial = rows.div_ceil(ROWS) * widest;
        Ok(Self {
            rows,
            gradient: gpu.zeros(rows * widest)?,
            spare: (layers.len() > 1).then(|| gpu.zeros(rows * widest)).transpose()?,
            narrow: is_narrow.then(narrow).transpose()?,
            of_bias: gpu.zeros(partial)?,
            of_slopes: gpu.zeros(partial)?,
            shared: gpu.zeros(widest)?,
            layers,
        })
    }

    /// Bytes that layers take for so many rows.
    pub(super) fn bytes(network: &Network, rows: usize, precision: Precision) -> u64 {
        let (layers, is_narrow) = (network.layers(), precision == Precision::Bf16);
        let of_layer = |(at, layer): (usize, &Layer)| {
            let [before, result, narrow] = kept(layer, at + 1 == layers.len(), is_narrow).map(usize::from);
            layer.outputs * (4 * before + 4 * result + 2 * narrow)
        };
        let kept: usize = layers.iter().enumerate().map(of_layer).sum();
        let widest = layers.iter().map(|layer| layer.outputs).max().unwrap_or(0);
        let inputs = layers.first().map_or(0, |layer| layer.inputs);
        let narrow = if is_narrow { 2 * (rows * (inputs + widest) + network.len()) } else { 0 };
        let gradients = 4 * widest * layers.len().min(2);
        (rows * (kept + gradients) + narrow + 8 * rows.div_ceil(ROWS) * widest) as u64
    }

    /// The result of the last layer, and where its gradient goes.
    pub(super) fn result_and_gradient(&mut self) -> Result<(&GpuArray<f32>, &mut GpuArray<f32>)> {
        let last = self.layers.last().and_then(|layer| layer.result.as_ref());
        let last = last.ok_or_else(|| Error::Input("the network has no layers".into()))?;
        Ok((last, &mut self.gradient))
    }

    /// What a layer multiplies.
    fn input(&self, at: usize, x: &GpuArray<f32>) -> GpuMatrix {
        let (rows, inputs) = (self.rows, self.layers[at].layer.inputs);
        let before = at.checked_sub(1).map(|before| &self.layers[before]);
        match (&self.narrow, before) {
            (Some(narrow), None) => narrow.x.matrix(0, rows, inputs).brain(),
            (None, None) => x.matrix(0, rows, inputs),
            (_, Some(GpuLayer { narrow: Some(narrow), .. })) => narrow.matrix(0, rows, inputs).brain(),
            (_, Some(GpuLayer { result, .. })) => result.as_ref().unwrap_or(x).matrix(0, rows, inputs),
        }
    }

    fn weight(&self, own: &GpuLayer, parameters: &GpuArray<f32>) -> GpuMatrix {
        let at = own.weight.start;
        let Layer { inputs, outputs, .. } = own.layer;
        match &self.narrow {
            Some(narrow) => narrow.parameters.matrix(at, inputs, outputs).brain(),
            None => parameters.matrix(at, inputs, outputs),
        }
    }

    /// Runs the layers on the rows of `x`.
    pub(super) fn forward(&self, gpu: &Gpu, parameters: &GpuArray<f32>, x: &GpuArray<f32>) -> Result<()> {
        if let Some(narrow) = &self.narrow {
            for (from, to) in [(x, &narrow.x), (parameters, &narrow.parameters)] {
                let count = from.len().min(to.len());
                gpu.launch("narrowed", (blocks(count), 1), (256, 1), args![from, count as u64, to])?;
            }
        }
        for (at, own) in self.layers.iter().enumerate() {
            let Layer { outputs, activation, .. } = own.layer;
            let Some(made) = own.before.as_ref().or(own.result.as_ref()) else { continue };
            let product = made.matrix(0, self.rows, outputs);
            gpu.product(product, self.input(at, x), self.weight(own, parameters), false)?;
            let (bias, slopes) = (parameters.from(own.bias.start), parameters.from(own.slopes.start));
            let (count, cols) = (self.rows * outputs, outputs as u32);
            let result = own.result.as_ref().map_or(Arg::NOTHING, Arg::from);
            let narrow = own.narrow.as_ref().map_or(Arg::NOTHING, Arg::from);
            let args = args![made, bias, slopes, kind(activation), count as u64, cols, result, narrow];
            gpu.launch("activate", (blocks(count), 1), (256, 1), args)?;
        }
        Ok(())
    }

    /// Writes the gradient of the parameters, given that of the last result in `self.gradient`.
    pub(super) fn backward(
        &self,
        gpu: &Gpu,
        parameters: &GpuArray<f32>,
        x: &GpuArray<f32>,
        of_parameters: &GpuArray<f32>,
    ) -> Result<()> {
        let (mut given, mut next) = (&self.gradient, self.spare.as_ref());
        for (at, own) in self.layers.iter().enumerate().rev() {
            let Layer { inputs, outputs, .. } = own.layer;
            self.backward_after_map(gpu, own, parameters, given, of_parameters)?;
            let of_output = match &self.narrow {
                Some(narrow) => narrow.gradient.matrix(0, self.rows, outputs).brain(),
                None => given.matrix(0, self.rows, outputs),
            };
            let of_weight = of_parameters.matrix(own.weight.start, inputs, outputs);
            gpu.product(of_weight, self.input(at, x).t(), of_output, false)?;
            if let Some(of_input) = next.filter(|_| at > 0) {
                let weight = self.weight(own, parameters);
                gpu.product(of_input.matrix(0, self.rows, inputs), of_output, weight.t(), false)?;
                (given, next) = (of_input, Some(given));
            }
        }
        Ok(())
    }

    /// Turns the gradient of a layer's result into that of its linear map; writes that of bias and slopes.
    fn backward_after_map(
        &self,
        gpu: &Gpu,
        own: &GpuLayer,
        parameters: &GpuArray<f32>,
        given: &GpuArray<f32>,
        of_parameters: &GpuArray<f32>,
    ) -> Result<()> {
        let Layer { outputs, activation, .. } = own.layer;
        let (cols, tiles) = (outputs as u32, self.rows.div_ceil(ROWS));
        let seen = own.before.as_ref().or(own.result.as_ref()).map_or(Arg::NOTHING, Arg::from);
        let (bias, slopes) = (parameters.from(own.bias.start), parameters.from(own.slopes.start));
        let (of_bias, of_slopes, rows) = (&self.of_bias, &self.of_slopes, self.rows as u32);
        let narrow = self.narrow.as_ref().map_or(Arg::NOTHING, |narrow| Arg::from(&narrow.gradient));
        let args = args![given, seen, bias, slopes, kind(activation), rows, cols, of_bias, of_slopes, narrow];
        gpu.launch("activate_back", (outputs.div_ceil(32), tiles), (32, 8), args)?;
        let finish = |partial: &GpuArray<f32>, to: Arg| {
            let args = args![partial, tiles as u32, cols, to];
            gpu.launch("finish_columns", (outputs.div_ceil(32), 1), (32, 32), args)
        };
        finish(of_bias, of_parameters.from(own.bias.start))?;
        let to_slopes = of_parameters.from(own.slopes.start);
        match activation {
            Activation::Prelu => finish(of_slopes, to_slopes),
            Activation::PreluShared => {
                finish(of_slopes, Arg::from(&self.shared))?;
                gpu.launch("sum_floats", (1, 1), (32, 1), args![&self.shared, cols, to_slopes])
            }
            Activation::None | Activation::Relu | Activation::Elu => Ok(()),
        }
    }
}

/// The number of an activation in the kernels.
pub(super) fn kind(activation: Activation) -> i32 {
    match activation {
        Activation::None => 0,
        Activation::Relu => 1,
        Activation::Elu => 2,
        Activation::Prelu => 3,
        Activation::PreluShared => 4,
    }
}

/// Blocks of 256 threads for so many numbers; each thread goes over more of them where there are many.
pub(super) fn blocks(count: usize) -> usize {
    count.div_ceil(256).min(1 << 14)
}
