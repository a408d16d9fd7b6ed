//! Plots as SVG.

mod dots;
mod histogram;
mod panels;
mod scale;
mod svg;

pub(crate) use dots::{Dots, MARKS, Mark, Row};
pub(crate) use histogram::{Frame, size_histogram};
pub(crate) use panels::{Line, Panel, Panels};
pub(crate) use scale::{Scale, round_step};
pub(crate) use svg::{Anchor, FAINT, GRID, INK, PALETTE, Svg, escaped};

use structcomp::Labels;

/// The width of figures in their own units.
const WIDTH: f64 = 760.0;

/// The color of a class; colors repeat.
pub(crate) fn class_color(class: usize) -> &'static str {
    PALETTE[class % PALETTE.len()]
}

pub(crate) fn class_name(labels: &Labels, class: usize) -> String {
    labels.names().and_then(|names| names.get(class).cloned()).unwrap_or_else(|| format!("class {class}"))
}
