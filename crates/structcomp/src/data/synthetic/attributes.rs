//! Features and labels of synthetic graphs. Each node has its own random stream.

use super::{FeatureKind, Synthetic, blocks::BlockPosition, permutation::Permutation};
use crate::Seed;
use crate::random::{Rng, mix};
use rand::RngExt;

/// How the features of a node depend on its class and group.
pub(super) enum FeatureModel {
    Words(Words),
    Gaussian(Gaussian),
}

/// Bags of words: each topic has its own order of the whole vocabulary, and words are drawn by rank.
pub(super) struct Words {
    /// Cumulative weight of the ranks (Zipf's law).
    cumulative: Vec<f64>,
    per_node: f64,
    noise: f64,
    group_signal: f64,
    looks: Looks,
    seed: Seed,
}

/// Vectors: class mean plus group mean plus noise, with total variance 1.
pub(super) struct Gaussian {
    pub(super) width: usize,
    class_means: Vec<f32>,
    group_means: Vec<f32>,
    noise: f32,
    looks: Looks,
    seed: Seed,
}

/// The class that the features of a node suggest. In a share of the communities it is a wrong one.
///
/// All nodes of such a community agree on it, so averaging over neighbours does not help.
struct Looks {
    overlap: f64,
    classes: u64,
    key: u64,
}

impl Looks {
    fn new(model: &Synthetic, seed: Seed) -> Self {
        Self { overlap: model.overlap, classes: model.classes as u64, key: seed.key("overlap") }
    }

    fn class(&self, place: &BlockPosition) -> u64 {
        let own = place.label as u64;
        let [_, _, _, community] = &place.blocks;
        let drawn = mix(self.key ^ mix(community.start));
        if self.classes < 2 || (drawn >> 32) as f64 >= self.overlap * (1u64 << 32) as f64 {
            return own;
        }
        (own + 1 + (drawn & 0xffff_ffff) % (self.classes - 1)) % self.classes
    }
}

impl FeatureModel {
    pub(super) fn new(model: &Synthetic, groups: u64, seed: Seed) -> Self {
        match model.features {
            FeatureKind::Words { vocabulary, per_node } => {
                Self::Words(Words::new(model, vocabulary, per_node, seed))
            }
            FeatureKind::Gaussian { width } => Self::Gaussian(Gaussian::new(model, width, groups, seed)),
        }
    }
}

impl Words {
    fn new(model: &Synthetic, vocabulary: usize, per_node: f64, seed: Seed) -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=vocabulary).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        let (noise, group_signal) = (model.feature_noise, model.group_signal);
        Self {
            cumulative: cumulative.collect(),
            per_node,
            noise,
            group_signal,
            looks: Looks::new(model, seed),
            seed,
        }
    }

    /// The words of a node, ascending.
    pub(super) fn row(&self, node: u64, place: &BlockPosition) -> Vec<u32> {
        let mut rng = self.seed.stream_at("features", node);
        let vocabulary = self.cumulative.len();
        let topic = |name: &str, number: u64| {
            Permutation::new(vocabulary as u64, mix(self.seed.key(name) ^ mix(number)))
        };
        let topics = [
            topic("common", 0),
            topic("group topic", place.group),
            topic("class topic", self.looks.class(place)),
        ];
        let wanted = (self.per_node * (0.5 + rng.random::<f64>()) + rng.random::<f64>()) as usize;
        let wanted = wanted.clamp(1, vocabulary);
        let mut words = Vec::with_capacity(wanted);
        // The bound is for small vocabularies, which may not have enough words.
        for _ in 0..8 * wanted {
            let word = topics[self.topic(&mut rng)].forward(self.rank(&mut rng)) as u32;
            if let Err(at) = words.binary_search(&word) {
                words.insert(at, word);
            }
            if words.len() == wanted {
                break;
            }
        }
        words
    }

    fn topic(&self, rng: &mut Rng) -> usize {
        if rng.random::<f64>() < self.noise {
            return 0;
        }
        if rng.random::<f64>() < self.group_signal { 1 } else { 2 }
    }

    fn rank(&self, rng: &mut Rng) -> u64 {
        let total = self.cumulative[self.cumulative.len() - 1];
        let drawn = rng.random::<f64>() * total;
        self.cumulative.partition_point(|&sum| sum <= drawn).min(self.cumulative.len() - 1) as u64
    }
}

impl Gaussian {
    fn new(model: &Synthetic, width: usize, groups: u64, seed: Seed) -> Self {
        let means = |name: &str, count: usize, share: f64| -> Vec<f32> {
            let deviation = ((1.0 - model.feature_noise) * share).sqrt() as f32;
            let mean = |at: usize| {
                let mut rng = seed.stream_at(name, at as u64);
                std::array::from_fn::<f32, 64, _>(|_| deviation * normal(&mut rng))
            };
            let values = count * width;
            (0..values.div_ceil(64)).flat_map(mean).take(values).collect()
        };
        Self {
            width,
            class_means: means("class means", model.classes, 1.0 - model.group_signal),
            group_means: means("group means", groups as usize, model.group_signal),
            noise: model.feature_noise.sqrt() as f32,
            looks: Looks::new(model, seed),
            seed,
        }
    }

