//! Edge tables in Parquet.

use super::cells::{Ids, ids, is_id, is_number, write_floats};
use super::file::{CheckedGroup, ParquetFile, RowGroup};
use crate::data::{Options, edges::RawEdges};
use crate::{Error, Result};
use std::collections::HashMap;

/// Names of the columns of the two ends.
const ENDS: [[&str; 2]; 4] = [["source", "target"], ["src", "dst"], ["from", "to"], ["u", "v"]];

/// Rows decoded at a time.
const ROWS: usize = 8192;

/// Reads the edges in the smallest suitable representation.
pub(super) fn read(table: &ParquetFile, options: &Options) -> Result<RawEdges> {
    let (ends, weight) = columns(table, options)?;
    let reader = EdgeReader { table, ends, weight };
    if ends.iter().any(|&end| !table.kind(end).is_integer()) {
        return reader.names();
    }
    let small = |[u, v]: [u64; 2]| (u.max(v) >> 32 == 0).then_some(u << 32 | v);
    let read = match weight {
        None => reader.numbers(|ends, _| small(ends))?.map(RawEdges::Small),
        Some(_) => {
            let edges = reader.numbers(|ends, weight| small(ends).map(|pair| (pair, weight)))?;
            edges.map(RawEdges::SmallWeighted)
        }
    };
    match read {
        Some(edges) => Ok(edges),
        None => Ok(RawEdges::Large(reader.numbers(|ends, weight| Some((ends, weight)))?.unwrap_or_default())),
    }
}

fn columns(table: &ParquetFile, options: &Options) -> Result<([usize; 2], Option<usize>)> {
    let names: Vec<String> = table.names().iter().map(|name| name.to_ascii_lowercase()).collect();
    let place = |name: &str| names.iter().position(|held| held == name);
    let named = ENDS.iter().find_map(|[u, v]| Some([place(u)?, place(v)?]));
    let choice = &options.columns;
    let choose = |column: &Option<String>, usual: usize| {
        column
            .as_ref()
            .map_or(Ok(usual), |column| choice.find(column, &table.names()).map_err(|what| table.wrong(what)))
    };
    let usual = named.unwrap_or([0, 1]);
    let ends = [choose(&choice.source, usual[0])?, choose(&choice.target, usual[1])?];
    if names.len() < 2 {
        return Err(table.wrong(format!("has {} columns; expected two columns of node ids", names.len())));
    }
    if let Some(&end) = ends.iter().find(|&&end| !is_id(table.kind(end))) {
        let (name, kind) = (table.name(end), table.kind(end));
        return Err(table.wrong(format!(
            "column '{name}' of type {kind} cannot contain node ids; name the columns source and target"
        )));
    }
    let weight = match &choice.weight {
        Some(_) => Some(choose(&choice.weight, 0)?),
        None => place("weight").filter(|weight| !ends.contains(weight)),
    };
    let weight = weight.filter(|_| options.weights);
    match weight.filter(|&weight| !is_number(table.kind(weight))) {
        Some(weight) => {
            let (name, kind) = (table.name(weight), table.kind(weight));
            Err(table.wrong(format!("column '{name}' has type {kind}; expected numbers as weights")))
        }
        None => Ok((ends, weight)),
    }
}

struct EdgeReader<'a> {
    table: &'a ParquetFile,
    ends: [usize; 2],
    weight: Option<usize>,
}

