//! The Rust side of `benchmarks/spmm.py`: computes Â²X once for every line on standard input.
//!
//! `bench_spmm FOLDER` reads `offsets.bin` (u64), `targets.bin` (u32) and `features.bin` (f32) from the folder, prints
//! `ready` and then the seconds for each line, and finally writes the last result to `ours.bin`.

#![allow(clippy::print_stdout)] // its output

use std::{error::Error, io::BufRead, path::PathBuf, time::Instant};
use structcomp::matrix::{Buffer, MappedFile};
use structcomp::{Dense, Features, Graph, Normalization, Propagation};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: bench_spmm FOLDER")?);
    let open = |name: &str| MappedFile::open(folder.join(name));
    let (offsets, targets, values) = (open("offsets.bin")?, open("targets.bin")?, open("features.bin")?);
    let nodes = offsets.len() as u64 / 8 - 1;
    let graph = Graph::from_csr(
        Buffer::<u64>::mapped(&offsets, 0, nodes + 1)?.into_vec().into(),
        Buffer::<u32>::mapped(&targets, 0, targets.len() as u64 / 4)?.into_vec().into(),
        None,
    )?;
    let width = values.len() / 4 / nodes as usize;
    let values = Buffer::<f32>::mapped(&values, 0, nodes * width as u64)?.into_vec();
    let x = Features::Dense(Dense::new(nodes as usize, width, values)?);
    println!("ready");
    let mut result = None;
    for _ in std::io::stdin().lock().lines() {
        drop(result.take());
        let start = Instant::now();
        // Computing Â from the graph is timed; the other side starts from Â.
        result = Some(Propagation::new(&graph, Normalization::Symmetric).power(&x, 2)?);
        println!("{}", start.elapsed().as_secs_f64());
    }
    if let Some(Features::Dense(result)) = result {
        std::fs::write(folder.join("ours.bin"), bytemuck::cast_slice(result.values()))?;
    }
    Ok(())
}
