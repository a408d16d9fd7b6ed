//! For few training nodes: the weights are a sum of training rows, w = Σ aᵢ xᵢ, with one unknown per node.
//!
//! With the Gram matrix G of the rows, the decision values are f = Ga and the gradient is Σ rᵢ xᵢ,
//! where r = a - C y ∘ p and p is the probability of the wrong class. A step of Newton's method in the weights
//! becomes a ← a - (I + C diag(p (1 - p)) G)⁻¹ r. With S² = C diag(p (1 - p)) that is
//! r - S (I + S G S)⁻¹ S G r, where the matrix is symmetric and positive definite: a few conjugate gradients
//! solve it. All classes take their steps side by side, one per lane, so that G is read once for all of them.

use super::{MAX_STEPS, SHORTEST, TOLERANCE, falls, losses_and_doubts, stuck};
use crate::matrix::{Kernel, Unit};
use crate::{Result, matrix::Cholesky};

/// Classes side by side: as many as the widest vector has values.
pub(super) const LANES: usize = 8;
/// One value per class.
pub(super) type Lanes = [f64; LANES];

/// The relative residual of the equations of an early step: a larger one would save products within steps and cost
/// steps. In later steps it is the relative gradient, which keeps the convergence quadratic.
const ENOUGH: f64 = 1e-3;
/// C times the squared length of a row from which on a step is a small difference of large values and must be exact.
const LARGE: f64 = 4096.0;
/// Rows of a product that are computed together.
const ROWS: usize = 8;

/// What all classes share.
pub(super) struct Space {
    gram: Vec<f64>,
    size: usize,
    c: f64,
    /// Whether rows are too long for conjugate gradients.
    large: bool,
}

impl Space {
    pub(super) fn new(gram: Vec<f64>, size: usize, c: f64) -> Self {
        let large = gram.iter().step_by(size + 1).any(|square| c * square > LARGE);
        Self { gram, size, c, large }
    }

    /// The factors a of the training rows for the signs `y`: the first `classes` lanes differ, the others repeat the
    /// last of them.
    pub(super) fn solve(&self, y: &[Lanes], classes: usize) -> Result<Vec<Lanes>> {
        let mut factors = Ok(Vec::new());
        Unit::widest().run(Solve { space: self, y, classes, factors: &mut factors });
        factors
    }

    #[inline(always)]
    fn newton(&self, y: &[Lanes], classes: usize) -> Result<Vec<Lanes>> {
        let c = self.c;
        let zero = vec![[0.0; LANES]; self.size];
        let (mut a, mut f) = (zero.clone(), zero.clone());
        let (mut p, mut losses) = judge(y, &f, &zero, &[0.0; LANES]);
        let (mut first, mut relative) = (None, [1.0; LANES]);
        for _ in 0..MAX_STEPS {
            let r = zip(&a, &zip(y, &p, |y, p| y * p), |a, pull| a - c * pull);
            let g_r = self.product(&r);
            // The squared length of a sum of rows, which rounding can make negative near zero.
            let squares = inner(&r, &g_r);
            if squares.iter().any(|square| !square.is_finite()) {
                break;
            }
            let gradient = squares.map(|square| square.max(0.0).sqrt());
            let start = *first.get_or_insert(gradient);
            let done: [bool; LANES] = std::array::from_fn(|lane| gradient[lane] <= TOLERANCE * start[lane]);
            if done == [true; LANES] {
                return Ok(a);
            }
            relative = std::array::from_fn(|lane| gradient[lane] / start[lane]);
            let s = zip(&p, &p, |p, _| (c * p * (1.0 - p)).sqrt());
            let mut side = zip(&s, &g_r, |s, g_r| s * g_r);
            // A class that has converged takes steps of zero.
            side.iter_mut().for_each(|side| clear(side, &done));
            let Some(inside) = self.equations(&s, &side, &relative, classes) else { break };
            let mut step = zip(&r, &zip(&s, &inside, |s, inside| s * inside), |r, inside| r - inside);
            step.iter_mut().for_each(|step| clear(step, &done));
            let g_step = self.product(&step);
            let (square, cross, step_square) = (inner(&a, &f), inner(&a, &g_step), inner(&step, &g_step));
            let slope = inner(&r, &g_step);
            let objective = |lane: usize, t: f64, losses: &Lanes| {
                0.5 * (square[lane] - 2.0 * t * cross[lane] + t * t * step_square[lane]) + c * losses[lane]
            };
            let mut length = [1.0; LANES];
            let (p_new, losses_new) = loop {
                let (p_new, losses_new) = judge(y, &f, &g_step, &length);
                let too_long = |&lane: &usize| {
                    let (start, end) =
                        (objective(lane, 0.0, &losses), objective(lane, length[lane], &losses_new));
                    !falls(start, end, length[lane], slope[lane])
                };
                let too_long: Vec<usize> = (0..LANES).filter(too_long).collect();
                if too_long.is_empty() {
                    break (p_new, losses_new);
                }
                too_long.iter().for_each(|&lane| length[lane] /= 2.0);
                if length.iter().any(|&length| length < SHORTEST) {
                    return Err(stuck(largest(&relative)));
                }
            };
            (p, losses) = (p_new, losses_new);
            subtract(&mut a, &length, &step);
            subtract(&mut f, &length, &g_step);
        }
        Err(stuck(largest(&relative)))
    }

