//! K-means on an embedding, and how its clusters agree with the classes.

mod agreement;

pub use agreement::Agreement;

use super::rows;
use crate::random::Rng;
use crate::{Error, Features, Result, Seed};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Settings of k-means: k-means++ initialization, Lloyd's algorithm, and the best of several restarts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KMeans {
    /// Number of clusters.
    pub clusters: usize,
    /// Number of initializations.
    pub restarts: usize,
    /// Iterations of Lloyd's algorithm at most.
    pub max_iterations: usize,
}

/// The result of k-means.
#[derive(Clone, Debug, PartialEq)]
pub struct Clustering {
    /// The cluster of each row.
    pub of: Vec<u32>,
    /// The sum of squared distances of the rows to the mean of their cluster.
    pub inertia: f64,
}

impl Default for KMeans {
    fn default() -> Self {
        Self { clusters: 8, restarts: 10, max_iterations: 300 }
    }
}

impl KMeans {
    /// Clusters the rows of `x`. The same seed gives the same clusters for any number of threads.
    pub fn cluster(&self, x: &Features, seed: Seed) -> Result<Clustering> {
        let (clusters, rows) = (self.clusters, x.rows());
        if clusters == 0 || clusters > rows {
            return Err(Error::Input(format!("cannot make {clusters} clusters from {rows} rows")));
        }
        if self.restarts == 0 || self.max_iterations == 0 {
            return Err(Error::Input("k-means needs at least one restart and one iteration".into()));
        }
        let squares = squares(x);
        let start = |restart: usize| {
            let mut rng = seed.stream_at("k-means", restart as u64);
            let centres = spread_out(x, &squares, clusters, &mut rng);
            lloyd(x, &squares, centres, self.max_iterations)
        };
        // The first of equally good ones is kept.
        let best = (1..self.restarts).fold(start(0), |best, restart| {
            let next = start(restart);
            if next.inertia < best.inertia { next } else { best }
        });
        Ok(best)
    }
}

/// The squared length of each row.
fn squares(x: &Features) -> Vec<f64> {
    let square = |values: &[f32]| values.iter().map(|&x| (x as f64).powi(2)).sum();
    let of = |row: usize| match x {
        Features::Dense(x) => square(x.row(row)),
        Features::Sparse(x) => square(x.row(row).1),
    };
    (0..x.rows()).into_par_iter().map(of).collect()
}

struct Centre {
    place: Vec<f64>,
    square: f64,
}

impl Centre {
    fn new(place: Vec<f64>) -> Self {
        let square = rows::inner(&place, &place);
        Self { place, square }
    }

    fn at_row(x: &Features, row: usize) -> Self {
        let mut place = vec![0.0; x.cols()];
        rows::add_scaled(x, row, 1.0, &mut place);
        Self::new(place)
    }

    /// The squared distance to a row, which rounding must not make negative.
    fn distance(&self, x: &Features, squares: &[f64], row: usize) -> f64 {
        (squares[row] - 2.0 * rows::dot(x, row, &self.place) + self.square).max(0.0)
    }
}

/// k-means++: each centre is a row drawn with probability proportional to its squared distance from the nearest centre so far.
fn spread_out(x: &Features, squares: &[f64], clusters: usize, rng: &mut Rng) -> Vec<Centre> {
    let mut centres = vec![Centre::at_row(x, rng.random_range(0..x.rows()))];
    let mut nearest = vec![f64::INFINITY; x.rows()];
    while centres.len() < clusters {
        let last = &centres[centres.len() - 1];
        nearest.par_iter_mut().enumerate().for_each(|(row, nearest)| {
            *nearest = nearest.min(last.distance(x, squares, row));
        });
        let total: f64 = nearest.iter().sum();
        let mut left = rng.random::<f64>() * total;
        let drawn = nearest.iter().position(|distance| {
            left -= distance;
            left < 0.0
        });
        // If every row is a centre already, any row will do.
        let row = drawn.unwrap_or_else(|| rng.random_range(0..x.rows()));
        centres.push(Centre::at_row(x, row));
    }
    centres
}

/// Moves each centre to the mean of its rows until no row changes its cluster.
fn lloyd(x: &Features, squares: &[f64], mut centres: Vec<Centre>, max_iterations: usize) -> Clustering {
    let mut of = assign(x, squares, &centres);
    for _ in 0..max_iterations {
        centres = means(x, &of, centres.len());
        let next = assign(x, squares, &centres);
        if next == of {
            break;
        }
        of = next;
    }
    let centres = means(x, &of, centres.len());
    let distance = |row: usize| centres[of[row] as usize].distance(x, squares, row);
    let distances: Vec<f64> = (0..x.rows()).into_par_iter().map(distance).collect();
    Clustering { inertia: distances.iter().sum(), of }
}

/// The nearest centre of each row, the first of equally near ones. A centre without rows gets the row that is
/// farthest from its own centre, so that no cluster is empty.
fn assign(x: &Features, squares: &[f64], centres: &[Centre]) -> Vec<u32> {
    let nearest = |row: usize| {
        let mut best = (0, f64::INFINITY);
        for (cluster, centre) in (0..).zip(centres) {
            let distance = centre.distance(x, squares, row);
            if distance < best.1 {
                best = (cluster, distance);
            }
        }
        best
    };
    let (mut of, mut distance): (Vec<u32>, Vec<f64>) =
        (0..x.rows()).into_par_iter().with_min_len(64).map(nearest).unzip();
    let mut sizes = vec![0usize; centres.len()];
    of.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
    for empty in (0..centres.len()).filter(|&cluster| sizes[cluster] == 0).collect::<Vec<_>>() {
        let shared = (0..x.rows()).filter(|&row| sizes[of[row] as usize] > 1);
        let farthest = shared.reduce(|a, b| if distance[b] > distance[a] { b } else { a });
        if let Some(row) = farthest {
            sizes[of[row] as usize] -= 1;
            (of[row], distance[row], sizes[empty]) = (empty as u32, 0.0, 1);
        }
    }
    of
}

