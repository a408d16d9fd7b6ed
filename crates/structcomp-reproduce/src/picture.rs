//! The picture of a partition: the sizes of the clusters and, if they are few, the edges between them.

use crate::plot::{Anchor, FAINT, Frame, INK, PALETTE, Svg, class_color, class_name, size_histogram};
use rand::RngExt;
use rayon::prelude::*;
use std::path::Path;
use structcomp::output::write_text;
use structcomp::{Error, Graph, Labels, Partition, Quality, Result, Seed};

/// The picture of a partition.
#[derive(Clone, Copy)]
pub struct Picture<'a> {
    /// The title above the figure.
    pub title: &'a str,
    /// The graph.
    pub graph: &'a Graph,
    /// The clusters of the graph.
    pub partition: &'a Partition,
    /// Their statistics.
    pub quality: &'a Quality,
    /// The labels, which color the clusters.
    pub labels: Option<&'a Labels>,
}

/// More clusters cannot be told apart.
const MOST_CLUSTERS: usize = 1000;
/// Only the heaviest edges between clusters are drawn.
const MOST_EDGES: usize = 6000;
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 580.0;
/// The horizontal ends of the histogram, and the vertical ends of both frames.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 380.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 500.0;

impl Picture<'_> {
    /// Writes it as an SVG file, atomically.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_text(path, &self.draw()?)
    }

    /// The figure as SVG text.
    pub fn draw(&self) -> Result<String> {
        if self.partition.nodes() != self.graph.nodes() || self.partition.clusters() == 0 {
            let (clustered, nodes) = (self.partition.nodes(), self.graph.nodes());
            return Err(Error::Input(format!(
                "a partition of {clustered} nodes does not fit a graph of {nodes}"
            )));
        }
        let mut svg = Svg::new(WIDTH, HEIGHT);
        svg.label((LEFT, 32.0), 19.0, INK, Anchor::Start, self.title);
        let Quality { cut_share, smallest, largest, gap, disconnected, .. } = self.quality;
        let few = self.partition.clusters() <= MOST_CLUSTERS;
        let missing = match few {
            true => String::new(),
            false => format!(" · {} clusters are too many for a map of them", self.partition.clusters()),
        };
        let about = format!(
            "{:.1} % of edges cut · sizes {smallest} to {largest} · disconnected clusters: {disconnected} · ‖P'Pᵀ − Â‖ = {gap:.2}{missing}",
            100.0 * cut_share
        );
        svg.label((LEFT, 54.0), 13.0, FAINT, Anchor::Start, &about);
        let right = if few { RIGHT } else { WIDTH - 40.0 };
        size_histogram(&mut svg, Frame { left: LEFT, right, top: TOP, bottom: BOTTOM }, self.partition);
        if few {
            self.coarse_graph(&mut svg);
        }
        Ok(svg.finish())
    }

    fn coarse_graph(&self, svg: &mut Svg) {
        let clusters = self.partition.clusters();
        let (mut edges, inside) = self.edges_between();
        let place = layout(clusters, &edges);
        let (left, right) = (RIGHT + 50.0, WIDTH - 24.0);
        let area = (right - left) * (BOTTOM - TOP) / clusters as f64;
        let (most, widest) = (self.quality.largest as f64, (0.28 * area.sqrt()).min(26.0));
        let radius = |size: usize| widest * (size as f64 / most).sqrt().max(0.25);
        // Circles stay within the frame, so that none lies on the heading.
        let at = |cluster: u32| {
            let (x, y) = place[cluster as usize];
            let within = |low: f64, high: f64, share: f64| low + widest + share * (high - low - 2.0 * widest);
            (within(left, right, x), within(TOP, BOTTOM, y))
        };
        edges.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        let hidden = edges.len().saturating_sub(MOST_EDGES);
        edges.truncate(MOST_EDGES);
        let heaviest = edges.first().map_or(1.0, |edge| edge.2);
        // Light ones first, below the heavy ones.
        for &(a, b, weight) in edges.iter().rev() {
            let share = (weight / heaviest).sqrt();
            let shade = 232.0 - 110.0 * share;
            let stroke = format!("rgb({shade:.0},{shade:.0},{:.0})", shade + 6.0);
            svg.line(at(a), at(b), &stroke, 0.4 + 2.0 * share);
        }
        for cluster in 0..clusters as u32 {
            let size = self.partition.members(cluster).len();
            let (fill, what) = self.color(cluster, inside[cluster as usize]);
            let title = format!("cluster {cluster}: {size} nodes{what}");
            svg.circle(at(cluster), radius(size), &fill, &title);
        }
        let hidden = if hidden > 0 { format!(", the {MOST_EDGES} heaviest edges") } else { String::new() };
        let heading = format!("{clusters} clusters and the edges between them{hidden}");
        svg.label((left, TOP - 8.0), 13.0, INK, Anchor::Start, &heading);
        self.legend(svg, left);
    }

    /// The edges between clusters with their weights, and the fraction of each cluster's edges inside it.
    fn edges_between(&self) -> (Vec<(u32, u32, f64)>, Vec<f64>) {
        let mut edges = Vec::new();
        let mut inside = Vec::with_capacity(self.partition.clusters());
        let mut weight_to = vec![0.0; self.partition.clusters()];
        for cluster in 0..self.partition.clusters() as u32 {
            let mut others = Vec::new();
            for &node in self.partition.members(cluster) {
                let weights = self.graph.edge_weights(node);
                for (i, &neighbor) in self.graph.neighbors(node).iter().enumerate() {
                    let other = self.partition.of(neighbor);
                    if weight_to[other as usize] == 0.0 {
                        others.push(other);
                    }
                    weight_to[other as usize] += weights.map_or(1.0, |weights| weights[i] as f64);
                }
            }
            others.sort_unstable();
            let all: f64 = others.iter().map(|&other| weight_to[other as usize]).sum();
            inside.push(if all > 0.0 { weight_to[cluster as usize] / all } else { 0.0 });
            for other in others {
                let weight = std::mem::take(&mut weight_to[other as usize]);
                if other > cluster {
                    edges.push((cluster, other, weight));
                }
            }
        }
        (edges, inside)
    }

    /// The color of a cluster, and its meaning.
    fn color(&self, cluster: u32, inside: f64) -> (String, String) {
        let Some(labels) = self.labels else {
            return (shade(inside), format!(", {:.0} % of its edges inside", 100.0 * inside));
        };
        let mut counts = vec![0usize; labels.classes()];
        let members = self.partition.members(cluster);
        members.iter().filter_map(|&node| labels.of(node)).for_each(|class| counts[class as usize] += 1);
        // The most frequent class; the first one if several tie.
        let class = (0..counts.len()).rev().max_by_key(|&class| counts[class]).unwrap_or(0);
        match counts.get(class) {
            None | Some(0) => ("#ddd".into(), ", without labels".into()),
            Some(count) => (class_color(class).into(), format!(", {count} of {}", class_name(labels, class))),
        }
    }

    fn legend(&self, svg: &mut Svg, left: f64) {
        let y = BOTTOM + 24.0;
        let Some(labels) = self.labels else {
            for step in 0..=10 {
                svg.rect((left + 14.0 * step as f64, y), (14.0, 10.0), &shade(step as f64 / 10.0));
            }
            svg.label(
                (left + 164.0, y + 9.0),
                12.0,
                FAINT,
                Anchor::Start,
                "fraction of a cluster's edges inside it, 0 to 1",
            );
            return;
        };
        let (mut x, mut y) = (left, y);
        for class in 0..labels.classes() {
            let name: String = class_name(labels, class).chars().take(24).collect();
            let width = 26.0 + 6.4 * name.chars().count() as f64;
            if x + width > WIDTH - 24.0 {
                (x, y) = (left, y + 18.0);
            }
            if class == PALETTE.len() || y > HEIGHT - 14.0 {
                svg.label((x, y + 9.0), 12.0, FAINT, Anchor::Start, "…");
                return;
            }
            svg.rect((x, y), (10.0, 10.0), class_color(class));
            svg.label((x + 14.0, y + 9.0), 12.0, FAINT, Anchor::Start, &name);
            x += width;
        }
    }
}

