//! Whole steps against the CPU's engine, and against themselves.

use super::*;
use crate::{Compute, Device, Trainer};

fn training(name: &str, layers: usize) -> Training {
    let model = Model::named(name).unwrap();
    Training { model, hidden: 48, layers, epochs: 10, ..Training::default() }
}

/// The gradient of the first step by both engines.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_first_gradient_is_the_cpu_s() {
    let (graph, x, partition) = data(900, 20, 150);
    let compressed = Compressed::new(&x, &partition).unwrap();
    let inputs = Inputs::Clusters(&compressed);
    for name in ["grace", "cca-ssg", "sce", "coles"] {
        for layers in [1, 2] {
            let plan = Plan::new(&training(name, layers), false, 20).unwrap();
            let sampler = sampler(&plan.sampling, inputs, &graph, SEED).unwrap();
            let mut cpu = Cpu::new(&plan, SEED, 1, None);
            let start = cpu.state().unwrap().clone();
            let mut cuda = Cuda::new(&plan, inputs, &*sampler, SEED, Precision::F32, &start).unwrap();
            let (loss, gradient) = cpu.gradient(&sampler.batch(0).unwrap(), 0).unwrap();
            let same = cuda.loss_with(&start.parameters, &*sampler, 0).unwrap();
            let outcome = cuda.step(&*sampler, 0).unwrap();
            assert!((outcome.loss / loss - 1.0).abs() < 1e-5, "{name}: {} {loss}", outcome.loss);
            assert_eq!(same, outcome.loss);
            let error = apart(&cuda.last_gradient().unwrap(), &wide(&gradient));
            println!("{name}, {layers} layers: gradient differs by {error:.1e}");
            assert!(outcome.finite && error < 1e-4, "{name}: {error}");
        }
    }
}

/// Parameters and losses after some epochs.
fn trained(
    name: &str,
    compute: Compute,
    seed: Seed,
    data: &(Graph, Features, Partition),
) -> (Vec<f32>, Vec<f64>) {
    let compressed = Compressed::new(&data.1, &data.2).unwrap();
    let inputs = Inputs::Clusters(&compressed);
    let mut trainer =
        Trainer::new(&training(name, 1), inputs, &data.0, seed, None).unwrap().on(compute).unwrap();
    assert_eq!(trainer.device() == "cpu", compute.device == Device::Cpu);
    while !trainer.is_done() {
        trainer.step().unwrap();
    }
    (trainer.parameters().unwrap().to_vec(), trainer.losses().to_vec())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn ten_epochs_are_the_cpu_s_and_repeat() {
    let data = data(4000, 64, 700);
    for name in ["grace", "cca-ssg", "sce", "coles"] {
        let (want, losses) = trained(name, Compute::CPU, SEED, &data);
        let (other, _) = trained(name, Compute::CPU, Seed(4), &data);
        let want = wide(&want);
        let spread = apart(&other, &want);
        for (precision, most) in [(Precision::F32, 1e-4), (Precision::Tf32, 0.1), (Precision::Bf16, 0.3)] {
            let compute = Compute { device: Device::Cuda, precision };
            let (got, found) = trained(name, compute, SEED, &data);
            let error = apart(&got, &want);
            let loss = found.iter().zip(&losses).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
            println!(
                "{name}, {precision:?}: ten epochs differ by {error:.1e} in parameters, {loss:.1e} in losses; seeds by {spread:.1e}"
            );
            let (again, same) = trained(name, compute, SEED, &data);
            assert!(got == again && found == same, "{name}: the same bytes");
            assert!(error < most, "{name} {precision:?}: {error}");
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn what_the_gpu_began_the_cpu_can_finish() {
    let (graph, x, partition) = data(900, 20, 150);
    let compressed = Compressed::new(&x, &partition).unwrap();
    let inputs = Inputs::Clusters(&compressed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    let gpu = Compute { device: Device::Cuda, precision: Precision::F32 };
    let new = |compute| {
        Trainer::new(&training("grace", 1), inputs, &graph, SEED, None).unwrap().on(compute).unwrap()
    };
    let mut whole = new(gpu);
    while !whole.is_done() {
        whole.step().unwrap();
    }
    let mut first = new(gpu);
    (0..4).for_each(|epoch| assert_eq!(first.step().unwrap().number, epoch + 1));
    first.save(&path).unwrap();
    for (compute, most) in [(gpu, 0.0), (Compute::CPU, 1e-4)] {
        let mut second = new(compute);
        second.resume(&path).unwrap();
        while !second.is_done() {
            second.step().unwrap();
        }
        let error = apart(second.parameters().unwrap(), &wide(whole.parameters().unwrap()));
        assert!(error <= most, "{error}");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn memory_is_as_predicted() {
    let data = data(60_000, 128, 20_000);
    let compressed = Compressed::new(&data.1, &data.2).unwrap();
    let inputs = Inputs::Clusters(&compressed);
    for name in ["grace", "cca-ssg", "sce", "coles"] {
        let plan = Plan::new(&Training { hidden: 512, ..training(name, 1) }, false, 128).unwrap();
        let sampler = sampler(&plan.sampling, inputs, &data.0, SEED).unwrap();
        let start = Cpu::new(&plan, SEED, 1, None).state().unwrap().clone();
        let before = Gpu::open(Precision::Tf32).unwrap().free_memory().unwrap();
        let mut cuda = Cuda::new(&plan, inputs, &*sampler, SEED, Precision::Tf32, &start).unwrap();
        (0..3).for_each(|step| assert!(cuda.step(&*sampler, step).unwrap().finite));
        let taken = before.saturating_sub(cuda.gpu.free_memory().unwrap());
        let predicted = super::super::reach::bytes(&plan, &compressed, Precision::Tf32);
        println!("{name}: {} MiB predicted, {} MiB taken", predicted >> 20, taken >> 20);
    }
}
