//! The Rust side of `benchmarks/load.py`: `bench_load FILE` prints `ready`, then reads the file into a graph
//! once per line of standard input and prints the seconds and the numbers of nodes and edges.

#![allow(clippy::print_stdout)] // results go to standard output

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
