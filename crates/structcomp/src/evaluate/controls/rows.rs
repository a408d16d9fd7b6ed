//! Rows that need no training, computed along one chain of products with Â.
//!
//! These rows are linear in X, and a hop costs as much as there are columns. So where X is wide and there are many
//! nodes, they start from X on its leading principal axes.

use super::super::axes::Axes;
use super::ggcm::Sharpening;
use super::{Control, Rows, slimg};
use crate::{Dense, Features, Graph, Normalization, Propagation, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// Matrices of so many numbers are used as they are.
const SMALL: usize = 8 << 20;
/// Up to so many nodes, all of so many columns are used, or so many axes of more columns.
const NODES: usize = 32_000;
const COLUMNS: usize = 1024;
const AXES: usize = 512;
/// Axes on larger graphs.
const FEW_AXES: usize = 256;
/// Where a hop takes more multiplications than this, rows of many hops are left out unless asked for.
const CHEAP_HOP: usize = 2_000_000_000;
/// Hops that are few.
const FEW_HOPS: usize = 4;
/// The share of X itself in SSGC.
const SSGC_SHARE: f64 = 0.05;
/// The share of X itself in GGCM.
const GGCM_SHARE: f64 = 0.15;
/// Hops of SSGC-16 and GGCM.
const HOPS: usize = 16;

/// Rows by the hops that they need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hopped {
    Features,
    Power(usize),
    Mean,
    Ssgc(usize),
    Concat,
    Ggcm,
    SlimG,
}

impl Hopped {
    fn hops(self) -> usize {
        match self {
            Self::Features | Self::SlimG => 0,
            Self::Power(hops) | Self::Ssgc(hops) => hops,
            Self::Mean | Self::Concat => 2,
            Self::Ggcm => HOPS,
        }
    }
}

/// Columns that rows start from.
fn width(x: &Features) -> usize {
    match (x.rows(), x.cols()) {
        (rows, cols) if rows.saturating_mul(cols) <= SMALL || rows <= NODES && cols <= COLUMNS => cols,
        (..=NODES, _) => AXES,
        (_, cols) => cols.min(FEW_AXES),
    }
}

/// Whether rows take many hops on a graph where one is expensive.
pub(super) fn is_expensive(rows: Hopped, graph: &Graph, x: &Features) -> bool {
    let entries = graph.targets().len() + graph.nodes();
    let many = rows.hops() > FEW_HOPS || rows == Hopped::SlimG;
    many && entries.saturating_mul(width(x)) > CHEAP_HOP
}