/// From pale to dark blue.
fn shade(share: f64) -> String {
    let mix = |from: f64, to: f64| from + (to - from) * share.clamp(0.0, 1.0);
    format!("rgb({:.0},{:.0},{:.0})", mix(214.0, 8.0), mix(226.0, 60.0), mix(240.0, 120.0))
}

/// Positions of the clusters in the unit square: springs along the edges, repulsion between all, and a pull to the center
/// that keeps the components together (after Fruchterman and Reingold).
fn layout(clusters: usize, edges: &[(u32, u32, f64)]) -> Vec<(f64, f64)> {
    const STEPS: usize = 240;
    if clusters == 1 {
        return vec![(0.5, 0.5)];
    }
    let mut rng = Seed(0).stream("layout");
    let mut unit = || rng.random_range(-0.5..0.5);
    let mut place: Vec<(f64, f64)> = (0..clusters).map(|_| (unit(), unit())).collect();
    let heaviest = edges.iter().map(|edge| edge.2).fold(f64::MIN_POSITIVE, f64::max);
    let mut springs = vec![Vec::new(); clusters];
    for &(a, b, weight) in edges {
        let strength = (weight / heaviest).sqrt();
        springs[a as usize].push((b, strength));
        springs[b as usize].push((a, strength));
    }
    for step in 0..STEPS {
        let forces: Vec<(f64, f64)> =
            (0..clusters).into_par_iter().map(|i| force(i, &place, &springs[i])).collect();
        let limit = 0.1 * (1.0 - step as f64 / STEPS as f64);
        for (place, force) in place.iter_mut().zip(&forces) {
            let length = force.0.hypot(force.1).max(1e-12);
            let move_by = length.min(limit) / length;
            *place = (place.0 + force.0 * move_by, place.1 + force.1 * move_by);
        }
    }
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = || place.iter().map(of);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((left, right), (top, bottom)) = (range(|place| place.0), range(|place| place.1));
    let within = |value: f64, from: f64, to: f64| 0.03 + 0.94 * (value - from) / (to - from).max(1e-12);
    place.iter().map(|&(x, y)| (within(x, left, right), within(y, top, bottom))).collect()
}

