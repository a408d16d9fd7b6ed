//! How much rows repel each other: far ones in groups, by the cells of a quadtree.

use crate::matrix::{Kernel, Unit};
use rayon::prelude::*;

/// A cell with so many rows is not divided.
const ROWS: usize = 12;
/// Nor is one of this depth: single precision hardly tells its places apart.
const DEPTH: u32 = 23;
/// Bits for the number of a row beside its code.
const ROW_BITS: u32 = 64 - 2 * DEPTH;
/// A cell stands for its rows if its side is shorter than this times the distance.
const ANGLE: f32 = 0.6;
/// Undivided cells per task; fixed, so that sums are the same for any number of threads.
const CELLS: usize = 32;
/// Forces that are computed side by side.
const LANES: usize = 16;

/// A square with all of its rows as one.
struct Square {
    centre: [f32; 2],
    rows: f32,
    /// The square of its side.
    area: f32,
    /// The cell that follows it and all cells in it.
    next: u32,
    /// Where its rows start and end, if it is not divided.
    undivided: Option<(u32, u32)>,
}

/// The repulsion of all rows: Σ (y − y') q² for each, with q = 1 / (1 + |y − y'|²), and Σ q over all pairs.
pub(super) fn repulsion(places: &[[f32; 2]]) -> (Vec<[f32; 2]>, f64) {
    let cells = Quadtree::of(places);
    let undivided: Vec<(u32, u32)> = cells.cells.iter().filter_map(|cell| cell.undivided).collect();
    let task = |sources: &mut Sources, undivided: &[(u32, u32)]| {
        let (mut forces, mut sum) = (Vec::new(), 0.0);
        for &(start, end) in undivided {
            let targets = &cells.places[start as usize..end as usize];
            cells.gather(targets, sources);
            Unit::widest().run(Repel { targets, sources, forces: &mut forces, sum: &mut sum });
        }
        (forces, sum)
    };
    let parts: Vec<(Vec<[f32; 2]>, f64)> =
        undivided.par_chunks(CELLS).map_init(Sources::default, task).collect();
    let mut forces = vec![[0.0; 2]; places.len()];
    let sorted = parts.iter().flat_map(|(forces, _)| forces);
    cells.order.iter().zip(sorted).for_each(|(&row, &force)| forces[row as usize] = force);
    (forces, parts.iter().map(|(_, sum)| sum).sum())
}

/// A quadtree: every cell comes before the cells in it.
struct Quadtree {
    cells: Vec<Square>,
    /// The rows in the order of the cells, and their places.
    order: Vec<u32>,
    places: Vec<[f32; 2]>,
    /// The position of each of them along a curve through all cells of the greatest depth.
    codes: Vec<u64>,
}

impl Quadtree {
    fn of(places: &[[f32; 2]]) -> Self {
        let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
        for place in places {
            for axis in 0..2 {
                (low[axis], high[axis]) = (low[axis].min(place[axis]), high[axis].max(place[axis]));
            }
        }
        let side = (high[0] - low[0]).max(high[1] - low[1]);
        let scale = if side > 0.0 { (1u32 << DEPTH) as f32 * 0.9999 / side } else { 0.0 };
        let code = |place: &[f32; 2]| {
            let [x, y] = [0, 1].map(|axis| spread(((place[axis] - low[axis]) * scale) as u64));
            x | y << 1
        };
        let mut sorted: Vec<u64> =
            places.par_iter().enumerate().map(|(row, place)| code(place) << ROW_BITS | row as u64).collect();
        sorted.par_sort_unstable();
        let order: Vec<u32> = sorted.iter().map(|&both| (both & ((1 << ROW_BITS) - 1)) as u32).collect();
        let mut cells = Self {
            cells: Vec::with_capacity(places.len() / 2),
            places: order.iter().map(|&row| places[row as usize]).collect(),
            codes: sorted.iter().map(|&both| both >> ROW_BITS).collect(),
            order,
        };
        cells.add(0, places.len(), 0, side);
        cells
    }

    /// Adds the cell of some of the rows and the cells in it, and returns the sum of its places.
    fn add(&mut self, start: usize, end: usize, depth: u32, side: f32) -> [f64; 2] {
        let own = self.cells.len();
        let is_divided = end - start > ROWS && depth < DEPTH;
        let undivided = (!is_divided).then_some((start as u32, end as u32));
        self.cells.push(Square {
            centre: [0.0; 2],
            rows: (end - start) as f32,
            area: side * side,
            next: 0,
            undivided,
        });
        let mut sum = [0f64; 2];
        let mut include = |part: [f64; 2]| sum = [sum[0] + part[0], sum[1] + part[1]];
        if is_divided {
            let shift = 2 * (DEPTH - 1 - depth);
            let mut from = start;
            for quarter in 0..4 {
                let within = |code: &u64| (code >> shift) & 3 <= quarter;
                let to = from + self.codes[from..end].partition_point(within);
                if to > from {
                    include(self.add(from, to, depth + 1, side / 2.0));
                }
                from = to;
            }
        } else {
            self.places[start..end].iter().for_each(|place| include(place.map(f64::from)));
        }
        let next = self.cells.len() as u32;
        let cell = &mut self.cells[own];
        (cell.centre, cell.next) = (sum.map(|sum| (sum / (end - start) as f64) as f32), next);
        sum
    }

