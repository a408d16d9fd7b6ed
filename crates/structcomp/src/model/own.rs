//! A model of the caller's own: only what the encoder must know of it.

use serde::{Deserialize, Serialize};

/// Which rows the caller's loss is about. The loss itself is an [`Objective`](crate::Objective).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Own {
    /// Whether a second view, with members dropped, is compared with the first.
    pub two_views: bool,
    /// The width of a projection head behind the encoder; none where absent.
    pub projection: Option<usize>,
}

impl Default for Own {
    fn default() -> Self {
        Self { two_views: true, projection: None }
    }
}
