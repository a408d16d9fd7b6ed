//! The choice of C for one split, and the classifier that has it.
//!
//! C is searched from coarse to fine, each fit starting where the last one ended. Fits of the search are rough: what
//! they promise to gain is far below what tells one C from another.

use super::minimize::{Effort, minimize};
use super::softmax::{TrainingRows, first_largest, times};
use super::treatment::Treated;
use crate::matrix::{Cholesky, View, multiply, symmetric_product};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Values of C to choose from.
pub(super) const GRID: [f64; 8] = [0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
/// Where the search begins.
const START: usize = 3;
const FOLDS: usize = 5;
/// Folds are tried until so many nodes were held out.
const HELD_OUT: usize = 200;
/// Added to the diagonal of a Gram matrix, relative to its mean.
const RIDGE: f64 = 1e-6;
/// The decrease of the loss per training node that another step must promise.
const ROUGH: Effort = Effort { decrease: 2e-3, steps: 12 };
const FINE: Effort = Effort { decrease: 2e-4, steps: 40 };
/// Test rows per product.
const TESTED: usize = 128;

/// The training nodes of a split.
pub(super) struct Choice {
    /// The rows, or fewer columns with the same products of rows.
    all: TrainingRows,
    /// The rows that are fitted and those that are held out, for every fold.
    folds: Vec<[TrainingRows; 2]>,
    /// The products of columns.
    gram: Vec<f64>,
    /// What turns weights of few columns into weights of all.
    back: Option<Vec<f64>>,
    names: Vec<u32>,
}

/// What cross-validation says about one C.
struct Tried {
    right: usize,
    loss: f64,
    /// The weights of each fold.
    weights: Vec<Vec<f32>>,
}

/// A fitted regression.
pub(super) struct Regression {
    /// One row per column of the rows, one column per class.
    pub(super) weights: Vec<f32>,
    pub(super) names: Vec<u32>,
    /// The C that was chosen.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests look at it"))]
    pub(super) c: f64,
}

impl Choice {
    pub(super) fn of(treated: &Treated, train: &[(u32, u32)]) -> Self {
        let mut names: Vec<u32> = train.iter().map(|&(_, class)| class).collect();
        names.sort_unstable();
        names.dedup();
        let place = |class: u32| names.partition_point(|&name| name < class) as u32;
        let classes: Vec<u32> = train.iter().map(|&(_, class)| place(class)).collect();
        let (x, width, back) = fewer_columns(treated.rows(train), treated.width());
        let gram = products(View::new(&x, width).t(), View::new(&x, width), width);
        let all = TrainingRows { x, width, classes, count: names.len(), room: RefCell::default() };
        let fold = folds_of(&all.classes);
        let folds = (HELD_OUT * FOLDS).div_ceil(train.len()).clamp(1, FOLDS);
        let part = |keep: &dyn Fn(usize) -> bool| {
            all.select(&(0..train.len()).filter(|&row| keep(fold[row])).collect::<Vec<_>>())
        };
        let folds = (0..folds).map(|held| [part(&|fold| fold != held), part(&|fold| fold == held)]).collect();
        Self { all, folds, gram, back, names }
    }

    /// The classifier with the best C, fitted to all training nodes.
    pub(super) fn classifier(self) -> Regression {
        let mut tried = BTreeMap::new();
        let at = self.best(&mut tried);
        let start = tried.remove(&at).and_then(|mut best| best.weights.pop());
        let found = fit(&self.all, at, &self.inverse(at), start, FINE);
        let weights = match &self.back {
            None => found,
            Some(back) => {
                let narrow: Vec<f64> = found.iter().map(|&weight| weight as f64).collect();
                multiply(back, &narrow, self.all.width).iter().map(|&weight| weight as f32).collect()
            }
        };
        Regression { weights, names: self.names, c: GRID[at] }
    }

    /// The place of the best C: from the middle towards where it gets better, in steps of two, and then one to each
    /// side.
    fn best(&self, tried: &mut BTreeMap<usize, Tried>) -> usize {
        self.attempt(START, tried);
        let mut best = START;
        for towards in [2isize, -2] {
            while let Some(next) = best.checked_add_signed(towards).filter(|&next| next < GRID.len()) {
                self.attempt(next, tried);
                if !tried[&next].is_better(&tried[&best]) {
                    break;
                }
                best = next;
            }
            if best != START {
                break;
            }
        }
        for next in [best.checked_sub(1), Some(best + 1)].into_iter().flatten() {
            if next < GRID.len() {
                self.attempt(next, tried);
            }
        }
        let (first, others) = (best.saturating_sub(1), best..=(best + 1).min(GRID.len() - 1));
        others.fold(first, |best, next| if tried[&next].is_better(&tried[&best]) { next } else { best })
    }

    fn attempt(&self, at: usize, tried: &mut BTreeMap<usize, Tried>) {
        let inverse = self.inverse(at);
        let nearest = tried.keys().min_by_key(|&&other| other.abs_diff(at)).copied();
        let (mut right, mut loss, mut weights) = (0, 0.0, Vec::new());
        for (fold, [kept, held]) in self.folds.iter().enumerate() {
            let start = nearest.map(|nearest| tried[&nearest].weights[fold].clone());
            let found = fit(kept, at, &inverse, start, ROUGH);
            let (hits, lost) = held.judge(&found);
            right += hits;
            loss += lost;
            weights.push(found);
        }
        tried.insert(at, Tried { right, loss, weights });
    }

    /// The inverse of XᵀX/K + λI.
    fn inverse(&self, at: usize) -> Vec<f32> {
        let (share, width) = (1.0 / self.names.len() as f64, self.all.width);
        let mut hessian: Vec<f64> = self.gram.iter().map(|product| share * product).collect();
        hessian.iter_mut().step_by(width + 1).for_each(|diagonal| *diagonal += 1.0 / GRID[at]);
        match Cholesky::new(hessian, width) {
            Some(cholesky) => cholesky.inverse().iter().map(|&value| value as f32).collect(),
            None => (0..width * width).map(|at| (at % (width + 1) == 0) as u8 as f32).collect(),
        }
    }
}

/// The fold that every row is held out in: every class deals its rows in turn.
fn folds_of(classes: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by_key(|&row| classes[row]);
    let mut fold = vec![0; classes.len()];
    order.iter().enumerate().for_each(|(turn, &row)| fold[row] = turn % FOLDS);
    fold
}

/// The weights with the C at this place of the grid.
fn fit(rows: &TrainingRows, at: usize, inverse: &[f32], start: Option<Vec<f32>>, effort: Effort) -> Vec<f32> {
    let start = start.unwrap_or_else(|| vec![0.0; rows.width * rows.count]);
    let effort = Effort { decrease: effort.decrease * rows.classes.len() as f64, ..effort };
    minimize(|weights| rows.at(weights, 1.0 / GRID[at]), inverse, rows.width, start, effort).weights
}

impl Tried {
    fn is_better(&self, other: &Self) -> bool {
        self.right > other.right || self.right == other.right && self.loss < other.loss
    }
}

impl Regression {
    /// How many of these nodes, given as `(node, class)`, are predicted right.
    pub(super) fn right(&self, treated: &Treated, test: &[(u32, u32)]) -> usize {
        let (width, count) = (treated.width(), self.names.len());
        let of_chunk = |nodes: &[(u32, u32)]| {
            let rows = treated.rows(nodes);
            let mut logits = vec![0.0; nodes.len() * count];
            times(&mut logits, View::new(&rows, width), View::new(&self.weights, count));
            let each = logits.chunks_exact(count).zip(nodes);
            each.filter(|(logits, (_, class))| self.names[first_largest(logits)] == *class).count()
        };
        test.chunks(TESTED).map(of_chunk).sum()
    }
}

/// Where there are fewer rows than columns, rows of as many columns as there are rows with the same products: XXᵀ = LLᵀ.
/// The penalized regression on L is that on X, with weights Xᵀ(XXᵀ)⁻¹L times those of L.
fn fewer_columns(x: Vec<f32>, cols: usize) -> (Vec<f32>, usize, Option<Vec<f64>>) {
    let rows = x.len() / cols;
    if rows >= cols {
        return (x, cols, None);
    }
    let view = View::new(&x, cols);
    let mut gram = products(view, view.t(), rows);
    let ridge = RIDGE * gram.iter().step_by(rows + 1).sum::<f64>() / rows as f64;
    gram.iter_mut().step_by(rows + 1).for_each(|diagonal| *diagonal += ridge);
    let Some(cholesky) = Cholesky::new(gram, rows) else { return (x, cols, None) };
    let narrow: Vec<f32> = cholesky.factor().iter().map(|&value| value as f32).collect();
    // (LLᵀ)⁻¹L = L⁻ᵀ.
    let inverse = cholesky.inverse_of_factor();
    let turned: Vec<f64> = (0..rows * rows).map(|at| inverse[at % rows * rows + at / rows]).collect();
    let columns: Vec<f64> = (0..cols * rows).map(|at| x[at % rows * cols + at / rows] as f64).collect();
    (narrow, rows, Some(multiply(&columns, &turned, rows)))
}

/// A symmetric product of `size` by `size`.
fn products(a: View, b: View, size: usize) -> Vec<f64> {
    let mut out = vec![0.0; size * size];
    symmetric_product(&mut out, a, b);
    out.iter().map(|&value| value as f64).collect()
}
