//! An embedding in two dimensions: its first two principal components.

use super::WIDTH;
use crate::plot::{Anchor, GRID, INK, Svg, class_color};
use faer::{Mat, Side};
use rand::{RngExt, seq::index};
use structcomp::{Dense, Seed};

/// More points would only hide each other, and make the page large.
const MOST: usize = 2000;
/// More directions than needed, so that the first two converge quickly.
const BLOCK: usize = 8;
const ITERATIONS: usize = 60;
/// Relative change of the eigenvalues at convergence.
const TOLERANCE: f64 = 1e-9;
/// The color of points without a class.
pub(super) const NO_GROUP: &str = "#b4b4b4";
const HEIGHT: f64 = 500.0;
const LEFT: f64 = 36.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 464.0;

/// Some rows of an embedding, projected.
pub(super) struct Scatter {
    /// The number of rows of the embedding.
    pub(super) rows: usize,
    /// The sampled rows and their coordinates.
    points: Vec<(u32, [f64; 2])>,
    /// The fraction of the variance along each direction.
    shares: [f64; 2],
}

impl Scatter {
    /// Projects the rows, or a sample of them.
    pub(super) fn of(embedding: &Dense) -> Option<Self> {
        let (rows, cols) = (embedding.rows(), embedding.cols());
        if rows == 0 || cols == 0 {
            return None;
        }
        let mut chosen: Vec<usize> = match rows <= MOST {
            true => (0..rows).collect(),
            false => index::sample(&mut Seed(0).stream("picture"), rows, MOST).into_vec(),
        };
        chosen.sort_unstable();
        let value = |row: usize, col: usize| embedding.row(row)[col] as f64;
        let mean = |col: usize| chosen.iter().map(|&row| value(row, col)).sum::<f64>() / chosen.len() as f64;
        let means: Vec<f64> = (0..cols).map(mean).collect();
        let x = Mat::from_fn(chosen.len(), cols, |at, col| value(chosen[at], col) - means[col]);
        let total = x.squared_norm_l2();
        let directions = leading(&x);
        let along = |at: usize, direction: &[f64]| (0..cols).map(|col| x[(at, col)] * direction[col]).sum();
        let place =
            |at: usize| [0, 1].map(|k| directions.get(k).map_or(0.0, |(_, direction)| along(at, direction)));
        let points = chosen.iter().enumerate().map(|(at, &row)| (row as u32, place(at))).collect();
        let share = |k: usize| match directions.get(k) {
            Some((value, _)) if total > 0.0 => value / total,
            _ => 0.0,
        };
        Some(Self { rows, points, shares: [share(0), share(1)] })
    }

    /// The picture, each row in the color of its group.
    pub(super) fn draw(&self, group: impl Fn(u32) -> Option<usize>) -> String {
        let mut svg = Svg::inline(WIDTH, HEIGHT, "the embedding in two dimensions");
        let right = WIDTH - 12.0;
        let ranges = [0, 1].map(|k| range(self.points.iter().map(|point| point.1[k]).collect()));
        let inside = |at: &[f64; 2]| (0..2).all(|k| (ranges[k].0..=ranges[k].1).contains(&at[k]));
        let share = |k: usize, at: &[f64; 2]| (at[k] - ranges[k].0) / (ranges[k].1 - ranges[k].0);
        for (from, to) in [
            ((LEFT, TOP), (right, TOP)),
            ((LEFT, BOTTOM), (right, BOTTOM)),
            ((LEFT, TOP), (LEFT, BOTTOM)),
            ((right, TOP), (right, BOTTOM)),
        ] {
            svg.line(from, to, GRID, 1.0);
        }
        for (node, at) in self.points.iter().filter(|(_, at)| inside(at)) {
            let place = (LEFT + (right - LEFT) * share(0, at), BOTTOM - (BOTTOM - TOP) * share(1, at));
            svg.dot(place, 2.4, group(*node).map_or(NO_GROUP, class_color));
        }
        let axis = |name: &str, k: usize| {
            format!("{name} component, {:.1} % of the variance", 100.0 * self.shares[k])
        };
        svg.label(((LEFT + right) / 2.0, BOTTOM + 24.0), 14.0, INK, Anchor::Middle, &axis("first", 0));
        svg.upright((20.0, (TOP + BOTTOM) / 2.0), 14.0, INK, &axis("second", 1));
        let outside = self.points.iter().filter(|(_, at)| !inside(at)).count();
        let mut about = match self.points.len() == self.rows {
            true => format!("All {} nodes along the first two principal components", self.rows),
            false => format!(
                "A random sample of {} of {} nodes along the first two principal components",
                self.points.len(),
                self.rows
            ),
        };
        if outside > 0 {
            about += &format!("; {outside} are outside of the frame");
        }
        svg.finish() + &format!("<p class=\"faint\">{about}.</p>\n")
    }
}