/// The mean of each cluster, from partial sums over blocks that do not depend on the number of threads.
fn means(x: &Features, of: &[u32], clusters: usize) -> Vec<Centre> {
    let (cols, block) = (x.cols(), of.len().div_ceil(64).max(1024));
    let partial: Vec<(Vec<f64>, Vec<f64>)> = of
        .par_chunks(block)
        .enumerate()
        .map(|(at, of)| {
            let (mut sums, mut sizes) = (vec![0.0; clusters * cols], vec![0.0; clusters]);
            for (row, &cluster) in (at * block..).zip(of) {
                let sum = &mut sums[cluster as usize * cols..][..cols];
                rows::add_scaled(x, row, 1.0, sum);
                sizes[cluster as usize] += 1.0;
            }
            (sums, sizes)
        })
        .collect();
    let mean = |cluster: usize| {
        let size: f64 = partial.iter().map(|(_, sizes)| sizes[cluster]).sum();
        let mut place = vec![0.0; cols];
        for (sums, _) in &partial {
            place.iter_mut().zip(&sums[cluster * cols..]).for_each(|(place, sum)| *place += sum / size);
        }
        Centre::new(place)
    };
    (0..clusters).into_par_iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Dense, random::normal};

    fn line(values: &[f32]) -> Features {
        Features::Dense(Dense::new(values.len(), 1, values.to_vec()).unwrap())
    }

    fn two(x: &Features) -> Clustering {
        KMeans { clusters: 2, ..KMeans::default() }.cluster(x, Seed(0)).unwrap()
    }

    #[test]
    fn two_groups_are_found_with_the_inertia_computed_by_hand() {
        // Means 1 and 11: 1 + 0 + 1 and 1 + 0 + 1.
        let found = two(&line(&[0.0, 1.0, 2.0, 10.0, 11.0, 12.0]));
        assert!((found.inertia - 4.0).abs() < 1e-12);
        let first = found.of[0];
        assert_eq!(
            found.of.iter().map(|&c| c == first).collect::<Vec<_>>(),
            [true, true, true, false, false, false]
        );
        let sparse = Csr::new(1, vec![0, 0, 1, 2, 3, 4, 5], vec![0; 5], vec![1.0, 2.0, 10.0, 11.0, 12.0]);
        assert_eq!(two(&Features::Sparse(sparse.unwrap())), found);
    }

    #[test]
    fn no_cluster_is_empty_even_where_rows_are_equal() {
        let kmeans = KMeans { clusters: 3, ..KMeans::default() };
        let found = kmeans.cluster(&line(&[5.0, 5.0, 5.0, 5.0]), Seed(1)).unwrap();
        let mut used = found.of.clone();
        used.sort_unstable();
        used.dedup();
        assert_eq!((used, found.inertia), (vec![0, 1, 2], 0.0));
        assert!(kmeans.cluster(&line(&[1.0, 2.0]), Seed(0)).is_err());
        assert!(KMeans { clusters: 0, ..kmeans }.cluster(&line(&[1.0]), Seed(0)).is_err());
    }

    #[test]
    fn initial_centres_lie_in_different_groups() {
        // 100 rows at 0 and one each at 1000 and -1000, which a uniform draw would miss.
        let mut values = vec![0.0; 100];
        values.extend([1000.0, -1000.0]);
        let x = line(&values);
        for seed in 0..20 {
            let centres = spread_out(&x, &squares(&x), 3, &mut Seed(seed).stream("test"));
            let mut places: Vec<i32> = centres.iter().map(|centre| centre.place[0] as i32).collect();
            places.sort_unstable();
            assert_eq!(places, [-1000, 0, 1000]);
        }
    }

    #[test]
    fn every_row_ends_nearest_to_the_mean_of_its_cluster() {
        let x = noise();
        let found = KMeans { clusters: 7, restarts: 1, max_iterations: 300 }.cluster(&x, Seed(3)).unwrap();
        let centres = means(&x, &found.of, 7);
        assert_eq!(assign(&x, &squares(&x), &centres), found.of);
        let total: f64 = (0..x.rows())
            .map(|row| {
                let (mut values, centre) = (vec![0.0; 5], &centres[found.of[row] as usize]);
                x.write_row(row, &mut values);
                values.iter().zip(&centre.place).map(|(&x, mean)| (x as f64 - mean).powi(2)).sum::<f64>()
            })
            .sum();
        assert!((total - found.inertia).abs() < 1e-8 * total);
    }

    #[test]
    fn restarts_help_and_threads_change_nothing() {
        let x = noise();
        let run = |threads, restarts| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let kmeans = KMeans { clusters: 7, restarts, ..KMeans::default() };
            pool.install(|| kmeans.cluster(&x, Seed(3)).unwrap())
        };
        let alone = run(1, 5);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads, 5) == alone));
        assert!(alone.inertia < run(1, 1).inertia);
    }

    fn noise() -> Features {
        let mut rng = Seed(9).stream("noise");
        let values: Vec<f32> = (0..3000 * 5).map(|_| normal(&mut rng)).collect();
        Features::Dense(Dense::new(3000, 5, values).unwrap())
    }
}
