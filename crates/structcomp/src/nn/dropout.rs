//! Dropout: numbers left out at random in training, the others scaled up to make up for them.

use crate::Seed;
use crate::random::mix;
use rayon::prelude::*;

/// Numbers that one task goes over.
const TASK: usize = 1 << 13;

/// Leaves out the numbers of a layer that `noise` draws; of a gradient too, where the draw is the same.
pub(super) fn apply(values: &mut [f32], share: f64, noise: Seed, layer: usize) {
    let key = mix(noise.key("dropout") ^ mix(layer as u64));
    let scale = (1.0 / (1.0 - share)) as f32;
    // Left out where a number of 32 random bits is below this.
    let below = (share * (1u64 << 32) as f64) as u64;
    values.par_chunks_mut(TASK).enumerate().for_each(|(task, values)| {
        for (at, value) in (task * TASK..).zip(values) {
            let drawn = mix(key ^ at as u64) >> 32;
            *value = if drawn < below { 0.0 } else { *value * scale };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_left_out_and_the_mean_is_kept() {
        let draw = |seed: u64, layer: usize| {
            let mut values = vec![1f32; 40_000];
            apply(&mut values, 0.3, Seed(seed), layer);
            values
        };
        let values = draw(1, 0);
        let left_out = values.iter().filter(|&&value| value == 0.0).count();
        assert!((left_out as f64 / 40_000.0 - 0.3).abs() < 0.01, "{left_out}");
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / 40_000.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert_eq!(values, draw(1, 0));
        assert!(values != draw(2, 0) && values != draw(1, 1));
    }
}
