//! Where and how precisely a command computes.

use crate::args::one_of;
use clap::Args;
use structcomp::{Compute, Device, Precision};

#[derive(Args, Clone)]
#[command(next_help_heading = "Device")]
pub(crate) struct ComputeFlags {
    /// Where to train and embed: an NVIDIA GPU (cuda), the CPU, or the GPU where there is one and it pays (auto)
    #[arg(long, value_name = "DEVICE", default_value = "auto", hide_short_help = true, value_parser = one_of::<Device>(&["auto", "cpu", "cuda"]))]
    device: Device,
    /// Precision of matrix products on the GPU
    #[arg(long, value_name = "P", default_value = "f32", hide_short_help = true, value_parser = one_of::<Precision>(&["f32", "tf32", "bf16"]))]
    precision: Precision,
}

impl ComputeFlags {
    pub(crate) fn settings(&self) -> Compute {
        Compute { device: self.device, precision: self.precision }
    }
}
