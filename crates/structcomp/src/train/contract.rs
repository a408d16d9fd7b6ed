//! What every model promises: the gradient of the whole step is the derivative of its loss, and the loss falls.
//!
//! The step is run again in `f64`: the networks by a naive twin, the loss by the model's formula. Its derivative in
//! every parameter, by finite differences, must be what the engine computes. A model that forgets a term, changes a
//! sign or returns no gradient fails here; so does one without a formula, since it does not compile.

use crate::engine::Cpu;
use crate::model::{Compared, Contrast, ContrastReg, SpGcl, Twin};
use crate::nn::{Pass, Towers, naive};
use crate::plan::Plan;
use crate::random::normal;
use crate::sample::{Batch, Inputs, sampler};
use crate::{Compressed, Dense, Features, Graph, Model, Partition, Saint, SaintSampler, Seed, Training};
use rand::RngExt;

const SEED: Seed = Seed(5);

/// A synthetic graph of 24 nodes with five features, and twelve clusters of two.
fn graph() -> (Graph, Features, Partition) {
    let mut rng = Seed(8).stream("contract");
    let chords = (0..30).map(|_| (rng.random_range(0..24), rng.random_range(0..24)));
    let edges: Vec<(u32, u32)> = (0..24).map(|v| (v, (v + 1) % 24)).chain(chords).collect();
    let values: Vec<f32> = (0..24 * 5).map(|_| normal(&mut rng)).collect();
    (
        Graph::from_edges(24, &edges).unwrap(),
        Features::Dense(Dense::new(24, 5, values).unwrap()),
        Partition::new((0..24).map(|node| node / 2).collect()).unwrap(),
    )
}

/// Every model by its defaults, and those whose settings change what is computed.
fn models() -> Vec<Model> {
    let mut models: Vec<Model> = Model::TRAINED.iter().map(|name| Model::named(name).unwrap()).collect();
    models.push(Model::ContrastReg(ContrastReg { contrast: Contrast::Ml, ..ContrastReg::default() }));
    models.push(Model::SpGcl(SpGcl { batch: 9, roots: 4, ..SpGcl::default() }));
    models
}

fn training(model: Model) -> Training {
    Training { model, hidden: 7, layers: 2, dropout: 0.1, ..Training::default() }
}

fn exact(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value as f64).collect()
}

/// The step in `f64`.
struct Reference<'a> {
    plan: &'a Plan,
    batch: &'a Batch<'a>,
    pass: Pass<'a>,
    target: Vec<f64>,
    /// What the networks give with the parameters as they are.
    seen: Vec<f64>,
}

impl<'a> Reference<'a> {
    fn new(plan: &'a Plan, batch: &'a Batch<'a>, engine: &Cpu, parameters: &[f64]) -> Self {
        let messages = batch.messages.as_deref();
        let pass = Pass { messages, views: batch.views, noise: Some(engine.noise(0)) };
        let of_target = plan.model.momentum(0, 1).is_some();
        let target = if of_target { rows(&plan.encoder, parameters, batch, pass, None) } else { Vec::new() };
        let seen = rows(&plan.network, parameters, batch, pass, None);
        Self { plan, batch, pass, target, seen }
    }

    fn loss(&self, parameters: &[f64]) -> f64 {
        let z = rows(&self.plan.network, parameters, self.batch, self.pass, Some(&self.seen));
        let (width, view) = (self.plan.network.outputs(), self.batch.rows() * self.plan.network.outputs());
        let shown = |z: &[f64]| match &self.batch.compared {
            Some(rows) => rows.iter().flat_map(|&row| &z[row as usize * width..][..width]).copied().collect(),
            None => z.to_vec(),
        };
        let views: Vec<Vec<f64>> = z.chunks(view).map(shown).collect();
        let seen: Vec<f32> = self.seen.chunks(view).flat_map(shown).map(|value| value as f32).collect();
        self.plan.model.twin(&Twin {
            width,
            own: &parameters[self.plan.network.len()..],
            target: &self.target,
            on: Compared {
                rows: views[0].len() / width,
                adjacency: self.batch.adjacency.as_deref(),
                weights: self.batch.weights.as_deref(),
                seed: SEED,
            },
            seen: &seen,
            views: &views,
        })
    }
}

/// What networks make of a batch, one network's rows below the other's. Networks that take the result of the one
/// before, but pass no gradient back, take it from `before` where that is given.
fn rows(towers: &Towers, parameters: &[f64], batch: &Batch, pass: Pass, before: Option<&[f64]>) -> Vec<f64> {
    let first: Vec<Vec<f64>> = {
        let x = batch.x.to_dense();
        (0..x.rows()).map(|row| exact(x.row(row))).collect()
    };
    let (mut all, mut start): (Vec<f64>, usize) = (Vec::new(), 0);
    for (number, network) in towers.networks().iter().enumerate() {
        let own = &parameters[start..start + network.len()];
        let width = network.outputs();
        let input = match number.checked_sub(1).filter(|_| towers.is_detached()) {
            Some(last) => {
                let given = before.unwrap_or(&all);
                given[last * first.len() * width..][..first.len() * width]
                    .chunks(width)
                    .map(<[f64]>::to_vec)
                    .collect()
            }
            None => first.clone(),
        };
        all.extend(naive(network, own, input, towers.pass_of(pass, number)));
        start += network.len();
    }
    all
}

