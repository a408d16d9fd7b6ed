//! The Rust side of `benchmarks/neighbors.py`: searches once for every line on standard input.
//!
//! `bench_neighbors FOLDER K` reads `rows.npy` and `queries.npy` from the folder, prints `ready` and then the seconds for
//! each line, and finally writes the numbers of the rows found to `ours.bin` (u32, k for each query).

#![allow(clippy::print_stdout)] // its output

use std::{error::Error, io::BufRead, path::PathBuf, time::Instant};
use structcomp::data::{Options, open_table};
use structcomp::neighbors::{Metric, NeighborSearch, Wanted};
use structcomp::{Budget, Dense, Features};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: bench_neighbors FOLDER K";
    let folder = PathBuf::from(args.next().ok_or(usage)?);
    let count: usize = args.next().ok_or(usage)?.parse()?;
    let open = |name: &str| -> Result<Dense, Box<dyn Error>> {
        match open_table(folder.join(name), &Options::default())?.features {
            Some(Features::Dense(rows)) => Ok(Dense::new(rows.rows(), rows.cols(), rows.into_values())?),
            _ => Err("not a dense matrix".into()),
        }
    };
    let (rows, queries) = (open("rows.npy")?, open("queries.npy")?);
    println!("ready");
    let mut found = Vec::new();
    for _ in std::io::stdin().lock().lines() {
        let start = Instant::now();
        // The lengths of the rows are timed; the other side starts from rows of length one.
        let search = NeighborSearch::new(&rows, Metric::Cosine, Budget::default())?;
        found = search.of_rows(&queries, Wanted { count, ..Wanted::default() })?;
        println!("{}", start.elapsed().as_secs_f64());
    }
    let nodes: Vec<u32> = found.iter().flatten().map(|neighbor| neighbor.node).collect();
    std::fs::write(folder.join("ours.bin"), bytemuck::cast_slice(&nodes))?;
    Ok(())
}
