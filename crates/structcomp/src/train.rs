//! Training: batches in, the weights of an encoder out.

mod checkpoint;
#[cfg(test)]
mod goldens;
mod plan;
mod settings;
mod stop;
#[cfg(test)]
mod tests;
mod trainer;

pub(crate) use plan::Plan;
pub use settings::Training;
pub use stop::Stop;
pub use trainer::{Epoch, Trainer};
