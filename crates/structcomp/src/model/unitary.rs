//! Rows scaled to length one, for losses that see directions only.

use crate::matrix::dot;
use rayon::prelude::*;

/// Rows scaled to length one; rows of zeros stay so.
pub(super) struct Unitary {
    pub(super) values: Vec<f32>,
    width: usize,
    /// One over the length, zero for a row of zeros.
    scale: Vec<f32>,
}

impl Unitary {
    pub(super) fn new(mut values: Vec<f32>, width: usize) -> Self {
        let scale: Vec<f32> = values
            .par_chunks_mut(width)
            .map(|row| {
                let length = dot(row, row).sqrt();
                let scale = if length > 1e-12 { (1.0 / length) as f32 } else { 0.0 };
                row.iter_mut().for_each(|value| *value *= scale);
                scale
            })
            .collect();
        Self { values, width, scale }
    }

    /// Turns the gradient of the scaled rows into that of the rows.
    pub(super) fn backward(&self, gradient: &mut [f32]) {
        let rows = self.values.par_chunks(self.width).zip(&self.scale);
        gradient.par_chunks_mut(self.width).zip(rows).for_each(|(gradient, (unit, scale))| {
            let along = dot(gradient, unit) as f32;
            gradient.iter_mut().zip(unit).for_each(|(g, unit)| *g = scale * (*g - along * unit));
        });
    }
}