/// Shows the rows of each of `wanted`, in the order in which they come up. With `exact`, powers are those of X itself
/// and not of its projection.
pub(super) fn each(
    graph: &Graph,
    x: &Features,
    exact: bool,
    wanted: &[&'static Control],
    mut see: impl FnMut(&'static Control, &Features) -> Result<()>,
) -> Result<()> {
    let of = |control: &Control| match control.rows {
        Rows::Hopped(rows) => Some(rows),
        _ => None,
    };
    let wanted: Vec<(&'static Control, Hopped)> =
        wanted.iter().filter_map(|control| Some((*control, of(control)?))).collect();
    let propagation = Propagation::new(graph, Normalization::Symmetric);
    let width = width(x);
    let wide = exact && (x.cols() > width || matches!(x, Features::Sparse(_)));
    let (mut left, mut none) = (Vec::new(), true);
    for (control, rows) in wanted {
        match rows {
            Hopped::Features if exact => see(control, x)?,
            Hopped::Power(hops) if wide => see(control, &propagation.power(x, hops)?)?,
            _ => {
                left.push((control, rows));
                none = false;
            }
        }
    }
    if none {
        return Ok(());
    }
    let narrow = match x {
        _ if x.cols() > width => Cow::Owned(Axes::principal(x, width).project(x)),
        Features::Dense(x) => Cow::Borrowed(x),
        Features::Sparse(_) => Cow::Owned(x.to_dense()),
    };
    Chain::new(&propagation, &narrow).follow(graph, &left, &mut see)
}

/// Powers of Â times X, one after another, and their sums.
struct Chain<'a> {
    propagation: &'a Propagation<'a>,
    x: &'a Dense,
    /// Âᵏ X, and Âᵏ⁻¹ X as long as that is needed.
    now: Vec<f32>,
    before: Vec<f32>,
    /// Σ Âᵏ X from k = 1 on.
    sum: Vec<f32>,
    /// What is shown. The system takes long to give large pieces of memory, so this one is used again.
    room: Vec<f32>,
}

impl<'a> Chain<'a> {
    fn new(propagation: &'a Propagation<'a>, x: &'a Dense) -> Self {
        let size = x.values().len();
        Self {
            propagation,
            x,
            now: x.values().to_vec(),
            before: vec![0.0; size],
            sum: vec![0.0; size],
            room: Vec::new(),
        }
    }

    fn follow(
        &mut self,
        graph: &Graph,
        wanted: &[(&'static Control, Hopped)],
        see: &mut impl FnMut(&'static Control, &Features) -> Result<()>,
    ) -> Result<()> {
        let last = wanted.iter().map(|(_, rows)| rows.hops()).max().unwrap_or(0);
        let ggcm = wanted.iter().any(|(_, rows)| *rows == Hopped::Ggcm);
        let mut sharpening = ggcm.then(|| Sharpening::new(self.x));
        for hops in 0..=last {
            if hops > 0 {
                self.hop()?;
            }
            if let (Some(sharpening), true) = (&mut sharpening, hops > 0) {
                sharpening.add(&self.before);
            }
            for &(control, rows) in wanted.iter().filter(|(_, rows)| rows.hops() == hops) {
                let shown = match rows {
                    Hopped::Features | Hopped::Power(_) => &mut self.now,
                    _ => {
                        let sharpening = sharpening.take_if(|_| rows == Hopped::Ggcm);
                        self.fill_room(graph, rows, sharpening)?;
                        &mut self.room
                    }
                };
                // Lent, as a copy would be as large as the features.
                let cols = shown.len() / self.x.rows().max(1);
                let lent = Features::Dense(Dense::new(self.x.rows(), cols, std::mem::take(shown))?);
                see(control, &lent)?;
                if let Features::Dense(rows) = lent {
                    *shown = rows.into_values();
                }
            }
        }
        Ok(())
    }

    fn fill_room(&mut self, graph: &Graph, rows: Hopped, sharpening: Option<Sharpening>) -> Result<()> {
        match rows {
            Hopped::Mean => self.combine(1.0 / 3.0, 1.0 / 3.0, None),
            Hopped::Ssgc(hops) => self.combine(SSGC_SHARE, (1.0 - SSGC_SHARE) / hops as f64, None),
            Hopped::Ggcm => {
                let both = sharpening.map(|sharpening| sharpening.with(&self.sum));
                self.combine(GGCM_SHARE, (1.0 - GGCM_SHARE) / (2 * HOPS) as f64, both.as_deref());
            }
            Hopped::Concat => self.side_by_side(),
            Hopped::SlimG => self.room = slimg::rows(graph, self.propagation, self.x)?,
            Hopped::Features | Hopped::Power(_) => {}
        }
        Ok(())
    }

    fn hop(&mut self) -> Result<()> {
        std::mem::swap(&mut self.now, &mut self.before);
        self.propagation.hop_into(&self.before, self.x.cols(), &mut self.now)?;
        add(&mut self.sum, &self.now);
        Ok(())
    }

    /// own · X + others · `sum`, by default that of the hops.
    fn combine(&mut self, own: f64, others: f64, sum: Option<&[f32]>) {
        let (own, others) = (own as f32, others as f32);
        let sum = sum.unwrap_or(&self.sum);
        self.room.resize(sum.len(), 0.0);
        self.room.par_iter_mut().zip(self.x.values()).zip(sum).for_each(|((room, x), sum)| {
            *room = own * x + others * sum;
        });
    }

    /// [X | ÂX | Â²X].
    fn side_by_side(&mut self) {
        let cols = self.x.cols().max(1);
        self.room.resize(3 * self.now.len(), 0.0);
        let parts = [self.x.values(), &self.before, &self.now];
        self.room.par_chunks_mut(3 * cols).enumerate().for_each(|(row, room)| {
            for (room, part) in room.chunks_exact_mut(cols).zip(parts) {
                room.copy_from_slice(&part[row * cols..][..cols]);
            }
        });
    }
}

pub(super) fn add(to: &mut [f32], values: &[f32]) {
    to.par_iter_mut().zip(values).for_each(|(to, value)| *to += value);
}
