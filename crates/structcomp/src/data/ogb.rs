//! Node-property folders of the Open Graph Benchmark, unzipped: text (arxiv, products) or binary
//! (papers100M).

mod binary;

use super::{EdgeSource, Format, Options, Parts, bytes::Bytes, bytes::FileHead, edges::Nodes};
use super::{
    edges::RawEdges,
    number_rows::{parse_rows, width},
};
use crate::graph::MAX_NODES;
use crate::{Budget, Dense, Error, Features, Labels, Result, Split, SplitSet};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

pub(crate) const FORMAT: Format = Format {
    name: "ogb",
    about: "node-property folder of the Open Graph Benchmark, with raw/ and split/",
    recognizes: |head: &FileHead| {
        let raw = head.path.join("raw");
        head.has("raw")
            && (raw.join("data.npz").exists() || csv(&raw, "edge").is_some() || is_heterogeneous(&raw))
    },
    read,
};

fn read(folder: &Path, options: &Options) -> Result<Parts> {
    let raw = folder.join("raw");
    if is_heterogeneous(&raw) {
        let what = "has several node types (triplet-type-list); heterogeneous graphs are not supported";
        return Err(Error::format(&raw, what));
    }
    let mut reader = OgbReader { budget: options.budget, nodes: 0, parts: Parts::default() };
    match raw.join("data.npz").exists() {
        true => reader.read_binary(&raw)?,
        false => reader.read_text(&raw)?,
    }
    reader.parts.nodes = Nodes::Count(reader.nodes);
    reader.read_split(&folder.join("split"))?;
    let mapped =
        FileHead::of(folder)?.has("mapping").then(|| FileHead::of(&folder.join("mapping"))).transpose()?;
    if let Some(name) = mapped.iter().flat_map(|m| &m.names).find(|name| name.starts_with("nodeidx2")) {
        reader.parts.notes.push(format!("the publisher's node ids are in mapping/{name}"));
    }
    Ok(reader.parts)
}

/// The path of a table, compressed as published or not.
fn csv(folder: &Path, name: &str) -> Option<PathBuf> {
    let paths = [".csv.gz", ".csv"].map(|end| folder.join(format!("{name}{end}")));
    paths.into_iter().find(|path| path.exists())
}

fn is_heterogeneous(raw: &Path) -> bool {
    csv(raw, "triplet-type-list").is_some()
}

struct OgbReader {
    budget: Budget,
    nodes: usize,
    parts: Parts,
}

impl OgbReader {
    fn read_text(&mut self, raw: &Path) -> Result<()> {
        let path = self.need(raw, "num-node-list")?;
        let nodes = self.read_count(&path)?;
        self.set_nodes(nodes, &path)?;
        let edges = self.read_count(&self.need(raw, "num-edge-list")?)?;
        let path = self.need(raw, "edge")?;
        let pairs = self.read_edges(&path)?;
        self.check_count(&path, "edges", pairs.len(), edges)?;
        self.parts.edges = EdgeSource::Raw(RawEdges::Small(pairs));
        self.parts.files.push(path);
        if let Some(path) = csv(raw, "node-feat") {
            let features = self.read_features(&path)?;
            self.check_count(&path, "rows", features.rows(), nodes)?;
            self.parts.features = Some(Features::Dense(features));
            self.parts.files.push(path);
        }
        if let Some(path) = csv(raw, "node-label") {
            let labels = self.read_labels(&path)?;
            self.check_count(&path, "labels", labels.nodes(), nodes)?;
            self.parts.labels = Some(labels);
            self.parts.files.push(path);
        }
        Ok(())
    }

    fn need(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        csv(folder, name).ok_or_else(|| Error::format(folder, format!("has no {name}.csv.gz")))
    }

    fn set_nodes(&mut self, nodes: u64, path: &Path) -> Result<()> {
        if nodes > MAX_NODES as u64 {
            return Err(Error::format(path, format!("has {nodes} nodes, more than the 2^31 supported")));
        }
        self.budget.check_items("a graph", nodes + 1, 8).map_err(|error| error.within(path))?;
        self.nodes = nodes as usize;
        Ok(())
    }

    fn check_count(&self, path: &Path, what: &str, found: usize, said: u64) -> Result<()> {
        match found as u64 == said {
            true => Ok(()),
            false => Err(Error::format(path, format!("has {found} {what}, expected {said}"))),
        }
    }

    /// The number in a file that lists the size of each graph.
    fn read_count(&self, path: &Path) -> Result<u64> {
        let text = Bytes::open(path, &self.budget)?;
        let counts = parse_rows(&text, path, &self.budget, 1, |line, row| {
            row[0] = number(line).ok_or_else(|| expected("a number", line))?;
            Ok(())
        })?;
        match counts[..] {
            [count] => Ok(count),
            _ => Err(Error::format(path, format!("lists {} graphs; expected one", counts.len()))),
        }
    }

