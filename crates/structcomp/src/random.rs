//! Seeded random streams, one a stage, so that changing one stage does not reshuffle the next.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The generator behind every random choice: a fixed algorithm, the same on every machine.
pub type Rng = Xoshiro256PlusPlus;

/// The user's seed, from which every stage draws its own stream by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream of the stage called `name`.
    pub fn stream(self, name: &str) -> Rng {
        Rng::seed_from_u64(self.key(name))
    }

    /// The stream of item `index` of a stage that works in parallel.
    pub fn stream_at(self, name: &str, index: u64) -> Rng {
        Rng::seed_from_u64(mix(self.key(name) ^ mix(index)))
    }

    /// A number that stands for this seed and the stage called `name`.
    pub fn key(self, name: &str) -> u64 {
        xxh3_64_with_seed(name.as_bytes(), self.0)
    }
}

/// Spreads a counter over all 64 bits (the finaliser of SplitMix64).
pub(crate) fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number that is Gaussian but for its 65 steps: the ones among 64 fair bits, less their mean,
/// over their deviation. Unlike the usual ways this takes no logarithm, so it is the same on every
/// machine.
pub(crate) fn normal(rng: &mut Rng) -> f32 {
    (rng.random::<u64>().count_ones() as f32 - 32.0) / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_name_index_and_seed() {
        let first = |mut rng: Rng| rng.random::<u64>();
        assert_eq!(first(Seed(7).stream("split")), first(Seed(7).stream("split")));
        assert_ne!(first(Seed(7).stream("split")), first(Seed(7).stream("noise")));
        assert_ne!(first(Seed(7).stream("split")), first(Seed(8).stream("split")));
        assert_ne!(first(Seed(7).stream_at("split", 0)), first(Seed(7).stream_at("split", 1)));
    }
}