impl EdgeReader<'_> {
    /// All edges as made by `make`, in one array; `None` if it cannot represent one of them.
    fn numbers<T: Clone + Default + Send>(
        &self,
        make: impl Fn([u64; 2], f32) -> Option<T> + Sync,
    ) -> Result<Option<Vec<T>>> {
        let table = self.table;
        table.budget.check_items("the edges", table.rows() as u64, size_of::<T>() as u64)?;
        let mut edges = vec![T::default(); table.rows()];
        let mut rest = &mut edges[..];
        let mut places = Vec::with_capacity(table.groups.len());
        for &rows in &table.groups {
            let (place, others) = rest.split_at_mut(rows);
            rest = others;
            places.push(place);
        }
        let fit = table.read(&self.columns(), places, |group, place| self.group(group, place, &make))?;
        Ok(fit.into_iter().all(|fit| fit).then_some(edges))
    }

    fn group<T>(
        &self,
        group: CheckedGroup,
        place: &mut [T],
        make: &impl Fn([u64; 2], f32) -> Option<T>,
    ) -> Result<bool> {
        let mut batches = self.table.group(group, &self.columns(), ROWS)?;
        while let Some(batch) = batches.next()? {
            let [u, v] = self.ends.map(|end| ids(&batch, end));
            let (Ids::Numbers(u), Ids::Numbers(v)) = (u?, v?) else {
                return Err(self.table.wrong("has row groups with different types"));
            };
            let weights = self.weights(&batch)?;
            let place = &mut place[batch.at..batch.at + batch.rows()];
            for (row, place) in place.iter_mut().enumerate() {
                let Some(edge) = make([u[row], v[row]], weights[row]) else { return Ok(false) };
                *place = edge;
            }
        }
        Ok(true)
    }

    fn columns(&self) -> Vec<usize> {
        self.ends.into_iter().chain(self.weight).collect()
    }

    fn weights(&self, batch: &RowGroup) -> Result<Vec<f32>> {
        let mut weights = vec![1.0; batch.rows()];
        match self.weight {
            Some(weight) => write_floats(batch, weight, &mut weights, 1).map(|()| weights),
            None => Ok(weights),
        }
    }

    /// Edges between names. Each row group has its own list of names; the lists are merged afterwards.
    fn names(&self) -> Result<RawEdges> {
        let table = self.table;
        let size = size_of::<NamedEdge>() as u64;
        table.budget.check_items("the edges", table.rows() as u64, size)?;
        let groups =
            table.read(&self.columns(), vec![(); table.groups.len()], |group, ()| self.named_group(group))?;
        let (mut all, mut edges) = (Names::default(), Vec::new());
        for (names, mut more) in groups {
            let places: Result<Vec<u32>> = names.list.iter().map(|name| all.place(name, table)).collect();
            let places = places?;
            more.iter_mut().for_each(|(ends, _)| *ends = ends.map(|end| places[end as usize]));
            edges.append(&mut more);
        }
        Ok(RawEdges::Names(edges, all.list))
    }

    fn named_group(&self, group: CheckedGroup) -> Result<(Names, Vec<NamedEdge>)> {
        let (mut names, mut edges) = (Names::default(), Vec::new());
        let mut batches = self.table.group(group, &self.columns(), ROWS)?;
        while let Some(batch) = batches.next()? {
            let [u, v] = self.ends.map(|end| self.places(&batch, end, &mut names));
            let ends = u?.into_iter().zip(v?).map(|(u, v)| [u, v]);
            edges.extend(ends.zip(self.weights(&batch)?));
        }
        Ok((names, edges))
    }

    fn places(&self, batch: &RowGroup, end: usize, names: &mut Names) -> Result<Vec<u32>> {
        match ids(batch, end)? {
            Ids::Texts(texts) => texts.iter().flatten().map(|text| names.place(text, self.table)).collect(),
            Ids::Numbers(numbers) => {
                numbers.iter().map(|number| names.place(&number.to_string(), self.table)).collect()
            }
        }
    }
}

/// Indices of both ends in a list of names, and the weight.
type NamedEdge = ([u32; 2], f32);

/// Distinct names in order of first occurrence.
#[derive(Default)]
struct Names {
    list: Vec<Box<str>>,
    places: HashMap<Box<str>, u32>,
}

impl Names {
    fn place(&mut self, name: &str, table: &ParquetFile) -> Result<u32, Error> {
        if let Some(&place) = self.places.get(name) {
            return Ok(place);
        }
        // Stored in the list and in the map.
        table.keep(2, 2 * name.len())?;
        let place = u32::try_from(self.list.len()).map_err(|_| table.wrong("has more than 2^32 nodes"))?;
        self.list.push(name.into());
        self.places.insert(name.into(), place);
        Ok(place)
    }
}