    /// What repels some rows that are close to each other: cells that are far from all of them, and the rows of others.
    fn gather(&self, targets: &[[f32; 2]], sources: &mut Sources) {
        let axis = |axis: usize| {
            let ends = (f32::INFINITY, f32::NEG_INFINITY);
            targets.iter().fold(ends, |(low, high), place| (low.min(place[axis]), high.max(place[axis])))
        };
        let ends = [axis(0), axis(1)];
        sources.clear();
        let mut at = 0;
        while let Some(cell) = self.cells.get(at) {
            let apart = |axis: usize| {
                let ((low, high), centre) = (ends[axis], cell.centre[axis]);
                (low - centre).max(centre - high).max(0.0)
            };
            let (x, y) = (apart(0), apart(1));
            let is_far = cell.area < ANGLE * ANGLE * (x * x + y * y);
            match cell.undivided {
                // More rows than that are in the same place.
                Some((start, end)) if !is_far && (end - start) as usize <= ROWS => {
                    self.places[start as usize..end as usize]
                        .iter()
                        .for_each(|&place| sources.push(place, 1.0));
                }
                None if !is_far => {
                    at += 1;
                    continue;
                }
                _ => sources.push(cell.centre, cell.rows),
            }
            at = cell.next as usize;
        }
        sources.pad();
    }
}

/// The bits of a number, each followed by a zero.
fn spread(number: u64) -> u64 {
    const MASKS: [(u32, u64); 5] = [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ];
    let mut bits = number;
    for (by, mask) in MASKS {
        bits = (bits | bits << by) & mask;
    }
    bits
}

/// What repels: places, and how many rows are there.
#[derive(Default)]
struct Sources {
    x: Vec<f32>,
    y: Vec<f32>,
    rows: Vec<f32>,
}

impl Sources {
    fn clear(&mut self) {
        self.x.clear();
        self.y.clear();
        self.rows.clear();
    }

    fn push(&mut self, [x, y]: [f32; 2], rows: f32) {
        self.x.push(x);
        self.y.push(y);
        self.rows.push(rows);
    }

    fn pad(&mut self) {
        while !self.x.len().is_multiple_of(LANES) {
            self.push([0.0; 2], 0.0);
        }
    }
}

struct Repel<'a> {
    targets: &'a [[f32; 2]],
    sources: &'a Sources,
    forces: &'a mut Vec<[f32; 2]>,
    sum: &'a mut f64,
}

impl Kernel for Repel<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { targets, sources, forces, sum } = self;
        let (xs, ys) = (sources.x.as_chunks::<LANES>().0, sources.y.as_chunks::<LANES>().0);
        let rows = sources.rows.as_chunks::<LANES>().0;
        for &[x, y] in targets {
            let (mut near, mut along_x, mut along_y) = ([0f32; LANES], [0f32; LANES], [0f32; LANES]);
            for ((xs, ys), rows) in xs.iter().zip(ys).zip(rows) {
                for lane in 0..LANES {
                    let (dx, dy) = (x - xs[lane], y - ys[lane]);
                    let q = 1.0 / (1.0 + dx * dx + dy * dy);
                    let of_rows = rows[lane] * q;
                    near[lane] += of_rows;
                    along_x[lane] += of_rows * q * dx;
                    along_y[lane] += of_rows * q * dy;
                }
            }
            // Without the row itself.
            *sum += near.iter().map(|&near| near as f64).sum::<f64>() - 1.0;
            forces.push([along_x.iter().sum(), along_y.iter().sum()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::random::normal;

    fn exact(places: &[[f32; 2]]) -> (Vec<[f64; 2]>, f64) {
        let mut total = 0.0;
        let force = |(at, a): (usize, &[f32; 2])| {
            let mut force = [0f64; 2];
            for (_, b) in places.iter().enumerate().filter(|(other, _)| *other != at) {
                let [dx, dy] = [0, 1].map(|axis| (a[axis] - b[axis]) as f64);
                let q = 1.0 / (1.0 + dx * dx + dy * dy);
                total += q;
                force = [force[0] + q * q * dx, force[1] + q * q * dy];
            }
            force
        };
        (places.iter().enumerate().map(force).collect(), total)
    }

    #[test]
    fn forces_are_nearly_those_of_all_pairs() {
        let mut rng = Seed(1).stream("places");
        for spread in [1e-4, 1.0, 40.0] {
            let places: Vec<[f32; 2]> =
                (0..1500).map(|_| [spread * normal(&mut rng), spread * normal(&mut rng)]).collect();
            let ((got, sum), (want, total)) = (repulsion(&places), exact(&places));
            assert!((sum / total - 1.0).abs() < 0.01, "{spread}: {sum} {total}");
            let square = |v: [f64; 2]| v[0] * v[0] + v[1] * v[1];
            let apart = |(a, b): (&[f32; 2], &[f64; 2])| square([a[0] as f64 - b[0], a[1] as f64 - b[1]]);
            let error: f64 = got.iter().zip(&want).map(apart).sum();
            let size: f64 = want.iter().map(|&force| square(force)).sum();
            assert!((error / size).sqrt() < 0.03, "{spread}: {}", (error / size).sqrt());
        }
    }

    #[test]
    fn rows_in_one_place_do_not_take_time_squared() {
        let (forces, sum) = repulsion(&vec![[3.0, -1.0]; 100_000]);
        assert!(forces.iter().all(|&force| force == [0.0; 2]));
        assert!((sum / (1e5 * (1e5 - 1.0)) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn one_row_far_away_changes_little() {
        let mut places: Vec<[f32; 2]> = (0..400).map(|at| [(at % 20) as f32, (at / 20) as f32]).collect();
        places.push([1e6, 1e6]);
        let ((got, _), (want, _)) = (repulsion(&places), exact(&places));
        assert!(got.iter().zip(&want).all(|(a, b)| (a[0] as f64 - b[0]).abs() < 0.5), "{:?}", got[0]);
    }
}
