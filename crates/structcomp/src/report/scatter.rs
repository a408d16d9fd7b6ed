//! An embedding in two dimensions: its rows along the two directions in which they differ most.

use super::WIDTH;
use crate::matrix::eigen::eigen;
use crate::matrix::{add_gram, mean_and_variance};
use crate::partition::class_color;
use crate::svg::{Anchor, INK, Svg};
use crate::{Dense, Seed};
use rand::seq::index;

/// More points would only hide each other, and make the page large.
const MOST: usize = 2000;
/// The colour of points without a class.
pub(super) const NO_GROUP: &str = "#b4b4b4";
const HEIGHT: f64 = 500.0;
const LEFT: f64 = 36.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 464.0;

/// Some rows of an embedding, projected.
pub(super) struct Scatter {
    /// How many rows the embedding has.
    pub(super) rows: usize,
    /// The rows drawn, and where they lie.
    points: Vec<(u32, [f64; 2])>,
    /// The share of the variance along each direction.
    shares: [f64; 2],
}

impl Scatter {
    /// Projects the rows, or as many as can be seen.
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
        let values: Vec<f32> = chosen.iter().flat_map(|&row| embedding.row(row)).copied().collect();
        let (mean, variance) = mean_and_variance(&values, cols);
        let x: Vec<f64> =
            values.iter().enumerate().map(|(at, &value)| value as f64 - mean[at % cols]).collect();
        let mut covariance = vec![0.0; cols * cols];
        add_gram(&mut covariance, &x, cols);
        let total = chosen.len() as f64 * variance.iter().sum::<f64>();
        let directions = leading(&covariance, cols);
        let at = |row: &[f64]| {
            [0, 1].map(|k| directions.get(k).map_or(0.0, |(_, direction)| inner(row, direction)))
        };
        let points = chosen.iter().zip(x.chunks_exact(cols)).map(|(&row, x)| (row as u32, at(x))).collect();
        let share = |k: usize| match directions.get(k) {
            Some((value, _)) if total > 0.0 => value / total,
            _ => 0.0,
        };
        Some(Self { rows, points, shares: [share(0), share(1)] })
    }

    /// The picture, each row in the colour of its group.
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
            svg.line(from, to, "#e6e6e6", 1.0);
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
            true => format!("All {} nodes, along the two principal components", self.rows),
            false => format!(
                "{} of {} nodes, drawn at random, along the two principal components",
                self.points.len(),
                self.rows
            ),
        };
        if outside > 0 {
            about += &format!("; {outside} lie outside the frame");
        }
        svg.finish() + &format!("<p class=\"faint\">{about}.</p>\n")
    }
}

/// The range of all but the outermost half percent on either side, with room around it.
fn range(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let end = values.len() - 1;
    let (low, high) = (values[end / 200], values[end - end / 200]);
    // Where all values are the same they lie in the middle.
    let room = (0.06 * (high - low)).max(1e-6 * high.abs()).max(1e-12);
    (low - room, high + room)
}

/// The two largest eigenvalues of a covariance matrix, or the only one, with their vectors.
fn leading(covariance: &[f64], size: usize) -> Vec<(f64, Vec<f64>)> {
    let (values, vectors) = eigen(covariance, size);
    let direction = |k: usize| {
        let mut direction: Vec<f64> = vectors.iter().skip(k).step_by(size).copied().collect();
        // The entry of largest magnitude is positive, so that the picture does not flip by rounding.
        let largest =
            direction.iter().copied().fold(0.0, |a: f64, b: f64| if b.abs() > a.abs() { b } else { a });
        direction.iter_mut().for_each(|value| *value *= 1f64.copysign(largest));
        direction
    };
    (0..size.min(2)).map(|k| (values[k].max(0.0), direction(k))).collect()
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// Rows along (3, 4) / 5 with deviation 10, across it with deviation 1, and nothing in the third.
    fn ellipse(rows: usize) -> Dense {
        let mut rng = Seed(1).stream("ellipse");
        let values = (0..rows).flat_map(|_| {
            let (a, b) = (10.0 * normal(&mut rng), normal(&mut rng));
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
