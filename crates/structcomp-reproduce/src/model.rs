//! What estimates and reports have to know about a model. To be asked of the model itself once it can tell.

/// About a model.
pub(crate) struct Facts {
    /// The name as its authors spell it.
    pub(crate) title: String,
    /// Whether it compares two augmented views of the whole graph.
    pub(crate) two_views: bool,
    /// How many matrices of rows pass through the encoder.
    pub(crate) batches: f64,
    /// Floating point operations of the loss, in units of rows · width², and of rows² · width.
    pub(crate) flops: (f64, f64),
    /// Whether it holds a matrix of all pairs of rows.
    pub(crate) all_pairs: bool,
}

impl Facts {
    pub(crate) fn of(model: &str) -> Self {
        let two_views = matches!(model, "grace" | "cca-ssg" | "blockgcl" | "bgrl");
        let corrupted = matches!(model, "ggd" | "contrast-reg" | "dgi" | "mvgrl");
        Self {
            title: match model {
                "blockgcl" => "BlockGCL".into(),
                "contrast-reg" => "Contrast-Reg".into(),
                "recipe" | "linear" => model.to_owned(),
                other => other.to_uppercase(),
            },
            two_views,
            batches: if two_views || corrupted { 2.0 } else { 1.0 },
            flops: match model {
                "sce" | "coles" => (0.0, 0.0),
                // Half of the symmetric similarities are computed, twice as fast as other products.
                "grace" => (12.0, 6.0),
                "contrast-reg" => (24.0, 2.0),
                "cca-ssg" => (8.0, 0.0),
                _ => (24.0, 0.0),
            },
            all_pairs: model == "grace",
        }
    }
}
