//! The flags that several commands share.

mod compute;
mod data;
mod every_command;
mod names;
mod stdin;

pub(crate) use compute::ComputeFlags;
pub(crate) use data::{Input, Preparing, Reading};
pub(crate) use every_command::EveryCommand;
pub(crate) use names::one_of;
pub(crate) use stdin::{STANDARD, file_of, to_standard_output};
