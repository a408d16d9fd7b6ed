//! What runs on the GPU, when it pays, and how much memory it takes. Nothing here needs a GPU.

use super::contrast::PanelContrast;
use super::correlation::Correlation;
use super::gpu::WORKSPACE;
use super::layers::GpuLayers;
use super::pairs::PairLoss;
use crate::device::{Precision, WORTH_STARTING};
use crate::encoder::FittedEncoder;
use crate::model::Model;
use crate::nn::{Layer, LayerView, Network};
use crate::plan::Plan;
use crate::sample::{Inputs, Views};
use crate::{Compressed, Features, Graph};

/// Why training does not run on the GPU, if it does not.
pub(in crate::engine) fn refusal(plan: &Plan, inputs: Inputs, has_own_loss: bool) -> Option<String> {
    let served = [Model::named("grace"), Model::named("cca-ssg"), Model::named("sce"), Model::named("coles")];
    let name = |model: &Model| model.name() == plan.model.name();
    if has_own_loss || !served.iter().flatten().any(name) {
        return Some(format!(
            "{} is not trained on the GPU; GRACE, CCA-SSG, SCE and COLES are",
            plan.model.title()
        ));
    }
    if !matches!(inputs, Inputs::Clusters(_)) {
        return Some("only training on clusters runs on the GPU, not other modes".into());
    }
    let layers = || plan.network.networks().iter().flat_map(Network::layers);
    if layers().any(|layer| layer.norm) {
        return Some("batch norm is not computed on the GPU".into());
    }
    if layers().any(|layer| layer.dropout > 0.0) {
        return Some("dropout is not computed on the GPU".into());
    }
    None
}

/// Whether training is worth starting a GPU for.
pub(in crate::engine) fn pays(plan: &Plan, inputs: Inputs) -> bool {
    let Inputs::Clusters(compressed) = inputs else { return false };
    let clusters = compressed.partition().clusters() as f64;
    let width = plan.network.outputs() as f64;
    let rows = clusters * plan.sampling.views.count() as f64;
    let of_layer = |layer: &Layer| 6.0 * rows * layer.inputs as f64 * layer.outputs as f64;
    let layers: f64 = plan.network.networks().iter().flat_map(Network::layers).map(of_layer).sum();
    let cost = plan.model.cost();
    let loss = clusters * width * (cost.by_width * width + cost.by_rows * clusters);
    plan.epochs as f64 * (layers + loss) >= WORTH_STARTING
}

/// Why an encoder does not embed on the GPU, if it does not.
pub(in crate::engine) fn embedding_refusal(encoder: &FittedEncoder) -> Option<String> {
    match encoder {
        FittedEncoder::Layers(encoder) if encoder.is_chain() => None,
        FittedEncoder::Layers(_) => {
            Some("two encoders, or hops after the last layer, do not run on the GPU".into())
        }
        FittedEncoder::Filters(_) => Some("the solved recipe does not embed on the GPU".into()),
        FittedEncoder::Zoomed(_) => Some("embedding by GraphZoom does not run on the GPU".into()),
    }
}

/// Whether embedding a graph is worth starting a GPU for.
pub(in crate::engine) fn embedding_pays(encoder: &FittedEncoder, graph: &Graph) -> bool {
    let FittedEncoder::Layers(encoder) = encoder else { return false };
    let (nodes, entries) = (graph.nodes() as f64, graph.targets().len() as f64);
    let of_layer = |view: &LayerView| {
        let (inputs, outputs) = (view.layer.inputs as f64, view.layer.outputs as f64);
        2.0 * (nodes * inputs * outputs + entries * view.layer.hops.most() as f64 * inputs.min(outputs))
    };
    let operations: f64 = encoder.chains().iter().flatten().map(of_layer).sum();
    operations >= WORTH_STARTING
}

