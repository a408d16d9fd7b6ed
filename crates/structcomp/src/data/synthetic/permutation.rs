//! Permutations of `0..size` that are computed, not stored.

use crate::random::mix;

/// Enough rounds that all pairs of a range are about equally likely mates; small ranges need more.
const ROUNDS: usize = 5;
const SMALL_ROUNDS: usize = 7;
const SMALL_BITS: u32 = 9;

/// A pseudo-random permutation: an unbalanced Feistel network over the next power of two, applied
/// repeatedly until the value is in the range (cycle walking).
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    size: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; SMALL_ROUNDS],
    rounds: usize,
}

impl Permutation {
    pub(super) fn new(size: u64, key: u64) -> Self {
        let bits = if size < 2 { 0 } else { 64 - (size - 1).leading_zeros() };
        let low_bits = bits.div_ceil(2);
        let rounds = if bits < SMALL_BITS { SMALL_ROUNDS } else { ROUNDS };
        let mut keys = [0; SMALL_ROUNDS];
        (0..).zip(&mut keys[..rounds]).for_each(|(round, slot)| *slot = mix(key.wrapping_add(round)));
        Self { size, low_bits, low_mask: ones(low_bits), high_mask: ones(bits - low_bits), keys, rounds }
    }

    /// The image of `value`, which must be in the range.
    pub(super) fn forward(&self, mut value: u64) -> u64 {
        loop {
            value = self.scramble(value, 0..self.rounds);
            if value < self.size {
                return value;
            }
        }
    }

    /// The preimage of `value`, which must be in the range.
    pub(super) fn backward(&self, mut value: u64) -> u64 {
        loop {
            value = self.scramble(value, (0..self.rounds).rev());
            if value < self.size {
                return value;
            }
        }
    }

    /// The partner of `value` in a random perfect matching of the range; `None` for the value that an odd
    /// range leaves over.
    ///
    /// Before scrambling, mates differ only in the low half. The number of rounds is odd, so that the last
    /// one carries the difference into the high half.
    pub(super) fn mate(&self, value: u64) -> Option<u64> {
        let mate = self.forward(value) ^ 1;
        (mate < self.size).then(|| self.backward(mate))
    }

    /// Even rounds change one half by the other, odd rounds the reverse, so the same rounds in reverse
    /// order are the inverse.
    fn scramble(&self, value: u64, rounds: impl Iterator<Item = usize>) -> u64 {
        let (mut high, mut low) = (value >> self.low_bits, value & self.low_mask);
        for round in rounds {
            if round % 2 == 0 {
                high ^= fold(low, self.keys[round]) & self.high_mask;
            } else {
                low ^= fold(high, self.keys[round]) & self.low_mask;
            }
        }
        high << self.low_bits | low
    }
}

fn ones(bits: u32) -> u64 {
    (1u64 << bits) - 1
}

/// One wide multiplication by a factor that depends on the key: with a fixed factor, the images of
/// consecutive values would differ in the same way for every key.
fn fold(half: u64, key: u64) -> u64 {
    let wide = (half ^ key) as u128 * (key.rotate_left(32) | 1) as u128;
    ((wide >> 64) as u64 ^ wide as u64) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_hit_once_and_found_again() {
        for size in (1..70).chain([255, 256, 257, 1000, 4097]) {
            let permutation = Permutation::new(size, 7 * size);
            let mut seen = vec![false; size as usize];
            for value in 0..size {
                let image = permutation.forward(value);
                assert!(!std::mem::replace(&mut seen[image as usize], true), "{image} twice of {size}");
                assert_eq!(permutation.backward(image), value);
            }
        }
    }

    #[test]
    fn mates_are_mutual_and_an_odd_range_leaves_one() {
        for size in [2, 3, 64, 65, 1001] {
            let permutation = Permutation::new(size, 3);
            let single = (0..size).filter(|&value| permutation.mate(value).is_none()).count() as u64;
            assert_eq!(single, size % 2, "of {size}");
            for (value, mate) in (0..size).filter_map(|value| Some((value, permutation.mate(value)?))) {
                assert_eq!(permutation.mate(mate), Some(value));
                assert_ne!(mate, value);
            }
        }
        assert_eq!(Permutation::new(1, 3).mate(0), None);
    }

    #[test]
    fn mates_are_spread_evenly_over_the_range() {
        // Over many keys, the mate of a fixed value is uniformly distributed.
        for size in [16, 50, 300] {
            let mut hits = vec![0u32; size];
            let keys = 1000 * size as u64;
            let mate = |key| Permutation::new(size as u64, mix(key)).mate(5).map(|mate| mate as usize);
            (0..keys).filter_map(mate).for_each(|mate| hits[mate] += 1);
            assert_eq!(hits.remove(5), 0);
            let freedom = (size - 2) as f64;
            let expected = keys as f64 / (freedom + 1.0);
            let chi_square: f64 = hits.iter().map(|&h| (h as f64 - expected).powi(2) / expected).sum();
            // The standard deviation is sqrt(2 freedom).
            assert!(chi_square < freedom + 4.0 * (2.0 * freedom).sqrt(), "{chi_square} of {size} {hits:?}");
        }
    }
}