/// What is wrong with the gradient of a model, if anything.
fn fault(model: &Model, inputs: Inputs, graph: &Graph) -> Option<String> {
    let plan = Plan::new(&training(model.clone()), inputs.passes_messages(), 5).unwrap();
    let sampler = sampler(&plan.sampling, inputs, graph, SEED).unwrap();
    let batch = sampler.batch(0).unwrap();
    let mut engine = Cpu::new(&plan, SEED, 1, None);
    let parameters = exact(&engine.parameters_moved(0.05));
    let (loss, gradient) = engine.gradient(&batch, 0).unwrap();
    let reference = Reference::new(&plan, &batch, &engine, &parameters);
    let expected = reference.loss(&parameters);
    if (loss - expected).abs() > 1e-4 * (1.0 + expected.abs()) {
        return Some(format!("the loss is {loss}, not {expected}"));
    }
    let derivative = |at: usize| {
        let moved = |by: f64| {
            let mut moved = parameters.clone();
            moved[at] += by;
            reference.loss(&moved)
        };
        (moved(1e-5) - moved(-1e-5)) / 2e-5
    };
    let derivatives: Vec<f64> = (0..parameters.len()).map(derivative).collect();
    let largest = derivatives.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
    if largest < 1e-6 {
        return Some("the loss does not depend on the parameters".into());
    }
    let differs = |&(_, (got, want)): &(usize, (&f32, &f64))| {
        (*got as f64 - want).abs() > 2e-3 * (want.abs() + 0.05 * largest)
    };
    let (at, (got, want)) = gradient.iter().zip(&derivatives).enumerate().find(differs)?;
    Some(format!("parameter {at} has gradient {got}, not {want} (the largest is {largest})"))
}

/// Whether its messages travel farther than GraphSAINT can weight them.
fn is_far(model: &Model) -> bool {
    matches!(model, Model::Mvgrl(_))
}

/// Every way to sample, by name. GraphZoom trains on the nodes of a coarse graph.
fn all_inputs<'a>(compressed: &'a Compressed, x: &'a Features) -> Vec<(&'static str, Inputs<'a>)> {
    let saint = |sampler| Saint { sampler, budget: Some(10), coverage: 20, ..Saint::default() };
    let sampled = |sampler| Inputs::Saint { features: x, saint: saint(sampler) };
    let partition = compressed.partition();
    vec![
        ("clusters", Inputs::Clusters(compressed)),
        ("the graph", Inputs::Nodes(x)),
        ("some clusters", Inputs::ClusterGcn { features: x, partition, batch_clusters: Some(7) }),
        ("sampled nodes", sampled(SaintSampler::Node)),
        ("sampled edges", sampled(SaintSampler::Edge)),
        ("walks", sampled(SaintSampler::Walk)),
    ]
}

#[test]
fn the_gradient_of_every_model_is_the_derivative_of_its_loss() {
    let (graph, x, partition) = graph();
    let compressed = Compressed::new(&x, &partition).unwrap();
    let mut faults = Vec::new();
    for model in models() {
        for (on, inputs) in all_inputs(&compressed, &x) {
            if is_far(&model) && matches!(inputs, Inputs::Saint { .. }) {
                continue;
            }
            faults.extend(fault(&model, inputs, &graph).map(|fault| format!("{model:?} on {on}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// On the same batch again and again, so that no draw hides whether the loss falls.
#[test]
fn the_loss_of_every_model_falls() {
    let (graph, x, partition) = graph();
    let compressed = Compressed::new(&x, &partition).unwrap();
    for model in models() {
        for (on, inputs) in all_inputs(&compressed, &x) {
            if is_far(&model) && matches!(inputs, Inputs::Saint { .. }) {
                continue;
            }
            let training = Training { learning_rate: 0.01, dropout: 0.0, ..training(model.clone()) };
            let plan = Plan::new(&training, inputs.passes_messages(), 5).unwrap();
            let sampler = sampler(&plan.sampling, inputs, &graph, SEED).unwrap();
            let batch = sampler.batch(0).unwrap();
            let mut engine = Cpu::new(&plan, SEED, 50, None);
            let losses: Vec<f64> = (0..50).map(|_| engine.step_on(&batch, 0).unwrap().loss).collect();
            assert!(losses[49] < losses[0], "{model:?} on {on}: {losses:?}");
        }
    }
}