    fn read_edges(&self, path: &Path) -> Result<Vec<u64>> {
        let text = Bytes::open(path, &self.budget)?;
        let nodes = self.nodes as u64;
        parse_rows(&text, path, &self.budget, 1, |line, row| {
            let comma = memchr::memchr(b',', line);
            let ends = comma.and_then(|at| number(&line[..at]).zip(number(&line[at + 1..])));
            match ends {
                Some((u, v)) if u < nodes && v < nodes => row[0] = u << 32 | v,
                _ => return Err(expected(&format!("two node numbers below {nodes}"), line)),
            }
            Ok(())
        })
    }

    fn read_features(&self, path: &Path) -> Result<Dense> {
        let text = Bytes::open(path, &self.budget)?;
        let cols = width(&text);
        let values = parse_rows(&text, path, &self.budget, cols, |line, row| {
            let mut fields = line.split(|&byte| byte == b',');
            for out in row.iter_mut() {
                let field = fields.next().ok_or_else(|| format!("expected {cols} numbers"))?;
                *out = float(field).ok_or_else(|| expected("a number", field))?;
            }
            fields.next().map_or(Ok(()), |_| Err(format!("expected {cols} numbers")))
        })?;
        Dense::new(values.len() / cols.max(1), cols, values)
            .map_err(|error| Error::format(path, error.to_string()))
    }

    fn read_labels(&self, path: &Path) -> Result<Labels> {
        let text = Bytes::open(path, &self.budget)?;
        if width(&text) > 1 {
            return Err(several_labels(path));
        }
        let classes: Vec<f32> = parse_rows(&text, path, &self.budget, 1, |line, row| {
            // pandas writes a missing value that is alone on its line as a pair of quotes.
            row[0] = match line {
                b"" | b"\"\"" => f32::NAN,
                _ => float(line).ok_or_else(|| expected("a class number or an empty line", line))?,
            };
            Ok(())
        })?;
        labels_from(&classes, path)
    }

    fn read_split(&mut self, folder: &Path) -> Result<()> {
        let names = if folder.is_dir() { FileHead::of(folder)?.names } else { Vec::new() };
        let Some(name) = names.into_iter().find(|name| csv(&folder.join(name), "train").is_some()) else {
            return Ok(());
        };
        let folder = folder.join(&name);
        let mut part = |name: &str| -> Result<Vec<u32>> {
            let path = self.need(&folder, name)?;
            let text = Bytes::open(&path, &self.budget)?;
            let nodes = self.nodes as u64;
            let part = parse_rows(&text, &path, &self.budget, 1, |line, row| {
                let node = number(line).filter(|&node| node < nodes);
                row[0] = node.ok_or_else(|| expected(&format!("a node number below {nodes}"), line))? as u32;
                Ok(())
            });
            self.parts.files.push(path);
            part
        };
        let (train, valid, test) = (part("train")?, part("valid")?, part("test")?);
        let split = Split::new(self.nodes, train, valid, test)
            .map_err(|error| Error::format(&folder, error.to_string()))?;
        self.parts.splits.push(SplitSet::named("ogb", vec![split]));
        self.parts.notes.push(format!("the split 'ogb' is the publisher's '{name}'"));
        Ok(())
    }
}

fn several_labels(path: &Path) -> Error {
    Error::format(path, "has several labels per node; multi-label data is not supported")
}

/// Labels from floats; NaN means unlabelled.
fn labels_from(classes: &[f32], path: &Path) -> Result<Labels> {
    // From here on, `f32` cannot represent every integer.
    const TOO_LARGE: f32 = 16_777_216.0;
    let is_class = |class: f32| class.is_nan() || (class.fract() == 0.0 && class.abs() < TOO_LARGE);
    if let Some(at) = classes.par_iter().position_first(|&class| !is_class(class)) {
        return Err(Error::format(path, format!("label {at} is {}, not a class number", classes[at])));
    }
    let signed = classes.iter().map(|&class| if class.is_nan() { -1 } else { class as i64 });
    Labels::from_signed(signed).map_err(|error| Error::format(path, error.to_string()))
}

/// An integer of at most 18 digits, enough for any node number or count.
fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 18 {
        return None;
    }
    field.iter().try_fold(0, |number, byte| match byte {
        b'0'..=b'9' => Some(number * 10 + (byte - b'0') as u64),
        _ => None,
    })
}

fn float(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

fn expected(what: &str, found: &[u8]) -> String {
    let found: String = String::from_utf8_lossy(found).chars().take(40).collect();
    format!("expected {what}, found '{found}'")
}

#[cfg(test)]
mod tests;
