//! The Laplacian L = D − W of a level and its lowest eigenvectors.

use crate::Seed;
use crate::matrix::eigen::{eigen, eigen_within};
use crate::partition::level::Level;
use crate::random::normal;
use rayon::prelude::*;

/// The number of test vectors: K in the papers.
pub(in crate::partition) const VECTORS: usize = 10;
/// The number of eigenvectors, without the constant one that every connected graph has.
pub(in crate::partition) const WIDTH: usize = VECTORS - 1;

/// Vectors iterated together. More than [`WIDTH`], which speeds up convergence of the lowest.
const BLOCK: usize = 16;
/// Up to this many nodes, a dense eigensolver is used.
const DENSE: usize = 64;
/// The iteration ends when ‖Lu − λu‖ ≤ `TOLERANCE` · λ for the lowest [`WIDTH`] pairs, or after `ROUNDS`.
/// This is accurate enough: costs change only with the square of the angle.
const TOLERANCE: f64 = 1e-2;
const ROUNDS: usize = 40;
/// Conjugate gradients reduce squared residuals by this factor, in at most `STEPS` steps.
const GAIN: f64 = 1e-2;
const STEPS: usize = 100;
/// Rows summed by one task; fixed, so that sums do not depend on the number of threads.
const ROWS: usize = 1 << 12;

/// Independent standard Gaussian entries, one row per node.
pub(in crate::partition) fn random<const W: usize>(nodes: usize, key: u64) -> Vec<[f64; W]> {
    let mut rows = vec![[0.0; W]; nodes];
    rows.par_chunks_mut(ROWS).enumerate().for_each(|(block, rows)| {
        let mut rng = Seed(key).stream_at("block", block as u64);
        rows.as_flattened_mut().iter_mut().for_each(|x| *x = normal(&mut rng) as f64);
    });
    rows
}

pub(in crate::partition) struct Laplacian<'a> {
    level: &'a Level<'a>,
    /// The diagonal D: the total edge weight of each node. It is summed from the `f32` values of W, so
    /// rows of L sum to zero however the weights of coarse levels were rounded.
    pub(in crate::partition) degree: Vec<f64>,
}

impl<'a> Laplacian<'a> {
    pub(in crate::partition) fn of(level: &'a Level) -> Self {
        let degree = |node: u32| {
            let mut sum = 0.0;
            level.each_neighbor(node, |_, weight| sum += weight as f64);
            sum
        };
        Self { level, degree: (0..level.nodes() as u32).into_par_iter().map(degree).collect() }
    }

    /// out = LX.
    pub(in crate::partition) fn times<const W: usize>(&self, x: &[[f64; W]], out: &mut [[f64; W]]) {
        out.par_iter_mut().with_min_len(256).enumerate().for_each(|(node, out)| {
            *out = x[node].map(|x| self.degree[node] * x);
            self.level.each_neighbor(node as u32, |to, weight| {
                axpy(out, -(weight as f64), &x[to as usize]);
            });
        });
    }

    /// The lowest eigenvalues of a connected graph except 0, and their eigenvectors; padded with zeros
    /// for graphs of fewer nodes.
    ///
    /// Block inverse iteration: each round solves LX = Y by conjugate gradients, preconditioned by D and
    /// started from the current eigenvectors. Hubs make the largest eigenvalues of L thousands of times
    /// the lowest, so methods that only multiply by L would need too many products.
    pub(in crate::partition) fn lowest(&self, key: u64) -> ([f64; WIDTH], Vec<[f64; WIDTH]>) {
        let nodes = self.level.nodes();
        if nodes <= DENSE {
            return self.lowest_of_all();
        }
        let mut y: Vec<[f64; BLOCK]> = random(nodes, key);
        let mut product = vec![[0.0; BLOCK]; nodes];
        let mut values = [0.0; BLOCK];
        for round in 1..=ROUNDS {
            let mean = sums(&y, |y, _| *y).map(|sum| -sum / nodes as f64);
            y.par_iter_mut().for_each(|y| axpy(y, 1.0, &mean));
            self.times(&y, &mut product);
            // `eigen_within` returns the largest eigenvalues first; those of −L are the lowest of L.
            let h: Vec<f64> = gram(&y, &product).iter().map(|h| -h).collect();
            let (found, turn) = eigen_within(&gram(&y, &y), &h, BLOCK);
            values.iter_mut().zip(&found).for_each(|(value, found)| *value = -found);
            y.par_iter_mut().for_each(|y| *y = turned(y, &turn));
            product.par_iter_mut().for_each(|product| *product = turned(product, &turn));
            // The residual λY − LY, the right-hand side of LE = λY − LY.
            product.par_iter_mut().zip(&y).for_each(|(product, y)| {
                (0..BLOCK).for_each(|c| product[c] = values[c] * y[c] - product[c]);
            });
            let residual = sums(&product, |r, _| r.map(|r| r * r));
            let close = |c: usize| residual[c].sqrt() <= TOLERANCE * values[c].abs();
            if round == ROUNDS || (0..WIDTH).all(close) {
                break;
            }
            let e = self.solve(product);
            y.par_iter_mut().zip(&e).for_each(|(y, e)| axpy(y, 1.0, e));
            product = e;
        }
        let first = |row: &[f64; BLOCK]| std::array::from_fn(|c| row[c]);
        (first(&values), y.iter().map(first).collect())
    }

