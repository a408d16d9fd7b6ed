//! The layers of a network on the GPU, forward and backward. All parameters are one vector, as on the CPU.

use super::gpu::{Arg, Gpu, GpuArray, args};
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
    result: GpuArray<f32>,
}

pub(super) struct GpuLayers {
    layers: Vec<GpuLayer>,
    rows: usize,
    /// The gradient of the last result, and one that a layer passes to the one before.
    gradient: GpuArray<f32>,
    spare: Option<GpuArray<f32>>,
    of_bias: GpuArray<f32>,
    of_slopes: GpuArray<f32>,
    shared: GpuArray<f32>,
}

impl GpuLayers {
    pub(super) fn new(gpu: &Gpu, network: &Network, rows: usize) -> Result<Self> {
        let layer = |(at, layer): (usize, &Layer)| {
            let (weight, bias, slopes) = network.places(at);
            let size = rows * layer.outputs;
            let before = (!layer.activation.is_told_by_result()).then(|| gpu.zeros(size)).transpose()?;
            Ok(GpuLayer { layer: layer.clone(), weight, bias, slopes, before, result: gpu.zeros(size)? })
        };
        let layers = network.layers().iter().enumerate().map(layer).collect::<Result<Vec<_>>>()?;
        let widest = layers.iter().map(|layer| layer.layer.outputs).max().unwrap_or(0);
        let partial = rows.div_ceil(ROWS) * widest;
        let spare = (layers.len() > 1).then(|| gpu.zeros(rows * widest)).transpose()?;
        Ok(Self {
            layers,
            rows,
            gradient: gpu.zeros(rows * widest)?,
            spare,
            of_bias: gpu.zeros(partial)?,
            of_slopes: gpu.zeros(partial)?,
            shared: gpu.zeros(widest)?,
        })
    }

    /// Bytes that layers take for so many rows.
    pub(super) fn bytes(network: &Network, rows: usize) -> u64 {
        let kept = |layer: &Layer| layer.outputs * if layer.activation.is_told_by_result() { 1 } else { 2 };
        let kept: usize = network.layers().iter().map(kept).sum();
        let widest = network.layers().iter().map(|layer| layer.outputs).max().unwrap_or(0);
        let gradients = widest * network.layers().len().min(2);
        4 * (rows * (kept + gradients) + 2 * rows.div_ceil(ROWS) * widest) as u64
    }

    /// The result of the last layer, and where its gradient goes.
    pub(super) fn result_and_gradient(&mut self) -> Result<(&GpuArray<f32>, &mut GpuArray<f32>)> {
        let last = self.layers.last().ok_or_else(|| Error::Input("the network has no layers".into()))?;
        Ok((&last.result, &mut self.gradient))
    }

    /// Runs the layers on the rows of `x`.
    pub(super) fn forward(&self, gpu: &Gpu, parameters: &GpuArray<f32>, x: &GpuArray<f32>) -> Result<()> {
        let mut input = x;
        for own in &self.layers {
            let Layer { inputs, outputs, activation, .. } = own.layer;
            let made = own.before.as_ref().unwrap_or(&own.result);
            let weight = parameters.matrix(own.weight.start, inputs, outputs);
            let product = made.matrix(0, self.rows, outputs);
            gpu.product(product, input.matrix(0, self.rows, inputs), weight, false)?;
            let (bias, slopes) = (parameters.from(own.bias.start), parameters.from(own.slopes.start));
            let count = self.rows * outputs;
            let args = args![made, bias, slopes, kind(activation), count as u64, outputs as u32, &own.result];
            gpu.launch("activate", (blocks(count), 1), (256, 1), args)?;
            input = &own.result;
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
            let input = if at == 0 { x } else { &self.layers[at - 1].result };
            let of_output = given.matrix(0, self.rows, outputs);
            let of_weight = of_parameters.matrix(own.weight.start, inputs, outputs);
            gpu.product(of_weight, input.matrix(0, self.rows, inputs).t(), of_output, false)?;
            if let Some(of_input) = next.filter(|_| at > 0) {
                let weight = parameters.matrix(own.weight.start, inputs, outputs);
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
        let seen = own.before.as_ref().unwrap_or(&own.result);
        let (bias, slopes) = (parameters.from(own.bias.start), parameters.from(own.slopes.start));
        let (of_bias, of_slopes, rows) = (&self.of_bias, &self.of_slopes, self.rows as u32);
        let args = args![given, seen, bias, slopes, kind(activation), rows, cols, of_bias, of_slopes];
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
