//! How alike two rows are.

use crate::{Dense, Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How alike two rows are. Larger is more alike for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// The cosine of the angle between them; 0 where a row is zero.
    #[default]
    Cosine,
    /// The dot product.
    Dot,
    /// Minus the Euclidean distance.
    Euclidean,
}

/// Squares of lengths must be numbers in single precision, with room to add two.
const LONGEST: f64 = 1e18;

/// The length of each row, in double precision.
pub(super) fn lengths(rows: &Dense) -> Result<Vec<f64>> {
    if rows.cols() == 0 {
        return Err(Error::Input("the rows have no columns to compare".into()));
    }
    let rows_of = rows.values().par_chunks_exact(rows.cols()).with_min_len(64);
    let lengths: Vec<f64> = rows_of.map(length).collect();
    // Rows that were computed may also have values that are not finite.
    match lengths.iter().position(|&length| length.is_nan() || length > LONGEST) {
        None => Ok(lengths),
        Some(row) => {
            let length = lengths[row];
            Err(Error::Input(format!(
                "row {row} has length {length:e}, too much for a search; scale the rows"
            )))
        }
    }
}

impl Metric {
    /// Queries as the left factor of a product: of length one, unless the length matters for the order of the scores.
    pub(super) fn left<'a>(self, queries: impl Iterator<Item = &'a [f32]>) -> Vec<f32> {
        queries
            .flat_map(|query| {
                scaled(query, if self == Self::Euclidean { 1.0 } else { inverse(length(query)) })
            })
            .collect()
    }

    /// Rows of these lengths as the right factor: for the cosine, of length one.
    pub(super) fn right<'a>(self, rows: &'a [f32], lengths: &[f64]) -> Cow<'a, [f32]> {
        match self {
            Self::Cosine => {
                let each = rows.chunks_exact(rows.len() / lengths.len().max(1)).zip(lengths);
                Cow::Owned(each.flat_map(|(row, &length)| scaled(row, inverse(length))).collect())
            }
            Self::Dot | Self::Euclidean => Cow::Borrowed(rows),
        }
    }

    /// What to add to products with rows of these lengths, for numbers in the order of the scores.
    pub(super) fn shift(self, lengths: &[f64]) -> Vec<f32> {
        let shift =
            |&length: &f64| if self == Self::Euclidean { (-0.5 * length * length) as f32 } else { 0.0 };
        lengths.iter().map(shift).collect()
    }

    /// The score of two rows, given their lengths.
    pub(super) fn score(self, (a, of_a): (&[f32], f64), (b, of_b): (&[f32], f64)) -> f32 {
        let score = match self {
            Self::Cosine => (sum(a, b, |a, b| a * b) * inverse(of_a) * inverse(of_b)).clamp(-1.0, 1.0),
            Self::Dot => sum(a, b, |a, b| a * b),
            Self::Euclidean => -sum(a, b, |a, b| (a - b) * (a - b)).sqrt(),
        };
        // Adding zero turns -0 into 0.
        score as f32 + 0.0
    }
}

pub(super) fn length(row: &[f32]) -> f64 {
    sum(row, row, |a, b| a * b).sqrt()
}

fn scaled(row: &[f32], scale: f64) -> impl Iterator<Item = f32> {
    row.iter().map(move |&x| (x as f64 * scale) as f32)
}

/// 1 divided by a length, or 0 if that is no number in single precision: such rows count as zero.
fn inverse(length: f64) -> f64 {
    if length < f32::MIN_POSITIVE as f64 { 0.0 } else { 1.0 / length }
}

/// Terms that are summed side by side, so that the compiler can use vectors.
const LANES: usize = 8;

/// Σ f(aᵢ, bᵢ) in double precision.
#[inline]
fn sum(a: &[f32], b: &[f32], f: impl Fn(f64, f64) -> f64) -> f64 {
    let (a_parts, b_parts) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (a_rest, b_rest) = (a_parts.remainder(), b_parts.remainder());
    let mut sums = [0f64; LANES];
    for (a, b) in a_parts.zip(b_parts) {
        for lane in 0..LANES {
            sums[lane] += f(a[lane] as f64, b[lane] as f64);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(&a, &b)| f(a as f64, b as f64)).sum();
    sums.iter().sum::<f64>() + rest
}
