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
const GRID: [f64; 9] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
/// The places of those that are tried first, the most penalized first, as its fit is the quickest from nothing.
const FIRST: [usize; 3] = [2, 4, 6];
const FOLDS: usize = 5;
/// Folds are tried until so many nodes were held out.
const HELD_OUT: usize = 200;
/// Added to the diagonal of a Gram matrix, relative to its mean.
const RIDGE: f64 = 1e-6;
/// The decrease of the loss per training node that another step must promise.
const ROUGH: Effort = Effort { decrease: 2e-3, steps: 12 };
const FINE: Effort = Effort { decrease: 3e-4, steps: 40 };
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
pub(super) struct Tried {
    /// How many of the nodes held out are predicted right, counted softly.
    pub(super) right: f64,
    /// The weights of each fold.
    pub(super) weights: Vec<Vec<f32>>,
}

/// A fitted regression.
pub(super) struct Regression {
    /// One row per column of the rows, one column per class.
    pub(super) weights: Vec<f32>,
    pub(super) names: Vec<u32>,
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
        let (best, c) = self.best(&mut tried);
        let start = tried.remove(&best).and_then(|mut best| best.weights.pop());
        self.fitted(c, start)
    }

    /// The classifier with this C.
    pub(super) fn fitted(self, c: f64, start: Option<Vec<f32>>) -> Regression {
        let found = fit(&self.all, c, &self.inverse(c), start, FINE);
        let weights = match &self.back {
            None => found,
            Some(back) => {
                let narrow: Vec<f64> = found.iter().map(|&weight| weight as f64).collect();
                multiply(back, &narrow, self.all.width).iter().map(|&weight| weight as f32).collect()
            }
        };
        Regression { weights, names: self.names }
    }

    /// The place of the best value that was tried, and the C to take.
    fn best(&self, tried: &mut BTreeMap<usize, Tried>) -> (usize, f64) {
        FIRST.iter().for_each(|&at| self.attempt(at, tried));
        let mut best = best_of(tried);
        let further = [(FIRST[0], 0), (FIRST[2], GRID.len() - 1)];
        if let Some((_, end)) = further.into_iter().find(|(last, _)| *last == best) {
            self.attempt(end, tried);
            best = best_of(tried);
        }
        // A single fold is too small to tell the values in between apart.
        if self.folds.len() == 1 {
            let right = |at: Option<usize>| tried.get(&at?).map(|tried| tried.right);
            let offset = match (right(best.checked_sub(2)), right(Some(best)), right(Some(best + 2))) {
                (Some(below), Some(here), Some(above)) => top_of_parabola(below, here, above),
                _ => 0.0,
            };
            return (best, GRID[best] * 10f64.powf(offset));
        }
        let sides = [best.checked_sub(1), Some(best + 1)];
        sides.into_iter().flatten().filter(|&at| at < GRID.len()).for_each(|at| self.attempt(at, tried));
        let best = best_of(tried);
        (best, GRID[best])
    }

    fn attempt(&self, at: usize, tried: &mut BTreeMap<usize, Tried>) {
        let c = GRID[at];
        let inverse = self.inverse(c);
        let nearest = tried.keys().min_by_key(|&&other| other.abs_diff(at)).copied();
        let (mut right, mut weights) = (0.0, Vec::new());
        for (fold, [kept, held]) in self.folds.iter().enumerate() {
            let start = nearest.map(|nearest| tried[&nearest].weights[fold].clone());
            let found = fit(kept, c, &inverse, start, ROUGH);
            right += held.right(&found);
            weights.push(found);
        }
        tried.insert(at, Tried { right, weights });
    }

    /// The inverse of XᵀX/K + λI.
    fn inverse(&self, c: f64) -> Vec<f32> {
        let (share, width) = (1.0 / self.names.len() as f64, self.all.width);
        let mut hessian: Vec<f64> = self.gram.iter().map(|product| share * product).collect();
        hessian.iter_mut().step_by(width + 1).for_each(|diagonal| *diagonal += 1.0 / c);
        match Cholesky::new(hessian, width) {
            Some(cholesky) => cholesky.inverse().iter().map(|&value| value as f32).collect(),
            None => (0..width * width).map(|at| (at % (width + 1) == 0) as u8 as f32).collect(),
        }
    }
}

/// The place with the best result; of equal ones the first, which is penalized the most.
pub(super) fn best_of(tried: &BTreeMap<usize, Tried>) -> usize {
    let better = |best, next| if tried[&next].right > tried[&best].right { next } else { best };
    tried.keys().copied().reduce(better).unwrap_or_default()
}

/// Where the parabola through the values at −1, 0 and 1 is highest, given that none is above that at 0; at most a half.
pub(super) fn top_of_parabola(below: f64, here: f64, above: f64) -> f64 {
    let bend = 2.0 * here - below - above;
    if bend > 0.0 { (above - below) / (2.0 * bend) } else { 0.0 }
}

/// The fold that every row is held out in: every class deals its rows in turn.
fn folds_of(classes: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by_key(|&row| classes[row]);
    let mut fold = vec![0; classes.len()];
    order.iter().enumerate().for_each(|(turn, &row)| fold[row] = turn % FOLDS);
    fold
}

/// The weights with this C.
fn fit(rows: &TrainingRows, c: f64, inverse: &[f32], start: Option<Vec<f32>>, effort: Effort) -> Vec<f32> {
    let start = start.unwrap_or_else(|| vec![0.0; rows.width * rows.count]);
    let effort = Effort { decrease: effort.decrease * rows.classes.len() as f64, ..effort };
    minimize(|weights| rows.at(weights, 1.0 / c), inverse, rows.width, start, effort).weights
}

impl Regression {
    /// The classes of these nodes, given as `(node, class)`, and those predicted for them.
    pub(super) fn predict(&self, treated: &Treated, test: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let (width, count) = (treated.width(), self.names.len());
        let of_chunk = |nodes: &[(u32, u32)]| {
            let rows = treated.rows(nodes);
            let mut logits = vec![0.0; nodes.len() * count];
            times(&mut logits, View::new(&rows, width), View::new(&self.weights, count));
            let each = logits.chunks_exact(count).zip(nodes);
            each.map(|(logits, &(_, class))| (class, self.names[first_largest(logits)])).collect::<Vec<_>>()
        };
        test.chunks(TESTED).flat_map(of_chunk).collect()
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
