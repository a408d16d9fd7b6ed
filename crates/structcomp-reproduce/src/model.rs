//! What estimates and reports need to know about a model, as the model itself tells it.

use structcomp::Model;
use structcomp::model::LossCost;

/// About a model, or about a column of a table that is not one.
pub(crate) struct Facts {
    pub(crate) title: String,
    /// Whether it compares two augmented views of the whole graph.
    pub(crate) two_views: bool,
    /// How many views pass through the encoder.
    pub(crate) batches: f64,
    pub(crate) cost: LossCost,
}

impl Facts {
    pub(crate) fn of(name: &str) -> Self {
        match Model::named(name) {
            Ok(model) => Self {
                title: model.title().to_owned(),
                two_views: model.augments(),
                batches: model.views() as f64,
                cost: model.cost(),
            },
            Err(_) => Self {
                title: name.to_owned(),
                two_views: false,
                batches: 1.0,
                cost: LossCost { by_width: 24.0, ..LossCost::default() },
            },
        }
    }
}