/// The range without the outermost half percent on either side, with a margin.
fn range(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let end = values.len() - 1;
    let (low, high) = (values[end / 200], values[end - end / 200]);
    // Equal values are in the middle.
    let room = (0.06 * (high - low)).max(1e-6 * high.abs()).max(1e-12);
    (low - room, high + room)
}

/// The leading two eigenvectors of XᵀX and their eigenvalues, for centered rows, by subspace iteration.
fn leading(x: &Mat<f64>) -> Vec<(f64, Vec<f64>)> {
    let mut rng = Seed(0).stream("directions");
    let width = BLOCK.min(x.ncols());
    let mut block = Mat::from_fn(x.ncols(), width, |_, _| rng.random_range(-1.0..1.0));
    let mut eigenvalues = vec![0.0; width];
    for _ in 0..ITERATIONS {
        let basis = block.qr().compute_thin_Q();
        let image = x * &basis;
        let Ok(eigen) = (image.transpose() * &image).self_adjoint_eigen(Side::Lower) else { break };
        // Eigenvalues come in ascending order.
        let values: Vec<f64> = (0..width).rev().map(|k| eigen.S()[k]).collect();
        block = &basis * eigen.U();
        let before = std::mem::replace(&mut eigenvalues, values);
        let converged = |k: usize| (eigenvalues[k] - before[k]).abs() <= TOLERANCE * eigenvalues[k];
        if (0..width.min(2)).all(converged) {
            break;
        }
        block = x.transpose() * (x * &block);
    }
    let direction = |k: usize| {
        let direction: Vec<f64> = block.col(width - 1 - k).iter().copied().collect();
        // The larger side is positive, so that rounding does not flip the picture.
        let largest =
            direction.iter().copied().fold(0.0, |a: f64, b: f64| if b.abs() > a.abs() { b } else { a });
        direction.into_iter().map(|value| value * 1f64.copysign(largest)).collect()
    };
    (0..width.min(2)).map(|k| (eigenvalues[k].max(0.0), direction(k))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows along (3, 4) / 5 with deviation 10, across it with deviation 1, and nothing in the third.
    fn ellipse(rows: usize) -> Dense {
        let mut rng = Seed(1).stream("ellipse");
        let values = (0..rows).flat_map(|_| {
            let mut unit = || rng.random_range(-1.0..1.0f32) * 3f32.sqrt();
            let (a, b) = (10.0 * unit(), unit());
            [7.0 + 0.6 * a - 0.8 * b, 0.8 * a + 0.6 * b, 2.0]
        });
        Dense::new(rows, 3, values.collect::<Vec<f32>>()).unwrap()
    }

    #[test]
    fn the_directions_of_an_ellipse_are_found() {
        let scatter = Scatter::of(&ellipse(1500)).unwrap();
        assert!((scatter.shares[0] - 100.0 / 101.0).abs() < 0.003, "{:?}", scatter.shares);
        assert!((scatter.shares[0] + scatter.shares[1] - 1.0).abs() < 1e-9);
        let deviation =
            |k: usize| (scatter.points.iter().map(|(_, at)| at[k] * at[k]).sum::<f64>() / 1500.0).sqrt();
        assert!((deviation(0) - 10.0).abs() < 0.6 && (deviation(1) - 1.0).abs() < 0.06);
        let mean: f64 = scatter.points.iter().map(|(_, at)| at[0]).sum();
        assert!(mean.abs() < 1e-6);
    }

    #[test]
    fn large_embeddings_are_sampled_and_the_sample_is_the_same_each_time() {
        let large = ellipse(MOST + 500);
        let scatter = Scatter::of(&large).unwrap();
        assert_eq!((scatter.points.len(), scatter.rows), (MOST, MOST + 500));
        assert!(scatter.points.windows(2).all(|two| two[0].0 < two[1].0));
        assert_eq!(scatter.draw(|_| None), Scatter::of(&large).unwrap().draw(|_| None));
    }

    #[test]
    fn odd_embeddings_can_be_drawn() {
        let same = Dense::new(3, 2, vec![1.0; 6]).unwrap();
        let thin = Dense::new(2, 1, vec![-3e38, 3e38]).unwrap();
        let one = Dense::new(1, 20, vec![0.5; 20]).unwrap();
        for embedding in [same, thin, one] {
            let svg = Scatter::of(&embedding).unwrap().draw(|node| Some(node as usize));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert_eq!(svg.matches("<circle").count(), embedding.rows());
        }
        assert!(Scatter::of(&Dense::new(0, 4, vec![]).unwrap()).is_none());
    }
}