    /// The same for small graphs, from a dense eigendecomposition.
    fn lowest_of_all(&self) -> ([f64; WIDTH], Vec<[f64; WIDTH]>) {
        let nodes = self.level.nodes();
        let mut minus = vec![0.0; nodes * nodes];
        for node in 0..nodes {
            minus[node * nodes + node] = -self.degree[node];
            let row = &mut minus[node * nodes..(node + 1) * nodes];
            self.level.each_neighbor(node as u32, |to, weight| row[to as usize] = weight as f64);
        }
        let (values, vectors) = eigen(&minus, nodes);
        let value = |c: usize| if c + 1 < nodes { -values[c + 1] } else { 0.0 };
        let entry = |v: usize, c: usize| if c + 1 < nodes { vectors[v * nodes + c + 1] } else { 0.0 };
        let row = |v: usize| std::array::from_fn(|c| entry(v, c));
        (std::array::from_fn(value), (0..nodes).map(row).collect())
    }

    /// Solves LE = R approximately by conjugate gradients, each column separately.
    fn solve<const W: usize>(&self, mut r: Vec<[f64; W]>) -> Vec<[f64; W]> {
        let scaled = |node: usize, r: &[f64; W]| r.map(|r| r / self.degree[node]);
        let length =
            |r: &[[f64; W]]| sums(r, |r, node| std::array::from_fn(|c| r[c] * r[c] / self.degree[node]));
        let mut e = vec![[0.0; W]; r.len()];
        let mut p: Vec<[f64; W]> = r.iter().enumerate().map(|(node, r)| scaled(node, r)).collect();
        let mut q = vec![[0.0; W]; r.len()];
        let start = length(&r);
        let mut now = start;
        for _ in 0..STEPS {
            self.times(&p, &mut q);
            let curve = sums(&p, |p, node| std::array::from_fn(|c| p[c] * q[node][c]));
            let alpha: [f64; W] =
                std::array::from_fn(|c| if curve[c] > 0.0 { now[c] / curve[c] } else { 0.0 });
            e.par_iter_mut().zip(&p).for_each(|(e, p)| (0..W).for_each(|c| e[c] += alpha[c] * p[c]));
            r.par_iter_mut().zip(&q).for_each(|(r, q)| (0..W).for_each(|c| r[c] -= alpha[c] * q[c]));
            let last = std::mem::replace(&mut now, length(&r));
            if (0..W).all(|c| now[c] <= GAIN * start[c]) {
                break;
            }
            let beta: [f64; W] = std::array::from_fn(|c| if last[c] > 0.0 { now[c] / last[c] } else { 0.0 });
            p.par_iter_mut().zip(&r).enumerate().for_each(|(node, (p, r))| {
                let z = scaled(node, r);
                (0..W).for_each(|c| p[c] = z[c] + beta[c] * p[c]);
            });
        }
        e
    }
}

