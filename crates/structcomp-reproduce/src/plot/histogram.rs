//! The histogram of cluster sizes.

use super::{Anchor, FAINT, GRID, INK, PALETTE, Svg, round_step};
use structcomp::Partition;

/// Where the axes of a drawing are.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

/// Draws the histogram. The frame needs 50 points below and 60 to the left of it.
pub(crate) fn size_histogram(svg: &mut Svg, frame: Frame, partition: &Partition) {
    let Frame { left, right, top, bottom } = frame;
    let (smallest, largest) =
        partition.sizes().fold((usize::MAX, 0), |(low, high), size| (low.min(size), high.max(size)));
    let range = largest.saturating_sub(smallest);
    let width = (range + 1).div_ceil(40);
    let mut counts = vec![0usize; range / width + 1];
    partition.sizes().for_each(|size| counts[(size - smallest) / width] += 1);
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let height = |count: f64| bottom - (bottom - top) * count / (most * 1.06);
    let step = round_step(most, 6.0).max(1.0);
    for tick in (0..).map(|i| i as f64 * step).take_while(|&tick| tick <= most) {
        svg.line((left, height(tick)), (right, height(tick)), GRID, 1.0);
        svg.label((left - 8.0, height(tick) + 4.0), 12.0, FAINT, Anchor::End, &format!("{tick}"));
    }
    let slot = (right - left) / counts.len() as f64;
    // A digit needs up to 12 points where a page enlarges labels.
    let every = ((14.0 + 12.0 * largest.to_string().len() as f64) / slot).ceil().max(1.0) as usize;
    for (bin, &count) in counts.iter().enumerate() {
        let x = left + slot * bin as f64;
        let bar = (slot * 0.82).min(60.0);
        let y = height(count as f64);
        svg.rect((x + (slot - bar) / 2.0, y), (bar, bottom - y), PALETTE[0]);
        if bin % every == 0 {
            let size = (smallest + bin * width).to_string();
            svg.label((x + slot / 2.0, bottom + 18.0), 12.0, FAINT, Anchor::Middle, &size);
        }
    }
    svg.line((left, bottom), (right, bottom), INK, 1.0);
    let what = match width {
        1 => "nodes per cluster".into(),
        width => format!("nodes per cluster, {width} per bar"),
    };
    svg.label(((left + right) / 2.0, bottom + 40.0), 13.0, INK, Anchor::Middle, &what);
    svg.label((left, top - 8.0), 13.0, INK, Anchor::Start, "clusters");
}