    /// The product of the Gram matrix with one vector per lane.
    #[inline(always)]
    fn product(&self, x: &[Lanes]) -> Vec<Lanes> {
        let mut out = vec![[0.0; LANES]; self.size];
        multiply(&self.gram, x, &mut out);
        out
    }

    /// (I + S G S)⁻¹ times the right-hand side, as exactly as a step needs it at the relative gradient `left`.
    #[inline(always)]
    fn equations(&self, s: &[Lanes], side: &[Lanes], left: &Lanes, classes: usize) -> Option<Vec<Lanes>> {
        let enough = left.map(|left| left.min(ENOUGH).powi(2));
        let products = if self.large { 0 } else { 32 + self.size / 4 };
        let (mut solution, done) = self.conjugate(s, side, &enough, products);
        for lane in (0..classes).filter(|&lane| !done[lane]) {
            let mut one: Vec<f64> = side.iter().map(|side| side[lane]).collect();
            let s: Vec<f64> = s.iter().map(|s| s[lane]).collect();
            factored(&self.gram, &s)?.solve(&mut one);
            solution.iter_mut().zip(one).for_each(|(solution, one)| solution[lane] = one);
        }
        for solution in &mut solution {
            let last = solution[classes - 1];
            solution[classes..].fill(last);
        }
        Some(solution)
    }

    /// The same by conjugate gradients in all lanes at once, with at most `products` products with G, and which lanes
    /// reached the squared relative residual `enough`.
    #[inline(always)]
    fn conjugate(
        &self,
        s: &[Lanes],
        side: &[Lanes],
        enough: &Lanes,
        products: usize,
    ) -> (Vec<Lanes>, [bool; LANES]) {
        let mut solution = vec![[0.0; LANES]; self.size];
        let start = inner(side, side);
        let done = |square: &Lanes| -> [bool; LANES] {
            std::array::from_fn(|lane| square[lane] <= enough[lane] * start[lane])
        };
        let mut square = start;
        let (mut rest, mut direction) = (side.to_vec(), side.to_vec());
        let (mut scaled, mut product) = (side.to_vec(), side.to_vec());
        for _ in 0..products {
            let done = done(&square);
            if done == [true; LANES] {
                break;
            }
            for ((scaled, s), direction) in scaled.iter_mut().zip(s).zip(&direction) {
                for lane in 0..LANES {
                    scaled[lane] = s[lane] * direction[lane];
                }
            }
            multiply(&self.gram, &scaled, &mut product);
            for ((product, s), direction) in product.iter_mut().zip(s).zip(&direction) {
                for lane in 0..LANES {
                    product[lane] = direction[lane] + s[lane] * product[lane];
                }
            }
            let curvature = inner(&direction, &product);
            let length: Lanes =
                std::array::from_fn(|lane| if done[lane] { 0.0 } else { square[lane] / curvature[lane] });
            subtract(&mut solution, &length.map(|length| -length), &direction);
            subtract(&mut rest, &length, &product);
            let next = inner(&rest, &rest);
            let ratio: Lanes =
                std::array::from_fn(|lane| if done[lane] { 0.0 } else { next[lane] / square[lane] });
            for (direction, rest) in direction.iter_mut().zip(&rest) {
                for lane in 0..LANES {
                    direction[lane] = rest[lane] + ratio[lane] * direction[lane];
                }
            }
            square = next;
        }
        let done = done(&square);
        (solution, done)
    }
}

