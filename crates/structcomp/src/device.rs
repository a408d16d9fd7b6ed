//! Where training and embedding run, and in which precision.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Where work runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// The GPU where there is one, it can do the work, and the work is large enough to pay for starting it; else the
    /// CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The first NVIDIA GPU, or an error.
    Cuda,
}

/// The precision of matrix products on the GPU. Sums are `f32` or wider everywhere, and the CPU always computes in
/// `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// 24 significant bits.
    #[default]
    F32,
    /// 11 significant bits.
    Tf32,
    /// 8 significant bits in the encoder; 11 in similarities, which need no wider range.
    Bf16,
}

/// Settings of where and how precisely to compute. They are no part of a saved model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Compute {
    /// Where training and embedding run.
    pub device: Device,
    /// The precision of products on the GPU.
    pub precision: Precision,
}

impl Compute {
    /// The CPU, whatever there is.
    pub const CPU: Self = Self { device: Device::Cpu, precision: Precision::F32 };

    /// Refuses settings that do not go together.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self { device: Device::Cpu, precision: Precision::Tf32 | Precision::Bf16 } => Err(Error::Input(
                "precision is about the GPU; on the CPU it is always f32, so leave it out".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Whether nothing differs from the defaults.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Floating-point operations below which starting a GPU takes longer than the CPU does for all of them: it takes about
/// a second.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
pub(crate) const WORTH_STARTING: f64 = 2e12;

/// The name of the CPU in reports.
pub(crate) const CPU: &str = "cpu";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_has_one_precision() {
        let on = |device, precision| Compute { device, precision }.check();
        assert!(on(Device::Cpu, Precision::F32).is_ok() && on(Device::Auto, Precision::Bf16).is_ok());
        let error = on(Device::Cpu, Precision::Tf32).unwrap_err().to_string();
        assert!(error.contains("leave it out"), "{error}");
    }

    #[test]
    fn settings_have_short_names() {
        let read = |text| serde_json::from_str::<Compute>(text);
        let asked = Compute { device: Device::Cuda, precision: Precision::Tf32 };
        assert_eq!(read(r#"{"device":"cuda","precision":"tf32"}"#).unwrap(), asked);
        assert_eq!(read("{}").unwrap(), Compute::default());
        assert!(read(r#"{"device":"rocm"}"#).is_err());
    }
}