/// The force on a cluster.
fn force(i: usize, place: &[(f64, f64)], springs: &[(u32, f64)]) -> (f64, f64) {
    let (x, y) = place[i];
    let distance = 1.0 / (place.len() as f64).sqrt();
    // Stronger than a connected graph needs, or isolated clusters would be drawn far away.
    let mut force = (-1.2 * x, -1.2 * y);
    for (j, &(other_x, other_y)) in place.iter().enumerate() {
        let (dx, dy) = (x - other_x, y - other_y);
        let push = distance * distance / (dx * dx + dy * dy + 1e-9);
        if i != j {
            force = (force.0 + dx * push, force.1 + dy * push);
        }
    }
    for &(other, strength) in springs {
        let (dx, dy) = (x - place[other as usize].0, y - place[other as usize].1);
        let pull = dx.hypot(dy) / distance * strength;
        force = (force.0 - dx * pull, force.1 - dy * pull);
    }
    force
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(nodes: usize, edges: &[(u32, u32)], cluster: Vec<u32>, labels: Option<&Labels>) -> String {
        let graph = Graph::from_edges(nodes, edges).unwrap();
        let partition = Partition::new(cluster).unwrap();
        let quality = Quality::of(&graph, &partition, labels).unwrap();
        let title = "a & b";
        Picture { title, graph: &graph, partition: &partition, quality: &quality, labels }.draw().unwrap()
    }

    #[test]
    fn few_clusters_are_drawn_as_a_graph() {
        let labels = Labels::from_names(&["x", "x", "y", "<y>", "", ""]).unwrap();
        let svg = draw(6, &[(0, 1), (1, 2), (2, 3)], vec![0, 0, 1, 1, 2, 2], Some(&labels));
        assert_eq!(svg.matches("<circle").count(), 3);
        let number = |part: &str, name: &str| -> f64 {
            part.split_once(name).unwrap().1.split('"').next().unwrap().parse().unwrap()
        };
        for circle in svg.split("<circle").skip(1) {
            let (y, radius) = (number(circle, " cy=\""), number(circle, " r=\""));
            assert!(y - radius >= TOP && y + radius <= BOTTOM, "no circle lies on the heading: {circle}");
        }
        assert!(svg.contains("a &amp; b") && svg.contains("&lt;y&gt;") && !svg.contains("NaN"));
        assert_eq!(svg, draw(6, &[(0, 1), (1, 2), (2, 3)], vec![0, 0, 1, 1, 2, 2], Some(&labels)));
    }

    #[test]
    fn of_many_clusters_only_the_sizes_are_drawn() {
        let svg = draw(4000, &[], (0..4000).map(|node| node / 2).collect(), None);
        assert_eq!(svg.matches("<circle").count(), 0);
        assert!(
            svg.contains("nodes per cluster") && svg.contains("2000 clusters are too many for a map of them")
        );
    }

    #[test]
    fn odd_partitions_can_be_drawn() {
        assert!(!draw(1, &[], vec![0], None).contains("NaN"));
        let sizes = (0..900u32).map(|node| u32::from(node > 700) + u32::from(node == 899)).collect();
        let svg = draw(900, &[(0, 1)], sizes, None);
        assert!(svg.contains("per bar") && !svg.contains("NaN"));
    }

    #[test]
    fn neighbors_are_drawn_near_each_other() {
        // Two chains of ten.
        let edges: Vec<_> = (0..19u32).filter(|i| i % 10 != 9).map(|i| (i, i + 1, 1.0)).collect();
        let place = layout(20, &edges);
        let far = |a: usize, b: usize| (place[a].0 - place[b].0).hypot(place[a].1 - place[b].1);
        let near: f64 = edges.iter().map(|edge| far(edge.0 as usize, edge.1 as usize)).sum::<f64>() / 18.0;
        let all: f64 = (0..20).map(|a| far(a, (a + 5) % 20)).sum::<f64>() / 20.0;
        assert!(near < 0.6 * all, "{near} against {all}");
    }
}
