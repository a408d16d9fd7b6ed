//! The objective of softmax regression, its gradient, and what it predicts.
//!
//! F(W) = Σ −log softmax(x·W)[y] + ½λ‖W‖², summed over the training rows, with λ = 1/C. Logits, probabilities and
//! the gradient are three passes over one matrix of rows times classes, so nearly all time is in two products.

use crate::matrix::{Kernel, Right, Sum, Unit, View, dot, exp, product};
use std::cell::RefCell;

/// Rows of training nodes with their classes, numbered from 0.
pub(super) struct TrainingRows<'a> {
    /// `width` numbers per row.
    pub(super) x: &'a [f32],
    pub(super) width: usize,
    pub(super) classes: &'a [u32],
    pub(super) count: usize,
    /// Room for the logits, so that memory is not asked for in every step.
    pub(super) room: RefCell<Vec<f32>>,
}

/// F at some weights.
pub(super) struct Point {
    /// The value of F.
    pub(super) value: f64,
    pub(super) gradient: Vec<f32>,
    /// The rows that were held out: how many are predicted right, and the sum of their losses.
    pub(super) right: usize,
    pub(super) loss: f64,
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

impl TrainingRows<'_> {
    /// F and its gradient for the rows that `held` does not name, and the prediction of those it does.
    pub(super) fn at(&self, weights: &[f32], lambda: f64, held: impl Fn(usize) -> bool) -> Point {
        let Self { x, width, classes, count, .. } = *self;
        let mut logits = self.room.borrow_mut();
        logits.resize(classes.len() * count, 0.0);
        times(&mut logits, View::new(x, width), View::new(weights, count));
        let (mut value, mut right, mut loss) = (0.5 * lambda * dot(weights, weights), 0, 0.0);
        let unit = Unit::widest();
        for (row, (logits, &class)) in logits.chunks_exact_mut(count).zip(classes).enumerate() {
            let class = class as usize;
            let best = first_largest(logits);
            let (own, top) = (logits[class], logits[best]);
            let mut sum = 0f32;
            unit.run(Normalize { logits, top, sum: &mut sum });
            let lost = (sum as f64).ln() + (top - own) as f64;
            if held(row) {
                right += (best == class) as usize;
                loss += lost;
                logits.fill(0.0);
            } else {
                value += lost;
                logits[class] -= 1.0;
            }
        }
        let mut gradient = vec![0.0; width * count];
        times(&mut gradient, View::new(x, width).t(), View::new(&logits, count));
        gradient.iter_mut().zip(weights).for_each(|(gradient, weight)| *gradient += lambda as f32 * weight);
        Point { value, gradient, right, loss }
    }
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
