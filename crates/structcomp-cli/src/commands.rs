//! One file per command, and what several of them share.

pub(crate) mod convert;
pub(crate) mod datasets;
pub(crate) mod embed;
pub(crate) mod evaluate;
pub(crate) mod generate;
pub(crate) mod info;
mod judgement;
pub(crate) mod neighbors;
pub(crate) mod partition;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod shell;
mod splits;
pub(crate) mod train;
mod trained;
mod training;