/// Bytes of GPU memory that training takes.
pub(super) fn bytes(plan: &Plan, compressed: &Compressed, precision: Precision) -> u64 {
    let (clusters, nodes) = (compressed.partition().clusters(), compressed.partition().nodes());
    let two = plan.sampling.views == Views::Two;
    let rows = if two { 2 * clusters } else { clusters };
    let (cols, width) = (compressed.features().cols(), plan.network.outputs());
    let source = match compressed.source() {
        Features::Dense(x) => 4 * x.rows() * x.cols(),
        Features::Sparse(x) => 8 * (x.rows() + 1) + 8 * x.entries(),
    };
    let views = 4 * rows * cols + if two { source + 12 * nodes + 8 * clusters } else { 0 };
    let layers = plan.network.single().map_or(0, |network| GpuLayers::bytes(network, rows, precision));
    let loss = match &plan.model {
        Model::Grace(grace) => PanelContrast::bytes(precision, grace.tau, rows, width),
        Model::CcaSsg(_) => Correlation::bytes(clusters, width),
        Model::Sce(sce) => PairLoss::bytes(clusters, 2 * clusters.saturating_mul(sce.negatives)),
        Model::Coles(coles) => PairLoss::bytes(clusters, 3 * clusters.saturating_mul(coles.negatives)),
        _ => 0,
    };
    (views + WORKSPACE + 16 * plan.network.len()) as u64 + layers + loss
}

/// A precision in reports.
pub(super) fn name(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "f32",
        Precision::Tf32 => "tf32",
        Precision::Bf16 => "bf16",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compressed, Dense, Partition, Training};

    /// A plan of so many epochs for 4,000 clusters of two nodes with 64 features.
    fn on_clusters<T>(training: &Training, work: impl Fn(&Plan, Inputs, &Compressed) -> T) -> T {
        let x = Features::Dense(Dense::new(8000, 64, vec![0.5; 8000 * 64]).unwrap());
        let partition = Partition::new((0..8000).map(|node| node / 2).collect()).unwrap();
        let compressed = Compressed::new(&x, &partition).unwrap();
        let plan = Plan::new(training, false, 64).unwrap();
        work(&plan, Inputs::Clusters(&compressed), &compressed)
    }

    fn named(name: &str) -> Training {
        Training { model: Model::named(name).unwrap(), ..Training::default() }
    }

    #[test]
    fn four_models_run_on_the_gpu_and_the_others_say_so() {
        for name in Model::TRAINED {
            let served = ["grace", "cca-ssg", "sce", "coles"].contains(name);
            let why = on_clusters(&named(name), |plan, inputs, _| refusal(plan, inputs, false));
            assert_eq!(why.is_none(), served, "{name}: {why:?}");
        }
        let why = |training: &Training| {
            on_clusters(training, |plan, inputs, _| refusal(plan, inputs, false)).unwrap_or_default()
        };
        assert!(why(&Training { dropout: 0.1, ..named("sce") }).contains("dropout"));
        assert!(why(&Training { batch_norm: Some(true), ..named("grace") }).contains("batch norm"));
        assert!(why(&named("dgi")).contains("GRACE, CCA-SSG, SCE and COLES"));
        let x = Features::Dense(Dense::new(4, 64, vec![0.5; 256]).unwrap());
        let plan = Plan::new(&named("grace"), true, 64).unwrap();
        assert!(refusal(&plan, Inputs::Nodes(&x), false).unwrap().contains("only training on clusters"));
    }

    #[test]
    fn a_gpu_is_started_for_long_training_only() {
        let pays_for = |epochs| on_clusters(&Training { epochs, ..named("grace") }, |p, i, _| pays(p, i));
        // 6 · 4000² · 512 operations an epoch for the loss alone.
        assert!(!pays_for(5) && pays_for(50));
        assert!(!on_clusters(&Training { epochs: 50, ..named("sce") }, |p, i, _| pays(p, i)));
    }

    #[test]
    fn memory_grows_with_rows_and_not_with_their_square() {
        let training = named("grace");
        let small = on_clusters(&training, |plan, _, compressed| bytes(plan, compressed, Precision::Tf32));
        // The views, four results and two gradients of 8,000 x 512, half-precision rows, and a workspace; and a panel.
        let floor = (8000 * 512 * (4 * 6 + 2) + WORKSPACE) as u64;
        assert!(small > floor && small < floor + (220 << 20), "{small} {floor}");
    }
}