/// Newton's method within one kernel.
struct Solve<'a> {
    space: &'a Space,
    y: &'a [Lanes],
    classes: usize,
    factors: &'a mut Result<Vec<Lanes>>,
}

impl Kernel for Solve<'_> {
    #[inline(always)]
    fn run(self) {
        *self.factors = self.space.newton(self.y, self.classes);
    }
}

/// The probability of the wrong class of each node at the decision values f - t g, and the sum of the losses.
#[inline(always)]
fn judge(y: &[Lanes], f: &[Lanes], g: &[Lanes], t: &Lanes) -> (Vec<Lanes>, Lanes) {
    let mut losses = [0.0; LANES];
    let mut doubts = vec![[0.0; LANES]; y.len()];
    for (((doubts, y), f), g) in doubts.iter_mut().zip(y).zip(f).zip(g) {
        let margins: Lanes = std::array::from_fn(|lane| y[lane] * (f[lane] - t[lane] * g[lane]));
        let (loss, doubt) = losses_and_doubts(margins);
        losses = std::array::from_fn(|lane| losses[lane] + loss[lane]);
        *doubts = doubt;
    }
    (doubts, losses)
}

/// I + S G S, factored.
fn factored(gram: &[f64], s: &[f64]) -> Option<Cholesky> {
    let size = s.len();
    let mut matrix = vec![0.0; size * size];
    for (i, (to, row)) in matrix.chunks_exact_mut(size).zip(gram.chunks_exact(size)).enumerate() {
        let upper = to[i..].iter_mut().zip(row[i..].iter().zip(&s[i..]));
        upper.for_each(|(to, (g, s_other))| *to = s[i] * g * s_other);
        to[i] += 1.0;
    }
    Cholesky::new(matrix, size)
}

fn largest(values: &Lanes) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

#[inline(always)]
fn clear(values: &mut Lanes, which: &[bool; LANES]) {
    values.iter_mut().zip(which).filter(|(_, which)| **which).for_each(|(value, _)| *value = 0.0);
}

#[inline(always)]
fn zip(a: &[Lanes], b: &[Lanes], with: impl Fn(f64, f64) -> f64) -> Vec<Lanes> {
    a.iter().zip(b).map(|(a, b)| std::array::from_fn(|lane| with(a[lane], b[lane]))).collect()
}

#[inline(always)]
fn inner(a: &[Lanes], b: &[Lanes]) -> Lanes {
    let mut sum = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sum[lane] += a[lane] * b[lane];
        }
    }
    sum
}

/// `out -= t x`.
#[inline(always)]
fn subtract(out: &mut [Lanes], t: &Lanes, x: &[Lanes]) {
    for (out, x) in out.iter_mut().zip(x) {
        for lane in 0..LANES {
            out[lane] -= t[lane] * x[lane];
        }
    }
}

/// `out = G x`, for a symmetric G.
#[inline(always)]
fn multiply(gram: &[f64], x: &[Lanes], out: &mut [Lanes]) {
    let size = x.len();
    let (blocks, rest) = out.as_chunks_mut::<ROWS>();
    let whole = blocks.len() * ROWS;
    for (block, out) in blocks.iter_mut().enumerate() {
        let mut sums = [[0.0; LANES]; ROWS];
        // Down columns, which equal rows, for as many rows as there are sums.
        for (column, x) in x.iter().enumerate() {
            let g: &[f64] = &gram[column * size + block * ROWS..][..ROWS];
            for row in 0..ROWS {
                for lane in 0..LANES {
                    sums[row][lane] += g[row] * x[lane];
                }
            }
        }
        *out = sums;
    }
    for (row, out) in rest.iter_mut().enumerate() {
        let mut sum = [0.0; LANES];
        for (g, x) in gram[(whole + row) * size..].iter().zip(x) {
            for lane in 0..LANES {
                sum[lane] += g * x[lane];
            }
        }
        *out = sum;
    }
}
