//! Settings for training on the whole graph, as the models' own repositories have them.

use crate::{
    Activation, Augment, CcaSsg, Coles, EncoderKind, FeatureNorm, Grace, Model, Preset, Result, Training,
};

/// Settings for a model on a whole graph, and where they come from.
#[derive(Clone, Debug, PartialEq)]
pub struct FullPreset {
    /// How to train.
    pub training: Training,
    /// How features are scaled first.
    pub feature_norm: FeatureNorm,
    /// Whose settings they are, but for those in `ours`.
    pub source: &'static str,
    /// What is our own choice, by the names of settings.
    pub ours: &'static [&'static str],
}

/// Dataset, width, width of the head, edges dropped, features masked, τ, learning rate, and the published and
/// our own number of epochs.
///
/// An epoch compares all pairs of nodes, which takes seconds on the larger graphs; the published thousands of
/// epochs would take days.
type GraceRow = (&'static str, usize, usize, [f64; 2], [f64; 2], f64, f64, usize, usize);

const GRACE: [GraceRow; 5] = [
    ("cora", 128, 128, [0.2, 0.4], [0.3, 0.4], 0.4, 0.0005, 200, 200),
    ("citeseer", 256, 256, [0.2, 0.0], [0.3, 0.2], 0.9, 0.001, 200, 60),
    ("pubmed", 256, 256, [0.4, 0.1], [0.0, 0.2], 0.7, 0.001, 1500, 10),
    ("amazon-photo", 512, 64, [0.3, 0.5], [0.1, 0.1], 0.3, 0.01, 2000, 20),
    ("amazon-computers", 512, 128, [0.6, 0.3], [0.2, 0.3], 0.2, 0.01, 2000, 10),
];

/// Dataset, layers, λ, edges dropped, features masked, epochs.
const CCA_SSG: [(&str, usize, f64, f64, f64, usize); 5] = [
    ("cora", 2, 1e-3, 0.4, 0.1, 50),
    ("citeseer", 1, 5e-4, 0.4, 0.0, 20),
    ("pubmed", 2, 1e-3, 0.5, 0.3, 100),
    ("amazon-photo", 2, 1e-3, 0.3, 0.2, 50),
    ("amazon-computers", 2, 5e-4, 0.3, 0.1, 50),
];

/// Dataset, λ, random pairs a row, width, weight decay, epochs, learning rate.
const COLES: [(&str, f64, usize, usize, f64, usize, f64); 3] = [
    ("cora", 0.9, 2, 512, 5e-4, 20, 1e-3),
    ("citeseer", 0.8, 5, 512, 1e-4, 80, 1e-4),
    ("pubmed", 1.0, 3, 256, 1e-5, 40, 0.02),
];

/// Model, dataset, width, layers, epochs, learning rate, weight decay, features scaled to a sum of 1, and
/// whether the repository says so; the models' own parameters are their defaults.
type RecentRow = (&'static str, &'static str, usize, usize, usize, f64, f64, bool, bool);

const RECENT: &[RecentRow] = &[
    ("blockgcl", "cora", 512, 2, 100, 1e-3, 1e-5, false, true),
    ("blockgcl", "citeseer", 512, 2, 100, 1e-3, 5e-2, false, true),
    ("blockgcl", "pubmed", 512, 2, 100, 5e-3, 1e-5, false, true),
    ("sp-gcl", "cora", 1024, 2, 500, 1e-3, 1e-4, false, true),
    ("sp-gcl", "citeseer", 1024, 2, 600, 9e-4, 1e-5, false, true),
    ("sp-gcl", "pubmed", 1024, 2, 500, 9e-4, 1e-4, true, true),
    ("sp-gcl", "chameleon", 1024, 2, 600, 1e-3, 1e-5, true, true),
    ("sp-gcl", "squirrel", 1024, 2, 700, 8e-4, 1e-5, true, true),
    ("sp-gcl", "actor", 1024, 2, 500, 1e-3, 0.0, true, true),
    ("contrast-reg", "cora", 512, 1, 300, 3e-3, 0.0, false, true),
    ("contrast-reg", "citeseer", 512, 1, 500, 1e-4, 0.0, true, true),
    ("contrast-reg", "pubmed", 512, 1, 300, 1e-2, 0.0, false, true),
    ("ggd", "cora", 512, 1, 500, 1e-3, 0.0, true, true),
    ("ggd", "citeseer", 512, 1, 500, 1e-3, 0.0, true, false),
    ("ggd", "pubmed", 512, 1, 500, 1e-3, 0.0, true, false),
];

impl Preset {
    /// The settings of a model's own repository for training on a whole graph, if there are any.
    ///
    /// The paper says little about these runs. SCE and COLES are linear maps of Â²X here, trained as with
    /// StructComp where their repositories have nothing; both layers of GRACE are equally wide, where its
    /// repository has the first twice as wide.
    pub fn full(model: &str, dataset: &str) -> Result<Option<FullPreset>> {
        match model {
            "sce" => Ok(Self::paper(model, dataset)?.map(|preset| FullPreset::undocumented(preset.training))),
            "coles" => match COLES.iter().find(|row| row.0 == dataset) {
                Some(row) => Ok(Some(FullPreset::coles(row))),
                None => {
                    Ok(Self::paper(model, dataset)?.map(|preset| FullPreset::undocumented(preset.training)))
                }
            },
            "grace" => Ok(GRACE.iter().find(|row| row.0 == dataset).map(FullPreset::grace)),
            "cca-ssg" => Ok(CCA_SSG.iter().find(|row| row.0 == dataset).map(FullPreset::cca_ssg)),
            _ => RECENT
                .iter()
                .find(|row| (row.0, row.1) == (model, dataset))
                .map(FullPreset::recent)
                .transpose(),
        }
    }
}

impl FullPreset {
    /// Nothing is on record, so what StructComp trains with.
    fn undocumented(training: Training) -> Self {
        let ours = &["everything"];
        Self { training, feature_norm: FeatureNorm::None, source: "the model's repository", ours }
    }

    fn coles(
        &(_, lambda, negatives, hidden, weight_decay, epochs, learning_rate): &(
            &str,
            f64,
            usize,
            usize,
            f64,
            usize,
            f64,
        ),
    ) -> Self {
        let model = Model::Coles(Coles { lambda, negatives, ..Coles::default() });
        Self {
            training: Training { model, hidden, weight_decay, epochs, learning_rate, ..Training::default() },
            feature_norm: FeatureNorm::None,
            source: "the model's repository",
            ours: &["encoder"],
        }
    }

    fn grace(row: &GraceRow) -> Self {
        let &(dataset, hidden, head, drop_edges, mask_features, tau, learning_rate, published, epochs) = row;
        // Of Photo and Computers the model's repository says nothing, and of Citeseer it has a shared slope.
        let bundled = dataset.starts_with("amazon");
        let activation =
            if bundled || dataset == "citeseer" { Activation::PreluShared } else { Activation::Relu };
        Self {
            training: Training {
                model: Model::Grace(Grace { tau, projection: Some(head) }),
                hidden,
                layers: 2,
                epochs,
                learning_rate,
                weight_decay: 1e-5,
                encoder: Some(EncoderKind::Gcn),
                inner_activation: Some(activation),
                activation: Some(activation),
                augment: Augment { drop_edges, mask_features },
                ..Training::default()
            },
            feature_norm: FeatureNorm::RowL1,
            source: if bundled { "GCA's parameter files" } else { "the model's repository" },
            ours: match (published == epochs, bundled) {
                (true, _) => &["width of the first layer"],
                (false, false) => &["width of the first layer", "epochs"],
                (false, true) => &["width of the first layer", "epochs", "weight-decay"],
            },
        }
    }

    fn cca_ssg(&(_, layers, lambda, edges, features, epochs): &(&str, usize, f64, f64, f64, usize)) -> Self {
        let training = Training {
            model: Model::CcaSsg(CcaSsg { lambda }),
            layers,
            epochs,
            weight_decay: 0.0,
            inner_activation: Some(Activation::Relu),
            activation: Some(Activation::None),
            augment: Augment { drop_edges: [edges; 2], mask_features: [features; 2] },
            ..Training::default()
        };
        Self { training, feature_norm: FeatureNorm::None, source: "the model's repository", ours: &[] }
    }

    fn recent(row: &RecentRow) -> Result<Self> {
        let &(model, _, hidden, layers, epochs, learning_rate, weight_decay, sum_of_one, documented) = row;
        let model = Model::named(model)?;
        Ok(Self {
            training: Training {
                model,
                hidden,
                layers,
                epochs,
                learning_rate,
                weight_decay,
                ..Training::default()
            },
            feature_norm: if sum_of_one { FeatureNorm::RowL1 } else { FeatureNorm::None },
            source: "the model's repository",
            ours: if documented { &[] } else { &["epochs", "hidden", "learning-rate"] },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_models_have_settings_for_the_five_graphs() {
        for model in ["sce", "coles", "grace", "cca-ssg"] {
            for dataset in ["cora", "citeseer", "pubmed", "amazon-photo", "amazon-computers"] {
                let preset = Preset::full(model, dataset).unwrap().unwrap();
                assert_eq!(preset.training.model.name(), model, "{dataset}");
            }
        }
        assert!(Preset::full("grace", "mine").unwrap().is_none());
        assert!(Preset::full("nothing", "cora").unwrap().is_none());
    }
}
