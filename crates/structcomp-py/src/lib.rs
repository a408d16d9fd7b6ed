//! `structcomp._native`: numpy arrays in, numpy arrays out. The graph types of other packages and the interface
//! of scikit-learn are handled in Python (`python/structcomp`).

mod arrays;
mod datasets;
mod edges;
mod errors;
mod evaluate;
mod features;
mod fit;
mod graph;
mod lent;
mod loss;
mod map;
mod model;
mod names;
mod neighbors;
mod pieces;
mod projection;
mod reproduce;
mod settings;
mod stages;
mod stream;
mod tables;
mod workers;

#[global_allocator]
static ALLOCATOR: structcomp::memory::LargePages = structcomp::memory::LargePages;

/// The part of the package that is written in Rust.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::{
        datasets::{generate, load},
        evaluate::{classify, cluster},
        features::Features,
        fit::fit,
        graph::Graph,
        map::map_2d,
        model::Model,
        neighbors::neighbors,
        pieces::{
            GraphFile, Sketch, known_positions, open_graph, positions, project, signal_rows, sums_of_halves,
            train_given,
        },
        reproduce::{measure, reproduce},
        settings::{defaults, models, preset},
        stages::{compress, drop_member, partition, propagate, quality, untrained_rows},
        tables::table,
    };

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        structcomp::silence_caught_panics();
        Ok(())
    }

    /// The version of the library.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
