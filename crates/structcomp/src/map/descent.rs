//! Gradient descent: neighbours attract each other, all rows repel each other.

use super::affinity::Affinity;
use super::quadtree::repulsion;
use crate::guard::still_wanted;
use crate::random::normal;
use crate::{Result, Seed};
use rayon::prelude::*;

/// At first, attraction counts this many times, so that groups find each other while all rows are close.
const EARLY: (usize, f32) = (250, 12.0);
/// Then so many steps follow.
const LATE: (usize, f32) = (500, 1.0);
/// The spread of the first places.
const START: f32 = 1e-4;
/// No step of a row is longer.
const LONGEST: f32 = 5.0;
/// Places closer than this look the same.
const VISIBLE: f32 = 1e-3;
/// How far apart rows are put that would share a place, and the angle from one to the next, in radians.
const APART: f32 = 0.05;
const GOLDEN: f32 = 2.399_963_2;

/// A row on its way.
struct Walker {
    step: [f32; 2],
    /// Steps grow along axes on which they keep their direction, and shrink on others (Jacobs, 1988).
    gain: [f32; 2],
}

/// The places where the rows come to rest, centred.
pub(super) fn descend(start: Vec<[f32; 2]>, affinity: &Affinity) -> Result<Vec<[f32; 2]>> {
    let mut places = beginning(start);
    let mut walkers: Vec<Walker> = places.iter().map(|_| Walker { step: [0.0; 2], gain: [1.0; 2] }).collect();
    for ((steps, exaggeration), momentum) in [(EARLY, 0.5), (LATE, 0.8)] {
        let rate = places.len() as f32 / exaggeration;
        for _ in 0..steps {
            still_wanted()?;
            let (push, sum) = repulsion(&places);
            let inverse = if sum > 0.0 { (1.0 / sum) as f32 } else { 0.0 };
            walkers.par_iter_mut().enumerate().for_each(|(row, walker)| {
                let pull = affinity.pull(row, &places);
                walker.take(
                    [0, 1].map(|axis| exaggeration * pull[axis] + inverse * push[row][axis]),
                    momentum,
                    rate,
                );
            });
            for (place, walker) in places.iter_mut().zip(&walkers) {
                (0..2).for_each(|axis| place[axis] += walker.step[axis]);
            }
        }
    }
    centre(&mut places);
    part(&mut places);
    Ok(places)
}

/// Rows that have come to rest in one place, up to what can be seen, are put around it, so that each can be pointed at.
fn part(places: &mut [[f32; 2]]) {
    let seen = |[x, y]: [f32; 2]| [x, y].map(|x| (x / VISIBLE).round() as i64);
    let mut order: Vec<([i64; 2], usize)> = places.iter().map(|&place| seen(place)).zip(0..).collect();
    order.sort_unstable();
    for together in order.chunk_by(|a, b| a.0 == b.0) {
        for (at, &(_, row)) in together.iter().enumerate() {
            let (radius, turn) = (APART * (at as f32).sqrt(), GOLDEN * at as f32);
            places[row][0] += radius * turn.cos();
            places[row][1] += radius * turn.sin();
        }
    }
}

impl Walker {
    fn take(&mut self, force: [f32; 2], momentum: f32, rate: f32) {
        for ((force, step), gain) in force.iter().zip(&mut self.step).zip(&mut self.gain) {
            let is_ahead = (*force > 0.0) == (*step > 0.0);
            *gain = if is_ahead { *gain + 0.2 } else { *gain * 0.8 }.max(0.01);
            *step = momentum * *step + rate * *gain * force;
        }
        let length = (self.step[0] * self.step[0] + self.step[1] * self.step[1]).sqrt();
        if length > LONGEST {
            self.step = self.step.map(|step| step * LONGEST / length);
        }
    }
}

/// Centred places of a small spread, no two of them the same.
fn beginning(mut places: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    centre(&mut places);
    let squares = places.iter().map(|place| (place[0] as f64).powi(2)).sum::<f64>();
    let spread = (squares / places.len().max(1) as f64).sqrt();
    let scale = if spread > 1e-6 { START / spread as f32 } else { 0.0 };
    let mut rng = Seed(0).stream("map");
    let mut near = |x: f32| x * scale + 0.01 * START * normal(&mut rng);
    places.into_iter().map(|[x, y]| [near(x), near(y)]).collect()
}

fn centre(places: &mut [[f32; 2]]) {
    for axis in 0..2 {
        let mean = places.iter().map(|place| place[axis] as f64).sum::<f64>() / places.len().max(1) as f64;
        places.iter_mut().for_each(|place| place[axis] = (place[axis] as f64 - mean) as f32);
    }
}
