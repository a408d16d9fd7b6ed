//! What to search for.

use crate::Dense;

/// Nodes, which are no neighbours of themselves, or rows from elsewhere.
#[derive(Clone, Copy)]
pub(super) enum Queries<'a> {
    /// The numbers of some rows of a matrix.
    Nodes(&'a [u32], &'a Dense),
    /// Rows of this width.
    Rows(&'a [f32], usize),
}

impl<'a> Queries<'a> {
    pub(super) fn len(self) -> usize {
        match self {
            Self::Nodes(nodes, _) => nodes.len(),
            Self::Rows(rows, width) => rows.len() / width,
        }
    }

    /// At most `count` queries from `start` on.
    pub(super) fn part(self, start: usize, count: usize) -> Self {
        let end = (start + count).min(self.len());
        match self {
            Self::Nodes(nodes, of) => Self::Nodes(&nodes[start..end], of),
            Self::Rows(rows, width) => Self::Rows(&rows[start * width..end * width], width),
        }
    }

    pub(super) fn row(self, at: usize) -> &'a [f32] {
        match self {
            Self::Nodes(nodes, of) => of.row(nodes[at] as usize),
            Self::Rows(rows, width) => &rows[at * width..][..width],
        }
    }

    /// The row that the query itself is.
    pub(super) fn node(self, at: usize) -> Option<u32> {
        match self {
            Self::Nodes(nodes, _) => Some(nodes[at]),
            Self::Rows(..) => None,
        }
    }
}