/// y ← y + ax.
#[inline]
pub(in crate::partition) fn axpy<const W: usize>(y: &mut [f64; W], a: f64, x: &[f64; W]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// XᵀY.
pub(in crate::partition) fn gram<const W: usize>(x: &[[f64; W]], y: &[[f64; W]]) -> Vec<f64> {
    let rows = x.len().div_ceil(64).max(ROWS);
    let partial: Vec<Vec<f64>> = x
        .par_chunks(rows)
        .zip(y.par_chunks(rows))
        .map(|(x, y)| {
            let mut sum = [[0.0; W]; W];
            for (x, y) in x.iter().zip(y) {
                (0..W).for_each(|c| axpy(&mut sum[c], x[c], y));
            }
            sum.concat()
        })
        .collect();
    let mut total = vec![0.0; W * W];
    partial.iter().for_each(|part| total.iter_mut().zip(part).for_each(|(total, part)| *total += part));
    total
}

/// A row vector times the matrix C.
#[inline]
pub(in crate::partition) fn turned<const W: usize>(row: &[f64; W], c: &[f64]) -> [f64; W] {
    let mut out = [0.0; W];
    for (&x, c) in row.iter().zip(c.chunks_exact(W)) {
        out.iter_mut().zip(c).for_each(|(out, c)| *out += x * c);
    }
    out
}

/// The sum of `term(row, node)` over all rows.
fn sums<const W: usize>(rows: &[[f64; W]], term: impl Fn(&[f64; W], usize) -> [f64; W] + Sync) -> [f64; W] {
    let partial: Vec<[f64; W]> = rows
        .par_chunks(ROWS)
        .enumerate()
        .map(|(block, rows)| {
            let mut sum = [0.0; W];
            rows.iter().enumerate().for_each(|(at, row)| axpy(&mut sum, 1.0, &term(row, block * ROWS + at)));
            sum
        })
        .collect();
    let mut total = [0.0; W];
    partial.iter().for_each(|part| axpy(&mut total, 1.0, part));
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::partition::coarsening::testing::{chords, full, laplacian, levels};

    #[test]
    fn products_match_the_dense_matrix() {
        let graph = chords(90, 200, 4);
        for level in levels(&graph) {
            let l = laplacian(&full(&level));
            let x: Vec<[f64; 3]> = random(level.nodes(), 1);
            let mut product = vec![[0.0; 3]; x.len()];
            Laplacian::of(&level).times(&x, &mut product);
            for (row, got) in l.iter().zip(&product) {
                for c in 0..3 {
                    let want: f64 = row.iter().zip(&x).map(|(l, x)| l * x[c]).sum();
                    assert!((got[c] - want).abs() < 1e-9);
                }
            }
        }
    }

    /// Compares the eigenvalues with those of the dense matrix, and checks every residual.
    fn check(graph: &Graph, tolerance: f64) {
        let [level, _] = levels(graph);
        let l = laplacian(&full(&level));
        let (values, u) = Laplacian::of(&level).lowest(3);
        let (all, _) = eigen(&l.concat(), l.len());
        for (c, &value) in values.iter().enumerate().take(l.len() - 1) {
            let want = all[l.len() - 2 - c];
            assert!((value - want).abs() < tolerance * want, "{c}: {value} for {want}");
            let off = |row: &Vec<f64>, at: usize| {
                let product: f64 = row.iter().zip(&u).map(|(l, u)| l * u[c]).sum();
                (product - value * u[at][c]).powi(2)
            };
            let residual = l.iter().enumerate().map(|(at, row)| off(row, at)).sum::<f64>().sqrt();
            assert!(residual < 1.01 * TOLERANCE * value, "{c}: {residual} beside {value}");
            assert!(
                u.iter().map(|u| u[c]).sum::<f64>().abs() < 1e-6,
                "not orthogonal to the constant vector"
            );
        }
        for (at, got) in gram(&u, &u).into_iter().enumerate() {
            let one = at % (WIDTH + 1) == 0 && at / WIDTH + 1 < l.len();
            assert!((got - one as u8 as f64).abs() < 1e-6);
        }
    }

    #[test]
    fn the_lowest_eigenvectors_match_the_dense_matrix() {
        check(&chords(300, 300, 1), 1e-3);
        // Clustered eigenvalues.
        check(&chords(150, 2000, 2), TOLERANCE);
        // The dense solver.
        check(&chords(40, 30, 3), 1e-9);
        check(&chords(5, 3, 3), 1e-9);
    }

    #[test]
    fn the_lowest_eigenvectors_are_the_same_to_the_bit_for_any_number_of_threads() {
        let graph = chords(9000, 9000, 1);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Laplacian::of(&levels(&graph)[0]).lowest(0))
        };
        let one = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
    }

    #[test]
    fn hubs_and_multiple_eigenvalues_converge() {
        // A star with a path at each of its 60 ends.
        let edges: Vec<(u32, u32)> =
            (0..60).flat_map(|i| [(0, 1 + 3 * i), (1 + 3 * i, 2 + 3 * i), (2 + 3 * i, 3 + 3 * i)]).collect();
        check(&Graph::from_edges(181, &edges).unwrap(), 1e-3);
        let clique: Vec<(u32, u32)> = (0..80).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        check(&Graph::from_edges(80, &clique).unwrap(), 1e-3);
    }
}
