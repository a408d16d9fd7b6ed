//! The flags that several commands share.

mod data;
mod every_command;
mod names;

pub(crate) use data::{Input, Preparing, Reading};
pub(crate) use every_command::EveryCommand;
pub(crate) use names::one_of;
