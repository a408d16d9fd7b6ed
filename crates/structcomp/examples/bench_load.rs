//! The Rust side of `benchmarks/load.py`: `bench_load FILE` prints `ready`, then reads the file into a graph once for
//! every line on standard input and prints the seconds, nodes and edges.

#![allow(clippy::print_stdout)] // its output

use std::{error::Error, io::BufRead, time::Instant};
use structcomp::data::{Options, open};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: bench_load FILE")?;
    println!("ready");
    for _ in std::io::stdin().lock().lines() {
        let start = Instant::now();
        let dataset = open(&path, &Options::default())?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{seconds} {} {}", dataset.graph.nodes(), dataset.graph.edges());
    }
    Ok(())
}
