//! Times the paper's evaluation of an embedding.
//!
//! `bench_classify DATASET [WIDTH [PER_CLASS [RUNS]]]` classifies a random embedding of a dataset's nodes (dimension 512)
//! on random splits (50, with 20 training nodes per class) five times, and prints the seconds.

#![allow(clippy::print_stdout)] // its output

use rand::RngExt;
use std::{error::Error, time::Instant};
use structcomp::data::{Options, open};
use structcomp::evaluate::classify;
use structcomp::{Dense, Features, Seed, SplitSet};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: bench_classify DATASET [WIDTH [PER_CLASS [RUNS]]]")?;
    let mut number = |default: usize| args.next().map_or(Ok(default), |arg| arg.parse());
    let (width, per_class, runs) = (number(512)?, number(20)?, number(50)?);
    let labels = open(&path, &Options::default())?.labels.ok_or("the dataset has no labels")?;
    let mut rng = Seed(0).stream("embedding");
    let values: Vec<f32> = (0..labels.nodes() * width).map(|_| rng.random::<f32>() - 0.5).collect();
    let x = Features::Dense(Dense::new(labels.nodes(), width, values)?);
    let splits = SplitSet::random(&labels, per_class, runs, Seed(0));
    for _ in 0..5 {
        let start = Instant::now();
        let accuracy = classify(&x, &labels, &splits, 1.0)?;
        println!("{:.3} s, {:.2} ± {:.2}", start.elapsed().as_secs_f64(), accuracy.mean, accuracy.std);
    }
    Ok(())
}
