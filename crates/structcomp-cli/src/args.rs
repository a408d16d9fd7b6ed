//! The flags that several commands share.

mod common;
mod data;
mod names;

pub(crate) use common::Common;
pub(crate) use data::{Input, Preparing, Reading};
pub(crate) use names::one_of;
