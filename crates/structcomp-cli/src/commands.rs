//! One file a command.

pub(crate) mod convert;
pub(crate) mod datasets;
pub(crate) mod embed;
pub(crate) mod evaluate;
pub(crate) mod generate;
pub(crate) mod info;
mod judged;
pub(crate) mod partition;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod train;
mod training;
