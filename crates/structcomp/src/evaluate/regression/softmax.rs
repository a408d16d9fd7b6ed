//! The objective of softmax regression, its gradient, and what it predicts.
//!
//! F(W) = Σ −log softmax(x·W)[y] + ½λ‖W‖², summed over the training rows, with λ = 1/C. Logits, probabilities and
//! the gradient are three passes over one matrix of rows times classes, so nearly all time is in two products.

use crate::matrix::{Kernel, Right, Sum, Unit, View, dot, exp, product};
use std::cell::{RefCell, RefMut};

/// Rows of training nodes with their classes, numbered from 0.
pub(super) struct TrainingRows {
    /// `width` numbers per row.
    pub(super) x: Vec<f32>,
    pub(super) width: usize,
    pub(super) classes: Vec<u32>,
    pub(super) count: usize,
    /// Room for the logits, so that memory is not asked for in every step.
    pub(super) room: RefCell<Vec<f32>>,
}

/// F at some weights.
pub(super) struct Point {
    /// The value of F.
    pub(super) value: f64,
    pub(super) gradient: Vec<f32>,
}

/// Products with more rows than this are shared among threads; smaller problems run side by side instead.
const ALONE: usize = 8192;

/// `out = A B`.
pub(super) fn times(out: &mut [f32], a: View, b: View) {
    if a.shape().0.max(a.shape().1) > ALONE {
        product(out, a, b, Sum::Set);
    } else {
        Right::here(b, a.shape().0).multiply(a, out, Sum::Set);
    }
}

impl TrainingRows {
    /// Some of the rows.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let mut x = Vec::with_capacity(rows.len() * self.width);
        rows.iter().for_each(|&row| x.extend_from_slice(&self.x[row * self.width..][..self.width]));
        let classes = rows.iter().map(|&row| self.classes[row]).collect();
        Self { x, width: self.width, classes, count: self.count, room: RefCell::default() }
    }

    /// F and its gradient.
    pub(super) fn at(&self, weights: &[f32], lambda: f64) -> Point {
        let Self { x, width, classes, count, .. } = self;
        let mut value = 0.5 * lambda * dot(weights, weights);
        let mut logits = self.logits(weights);
        for (logits, &class) in logits.chunks_exact_mut(*count).zip(classes) {
            value += loss(logits, class as usize, first_largest(logits));
            logits[class as usize] -= 1.0;
        }
        let mut gradient = vec![0.0; width * count];
        times(&mut gradient, View::new(x, *width).t(), View::new(&logits, *count));
        gradient.iter_mut().zip(weights).for_each(|(gradient, weight)| *gradient += lambda as f32 * weight);
        Point { value, gradient }
    }

    /// How many of the rows are predicted right, and the sum of their losses.
    pub(super) fn judge(&self, weights: &[f32]) -> (usize, f64) {
        let mut logits = self.logits(weights);
        let each = logits.chunks_exact_mut(self.count).zip(&self.classes).map(|(logits, &class)| {
            let best = first_largest(logits);
            ((best == class as usize) as usize, loss(logits, class as usize, best))
        });
        each.fold((0, 0.0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
    }

    fn logits(&self, weights: &[f32]) -> RefMut<'_, Vec<f32>> {
        let mut logits = self.room.borrow_mut();
        logits.resize(self.classes.len() * self.count, 0.0);
        times(&mut logits, View::new(&self.x, self.width), View::new(weights, self.count));
        logits
    }
}

/// −log softmax(logits)[class]; `best` is the place of the largest. Logits become probabilities.
fn loss(logits: &mut [f32], class: usize, best: usize) -> f64 {
    let (own, top, mut sum) = (logits[class], logits[best], 0f32);
    Unit::widest().run(Normalize { logits, top, sum: &mut sum });
    (sum as f64).ln() + (top - own) as f64
}

/// The index of the largest value, the first of equal ones.
pub(super) fn first_largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best
}

/// Replaces logits by probabilities; `sum` is that of their exponentials over the largest.
struct Normalize<'a> {
    logits: &'a mut [f32],
    top: f32,
    sum: &'a mut f32,
}

impl Kernel for Normalize<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { logits, top, sum } = self;
        for logit in logits.iter_mut() {
            *logit = exp(*logit - top);
        }
        *sum = logits.iter().sum();
        let inverse = 1.0 / *sum;
        logits.iter_mut().for_each(|probability| *probability *= inverse);
    }
}
