//! The Rust side of `benchmarks/partition.py`.
//!
//! - `prepare NAME[:EDGES[:NODES]] GRAPH` writes a dataset's graph, or a synthetic one of that size, as GRAPH.scg, and
//!   prints its nodes and edges; `text GRAPH` writes it in METIS's format as GRAPH.graph.
//! - `run GRAPH.scg METHOD CLUSTERS LIMIT OUT.part` maps the graph, prints `ready`, then partitions it once for every
//!   line on standard input and prints the seconds. LIMIT is the largest cluster size; 0 leaves it to the method.
//! - `quality GRAPH.scg FILE.part` prints clusters, cut, largest cluster and the objective.

#![allow(clippy::print_stdout)] // its output

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

/// METIS's format: one line per node, nodes numbered from 1.
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
