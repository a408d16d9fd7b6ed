//! `structcomp._native`: numpy arrays in, numpy arrays out. What Python people expect around it, from
//! duck-typed graphs to scikit-learn's manners, is written in Python (`python/structcomp`).

mod arrays;
mod datasets;
mod edges;
mod encoder;
mod errors;
mod evaluate;
mod features;
mod graph;
mod lent;
mod reproduce;
mod settings;
mod stages;
mod stream;
mod tables;
mod train;
mod workers;

#[global_allocator]
static ALLOCATOR: structcomp::LargePages = structcomp::LargePages;

/// The part of the package that is written in Rust.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        datasets::{generate, load},
        encoder::Encoder,
        evaluate::{classify, cluster},
        features::Features,
        graph::Graph,
        reproduce::measure,
        reproduce::reproduce,
        settings::{defaults, models, preset, recipe},
        stages::{compress, diagnostics, drop_member, partition, propagate, quality},
        tables::table,
        train::train,
    };

    /// The version of the library.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
