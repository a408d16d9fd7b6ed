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
            _ => {
                Ok(Self::repository(model, dataset)
                    .map(|preset| FullPreset::recent(preset.training, dataset)))
            }
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

    fn recent(training: Training, dataset: &str) -> Self {
        let feature_norm = match (training.model.name(), dataset) {
            ("ggd" | "dgi", _) | ("contrast-reg" | "mvgrl", "citeseer") => FeatureNorm::RowL1,
            ("sp-gcl", "cora" | "citeseer") => FeatureNorm::None,
            ("sp-gcl", _) => FeatureNorm::RowL1,
            _ => FeatureNorm::None,
        };
        // GGD's repository has Cora's settings alone.
        let assumed = training.model.name() == "ggd" && matches!(dataset, "citeseer" | "pubmed");
        let ours: &[&str] = if assumed { &["epochs", "hidden", "learning-rate"] } else { &[] };
        Self { training, feature_norm, source: "the model's repository", ours }
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
        let recent = Preset::full("sp-gcl", "chameleon").unwrap().unwrap();
        assert_eq!((recent.training.hidden, recent.feature_norm), (1024, FeatureNorm::RowL1));
        assert!(Preset::full("grace", "mine").unwrap().is_none());
        assert!(Preset::full("nothing", "cora").unwrap().is_none());
    }
}
