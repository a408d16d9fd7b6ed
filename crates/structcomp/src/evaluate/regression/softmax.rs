//! The objective of softmax regression, its gradient, and how well it predicts.
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

/// How sharply rows count as right or wrong, for a lead as large as usual.
const SHARPNESS: f64 = 4.0;
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

    /// How many of the rows are predicted right, counted softly: a row whose own class is nearly level with the best of
    /// the others counts as a half. Counting right and wrong alone tells too little where few rows are held out.
    /// Multiples of the weights count the same.
    pub(super) fn right(&self, weights: &[f32]) -> f64 {
        let logits = self.logits(weights);
        let lead = |(logits, &class): (&[f32], &u32)| {
            let others = logits.iter().enumerate().filter(|(at, _)| *at != class as usize);
            let best = others.map(|(_, &logit)| logit).fold(f32::NEG_INFINITY, f32::max);
            (logits[class as usize] - best) as f64
        };
        let leads: Vec<f64> = logits.chunks_exact(self.count).zip(&self.classes).map(lead).collect();
        let length = (leads.iter().map(|lead| lead * lead).sum::<f64>() / leads.len().max(1) as f64).sqrt();
        let sharp = if length > 0.0 && length.is_finite() { SHARPNESS / length } else { 0.0 };
        leads.iter().map(|lead| 1.0 / (1.0 + (-sharp * lead).exp())).sum()
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