    pub(super) fn push_row(&self, node: u64, place: &BlockPosition, out: &mut Vec<f32>) {
        let mut rng = self.seed.stream_at("features", node);
        let class = &self.class_means[self.looks.class(place) as usize * self.width..][..self.width];
        let group = &self.group_means[place.group as usize * self.width..][..self.width];
        out.extend(
            class.iter().zip(group).map(|(class, group)| class + group + self.noise * normal(&mut rng)),
        );
    }
}

/// An approximately standard normal number: a sum of four uniform ones, which needs no function that
/// differs between machines. Its absolute value is below 3.47.
fn normal(rng: &mut Rng) -> f32 {
    let bits: u64 = rng.random();
    let pairs = (bits & 0x0000_ffff_0000_ffff) + (bits >> 16 & 0x0000_ffff_0000_ffff);
    let sum = (pairs & 0xffff_ffff) + (pairs >> 32);
    // Four numbers in 0..=65535 have mean 131070 and variance 4 (2^32 - 1) / 12.
    (sum as f32 - 131_070.0) * (1.0 / 37_837.227)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(label: u32) -> BlockPosition {
        BlockPosition { label, group: label as u64, blocks: [0..9, 0..9, 0..9, 0..9] }
    }

    #[test]
    fn noise_has_mean_0_and_deviation_1() {
        let mut rng = Seed(0).stream("test");
        let numbers: Vec<f64> = (0..100_000).map(|_| normal(&mut rng) as f64).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let square = numbers.iter().map(|x| x * x).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.015 && (square - 1.0).abs() < 0.02, "{mean} {square}");
        let within = numbers.iter().filter(|x| x.abs() < 1.0).count();
        assert!((67_000..=69_500).contains(&within), "68.3 % of a normal distribution, here {within}");
    }

    #[test]
    fn rows_of_words_are_sorted_and_have_the_requested_mean_length() {
        let model = Synthetic { feature_noise: 0.5, ..Synthetic::default() };
        let words = Words::new(&model, 200, 12.0, Seed(1));
        let rows: Vec<Vec<u32>> = (0..2000).map(|node| words.row(node, &place(0))).collect();
        for row in &rows {
            assert!(row.windows(2).all(|pair| pair[0] < pair[1]) && row.iter().all(|&word| word < 200));
            assert!((6..=18).contains(&row.len()));
        }
        let mean = rows.iter().map(Vec::len).sum::<usize>() as f64 / 2000.0;
        assert!((mean - 12.0).abs() < 0.3, "{mean}");
        assert_eq!(Words::new(&model, 1, 1.0, Seed(1)).row(0, &place(0)), [0]);
    }

    #[test]
    fn without_noise_nodes_of_a_class_share_words_and_classes_do_not() {
        let model = Synthetic { feature_noise: 0.0, group_signal: 0.0, overlap: 0.0, ..Synthetic::default() };
        let words = Words::new(&model, 2000, 10.0, Seed(1));
        let shared = |a: u32, b: u32| -> usize {
            let rows = |node: u64| (words.row(2 * node, &place(a)), words.row(2 * node + 1, &place(b)));
            (0..200).map(rows).map(|(x, y)| x.iter().filter(|word| y.contains(word)).count()).sum()
        };
        assert!(shared(0, 0) > 10 * shared(0, 1).max(1), "{} {}", shared(0, 0), shared(0, 1));
    }

    #[test]
    fn the_requested_share_of_communities_looks_like_another_class() {
        let looks = Looks::new(&Synthetic { overlap: 0.25, ..Synthetic::default() }, Seed(3));
        let at = |start| BlockPosition {
            label: 4,
            group: 0,
            blocks: [0..9999, 0..9999, 0..9999, start..start + 1],
        };
        let seen: Vec<u64> = (0..4000).map(|start| looks.class(&at(start))).collect();
        let own = seen.iter().filter(|&&class| class == 4).count();
        assert!((2880..=3120).contains(&own), "{own} of 3000");
        assert!((0..7).all(|class| seen.contains(&class)) && seen.iter().all(|&class| class < 7));
        let one = Looks::new(&Synthetic { overlap: 1.0, classes: 1, ..Synthetic::default() }, Seed(3));
        assert_eq!(one.class(&place(0)), 0);
    }

    #[test]
    fn vectors_of_a_class_have_its_mean() {
        let model = Synthetic { feature_noise: 0.5, group_signal: 0.0, overlap: 0.0, ..Synthetic::default() };
        let gaussian = Gaussian::new(&model, 3, 7, Seed(1));
        let mut values = Vec::new();
        (0..4000).for_each(|node| gaussian.push_row(node, &place(2), &mut values));
        for column in 0..3 {
            let mean = values.iter().skip(column).step_by(3).sum::<f32>() / 4000.0;
            assert!((mean - gaussian.class_means[2 * 3 + column]).abs() < 0.05);
        }
    }
}
