//! The Rust side of `benchmarks/partition.py`.
//!
//! - `prepare NAME[:EDGES[:NODES]] GRAPH` writes the graph of a dataset, or a synthetic one of that size, to
//!   GRAPH.scg and prints its numbers of nodes and edges. `text GRAPH` converts it to GRAPH.graph.
//! - `run GRAPH.scg METHOD CLUSTERS LIMIT OUT.part` maps the graph and prints `ready`. It then partitions the
//!   graph once per line of standard input and prints the seconds. LIMIT 0 is the method's default.
//! - `quality GRAPH.scg FILE.part` prints the number of clusters, the cut, the largest cluster and the gap.

#![allow(clippy::print_stdout)] // results go to standard output

use std::{
    env,
    error::Error,
    fs::File,
    io::{BufRead, BufWriter, Write},
    time::Instant,
};
use structcomp::{
    Graph, Partition, Partitioning, Quality, Seed,
    data::{self, FeatureKind, Synthetic},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["prepare", name, graph] => prepare(name, graph),
        ["text", graph] => text(graph),
        ["run", graph, method, clusters, limit, out] => {
            run(graph, method, clusters.parse()?, limit.parse()?, out)
        }
        ["quality", graph, part] => quality(graph, part),
        _ => Err("usage: bench_partition prepare|text|run|quality …".into()),
    }
}

fn prepare(name: &str, path: &str) -> Outcome<()> {
    let mut parts = name.split(':');
    let name = parts.next().unwrap_or_default();
    let mut number = || parts.next().map(str::parse::<usize>).transpose();
    let (edges, nodes) = (number()?, number()?);
    let graph = match Synthetic::named(name) {
        Some(model) => {
            let features = FeatureKind::Gaussian { width: 1 };
            let edges = edges.unwrap_or(model.edges);
            let scaled = (model.nodes as f64 * edges as f64 / model.edges as f64).round() as usize;
            let nodes = nodes.unwrap_or(scaled);
            Synthetic { features, nodes, edges, ..model }.generate(Seed(0))?.graph
        }
        None => {
            let folder = env::var("STRUCTCOMP_DATA").unwrap_or_else(|_| "../shared/data".into());
            data::load(name, folder.as_ref(), Seed(0), &data::Options::default())?.graph
        }
    };
    graph.save(format!("{path}.scg"))?;
    println!("{} {}", graph.nodes(), graph.edges());
    Ok(())
}

/// Writes the METIS format: one line per node, ids from 1.
fn text(path: &str) -> Outcome<()> {
    let graph = Graph::open(format!("{path}.scg"))?;
    let mut text = BufWriter::new(File::create(format!("{path}.graph"))?);
    writeln!(text, "{} {}", graph.nodes(), graph.edges())?;
    for node in 0..graph.nodes() as u32 {
        for neighbor in graph.neighbors(node) {
            write!(text, "{} ", neighbor + 1)?;
        }
        writeln!(text)?;
    }
    text.flush()?;
    Ok(())
}

fn run(graph: &str, method: &str, clusters: usize, limit: usize, out: &str) -> Outcome<()> {
    let graph = Graph::open(graph)?;
    let max_size = (limit > 0).then_some(limit);
    let config =
        Partitioning { method: method.into(), clusters: Some(clusters), max_size, ..Partitioning::default() };
    println!("ready");
    for _ in std::io::stdin().lock().lines() {
        let start = Instant::now();
        let partition = config.partition(&graph, Seed(0))?;
        let seconds = start.elapsed().as_secs_f64();
        partition.write(out)?;
        println!("{seconds}");
    }
    Ok(())
}

fn quality(graph: &str, part: &str) -> Outcome<()> {
    let graph = Graph::open(graph)?;
    let (partition, _) = Partition::read(part, graph.nodes())?;
    let Quality { clusters, cut, largest, gap, .. } = Quality::of(&graph, &partition, None)?;
    println!("{clusters} {cut} {largest} {gap}");
    Ok(())
}
