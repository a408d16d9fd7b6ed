//! The Rust side of `benchmarks/python_overhead.py`: the cost of checking arrays before the first stage.
//!
//! `bench_checks DATASET [FOLDER]` prints `ready`, then for every line makes a graph and features from plain arrays, as
//! `fit` does in Python, and prints the seconds.

#![allow(clippy::print_stdout)] // its output

use std::{env, error::Error, hint::black_box, io::BufRead, time::Instant};
use structcomp::memory::LargePages;
use structcomp::{Csr, Dense, Features, Graph, Seed, data};

// As in the Python package.
#[global_allocator]
static ALLOCATOR: LargePages = LargePages;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let name = args.first().ok_or("usage: bench_checks DATASET [FOLDER]")?;
    let folder = args.get(1).map_or("../shared/data", String::as_str);
    let dataset = data::load(name, folder.as_ref(), Seed(0), &data::Options::default())?;
    let graph = &dataset.graph;
    let features = dataset.features.as_ref().ok_or("the dataset has no features")?;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        line?;
        let (offsets, targets) = (graph.offsets().to_vec(), graph.targets().to_vec());
        let weights = graph.weights().map(|weights| weights.to_vec().into());
        let arrays = match features {
            Features::Dense(x) => (Vec::new(), Vec::new(), x.values().to_vec()),
            Features::Sparse(x) => {
                let (rows, columns, values) = x.parts();
                (rows.to_vec(), columns.to_vec(), values.to_vec())
            }
        };
        let started = Instant::now();
        let checked = match features {
            Features::Dense(x) => Features::Dense(Dense::new(x.rows(), x.cols(), arrays.2)?),
            Features::Sparse(x) => Features::Sparse(Csr::new(x.cols(), arrays.0, arrays.1, arrays.2)?),
        };
        let graph = Graph::from_csr(offsets.into(), targets.into(), weights)?;
        let seconds = started.elapsed();
        black_box((checked, graph));
        println!("{}", seconds.as_secs_f64());
    }
    Ok(())
}
