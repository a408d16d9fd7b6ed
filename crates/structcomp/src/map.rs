//! Maps: a place in the plane for every row of an embedding, so that similar rows are close (t-SNE).
//!
//! Rows are scaled to length one, so that distances follow cosines. The neighbours of each row come from an exact search
//! on the leading principal axes; candidates are scored again on all columns. t-SNE (van der Maaten and Hinton, 2008)
//! then starts from the first two axes. Two changes make it fast without making it worse: all neighbours of a row count
//! the same (Böhm, Berens and Kobak, 2022), and far rows repel in groups (Barnes and Hut; van der Maaten, 2014).
//!
//! Rows move at the same time, from where all of them were before the step, so the map is the same for any number of
//! threads.

mod affinity;
mod descent;
mod quadtree;

use crate::evaluate::Axes;
use crate::neighbors::{Metric, Neighbor, NeighborSearch, Wanted};
use crate::{Budget, Dense, Error, Features, Result, Seed};
use affinity::Affinity;
use rand::seq::index;
use rayon::prelude::*;

/// Neighbours per row.
const NEIGHBORS: usize = 15;
/// Principal axes that candidates are searched on, and how many candidates there are.
const AXES: usize = 50;
const CANDIDATES: usize = 30;
/// The time grows with the square of the number of rows.
const MOST: usize = 1 << 17;

/// Rows of an embedding in the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// A place for each row: two columns, centred.
    pub places: Dense,
    /// The nearest 15 of the other rows by cosine, best first. They are nearest in the embedding, not on the map.
    pub nearest: Vec<Vec<Neighbor>>,
}

impl Map {
    /// Places the rows. The same rows give the same map for any number of threads.
    ///
    /// Fails for more than 131,072 rows and for values that are not finite. Rows that are all the same have no
    /// neighbourhoods to show, and are strewn over a small disc.
    ///
    /// ```
    /// use structcomp::{Budget, Dense, map::Map};
    ///
    /// let rows = Dense::new(4, 2, vec![1.0, 0.0, 0.9, 0.1, 0.0, 1.0, 0.1, 0.9])?;
    /// let map = Map::of(&rows, Budget::default())?;
    /// assert_eq!((map.places.rows(), map.places.cols()), (4, 2));
    /// assert_eq!(map.nearest[0][0].node, 1);
    /// # Ok::<(), structcomp::Error>(())
    /// ```
    pub fn of(rows: &Dense, budget: Budget) -> Result<Self> {
        let count = rows.rows();
        if count > MOST {
            return Err(Error::Input(format!(
                "a map of {count} rows would take too long; choose at most {MOST} of them, for instance at random"
            )));
        }
        if count == 0 {
            return Ok(Self { places: Dense::new(0, 2, vec![])?, nearest: vec![] });
        }
        let cols = rows.cols().max(1);
        if let Some(row) = rows.values().chunks_exact(cols).position(|row| row.iter().any(|x| !x.is_finite()))
        {
            return Err(Error::Input(format!("row {row} has values that are not finite")));
        }
        // Checks that there are columns.
        NeighborSearch::new(rows, Metric::Cosine, budget)?;
        budget.check_items("rows of length one", count as u64, 4 * cols as u64)?;
        let unit = Features::Dense(of_length_one(rows));
        let axes = Axes::principal(&unit, AXES).project(&unit);
        let Features::Dense(unit) = unit else { unreachable!("made above") };
        let nearest = nearest(&unit, &axes, budget)?;
        let start =
            axes.values().chunks_exact(axes.cols()).map(|row| [row[0], row.get(1).copied().unwrap_or(0.0)]);
        let places = descent::descend(start.collect(), &Affinity::of(&nearest))?;
        Ok(Self { places: Dense::new(count, 2, places.concat())?, nearest })
    }
}

/// `most` of `count` rows, drawn at random, or all of them if there are no more: rows for a map, in ascending order.
pub fn sample(count: usize, most: usize) -> Vec<u32> {
    let drawn = index::sample(&mut Seed(0).stream("rows for a map"), count, most.min(count));
    let mut rows: Vec<u32> = drawn.into_iter().map(|row| row as u32).collect();
    rows.sort_unstable();
    rows
}

fn of_length_one(rows: &Dense) -> Dense {
    let mut values = rows.values().to_vec();
    values.par_chunks_exact_mut(rows.cols()).for_each(|row| {
        let length = row.iter().map(|&x| x as f64 * x as f64).sum::<f64>().sqrt();
        let inverse = if length > 0.0 { 1.0 / length } else { 0.0 };
        row.iter_mut().for_each(|x| *x = (*x as f64 * inverse) as f32);
    });
    Dense::computed(rows.cols(), values)
}

/// The nearest rows by cosine, among candidates that are nearest on the axes.
fn nearest(unit: &Dense, axes: &Dense, budget: Budget) -> Result<Vec<Vec<Neighbor>>> {
    let count = if unit.cols() > AXES { CANDIDATES } else { NEIGHBORS };
    let search = NeighborSearch::new(axes, Metric::Euclidean, budget)?;
    let all: Vec<u32> = (0..unit.rows() as u32).collect();
    let mut found = search.of_nodes(&all, Wanted { count, min_score: None })?;
    found.par_iter_mut().enumerate().for_each(|(row, found)| {
        for neighbor in found.iter_mut() {
            let pairs = unit.row(row).iter().zip(unit.row(neighbor.node as usize));
            neighbor.score = pairs.map(|(&a, &b)| a as f64 * b as f64).sum::<f64>().clamp(-1.0, 1.0) as f32;
        }
        found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
        found.truncate(NEIGHBORS);
    });
    Ok(found)
}

#[cfg(test)]
mod tests;
