//! The losses against their formulas in `f64`.

use super::*;

/// InfoNCE and its gradient before rows are scaled to length one, as the formula has it.
fn info_nce(z: &[f64], width: usize, tau: f64) -> (f64, Vec<f64>) {
    let n = z.len() / width;
    let lengths: Vec<f64> =
        z.chunks(width).map(|row| row.iter().map(|z| z * z).sum::<f64>().sqrt()).collect();
    let p: Vec<f64> = z.iter().enumerate().map(|(at, z)| z / lengths[at / width]).collect();
    let row = |i: usize| &p[i * width..][..width];
    let dot = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>();
    let mut e = vec![0f64; n * n];
    for i in 0..n {
        for j in (0..n).filter(|&j| j != i) {
            e[i * n + j] = (dot(i, j) / tau).exp();
        }
    }
    let sums: Vec<f64> = e.chunks(n).map(|row| row.iter().sum()).collect();
    let partner = |i: usize| (i + n / 2) % n;
    let loss = (0..n).map(|i| sums[i].ln() - dot(i, partner(i)) / tau).sum::<f64>() / n as f64;
    let mut gradient = vec![0f64; z.len()];
    for i in 0..n {
        let mut own = vec![0f64; width];
        for j in 0..n {
            let weight =
                e[i * n + j] * (1.0 / sums[i] + 1.0 / sums[j]) - if j == partner(i) { 2.0 } else { 0.0 };
            own.iter_mut().zip(row(j)).for_each(|(own, p)| *own += weight * p / (n as f64 * tau));
        }
        let along: f64 = own.iter().zip(row(i)).map(|(g, p)| g * p).sum();
        let out = gradient[i * width..][..width].iter_mut().zip(own.iter().zip(row(i)));
        out.for_each(|(out, (g, p))| *out = (g - along * p) / lengths[i]);
    }
    (loss, gradient)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn info_nce_by_panels_is_its_twin_in_f64() {
    // Rows that share a direction, as those of an encoder do; neither a whole tile nor a whole vector.
    let (n, width) = (1402, 96);
    let z: Vec<f32> = numbers(n * width, 9)
        .iter()
        .enumerate()
        .map(|(at, z)| z + if at % width < 30 { 0.8 } else { 0.0 })
        .collect();
    for tau in [0.1, 0.5] {
        let (want, exact) = info_nce(&wide(&z), width, tau);
        for (precision, most) in [(Precision::F32, 1e-5f64), (Precision::Tf32, 2e-3), (Precision::Bf16, 2e-2)]
        {
            let gpu = Gpu::open(precision).unwrap();
            // One panel, and several.
            for (bytes, plain) in [(64 << 20, false), (2 << 20, false), (64 << 20, true), (2 << 20, true)] {
                let loss = PanelContrast::with_panel(&gpu, tau, (n, width), bytes).unwrap();
                let mut loss = if plain { loss.plain() } else { loss };
                let (rows, outcome) = (gpu.upload(&z).unwrap(), gpu.zeros::<f64>(3).unwrap());
                let mut gradient = gpu.upload(&vec![7f32; n * width]).unwrap();
                loss.loss(&gpu, &rows, &mut gradient, &outcome).unwrap();
                let value = gpu.download(&outcome).unwrap()[0];
                let got = gpu.download(&gradient).unwrap();
                let error = apart(&got, &exact);
                println!(
                    "InfoNCE, tau {tau}, {precision:?}, panels of {bytes}, plain {plain}: loss {:.1e}, gradient {error:.1e}",
                    value / want - 1.0
                );
                assert!((value / want - 1.0).abs() < most.min(1e-4) && error < most, "{error}");
            }
        }
    }
}

/// CCA-SSG's loss as its formula has it.
fn cca(z: &[f64], width: usize, lambda: f64) -> f64 {
    let rows = z.len() / 2 / width;
    let mut standard = z.to_vec();
    for view in standard.chunks_mut(rows * width) {
        for j in 0..width {
            let column = |view: &[f64]| view.iter().skip(j).step_by(width).copied().collect::<Vec<f64>>();
            let values = column(view);
            let mean = values.iter().sum::<f64>() / rows as f64;
            let deviation =
                (values.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (rows - 1) as f64).sqrt();
            view.iter_mut().skip(j).step_by(width).for_each(|z| *z = (*z - mean) / deviation);
        }
    }
    let (a, b) = standard.split_at(rows * width);
    let apart = |z: &[f64]| {
        let mut sum = 0.0;
        for j in 0..width {
            for k in 0..width {
                let dot: f64 = (0..rows).map(|i| z[i * width + j] * z[i * width + k]).sum();
                sum += (f64::from(u8::from(j == k)) - dot / rows as f64).powi(2);
            }
        }
        sum
    };
    -a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / rows as f64 + lambda * (apart(a) + apart(b))
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn correlation_is_its_twin_in_f64() {
    let gpu = Gpu::open(Precision::F32).unwrap();
    let (rows, width, lambda) = (300, 12, 0.03);
    let z: Vec<f32> = numbers(2 * rows * width, 4).iter().map(|z| 0.7 * z + 3.0).collect();
    let loss = Correlation::new(&gpu, lambda, rows, width).unwrap();
    let (on_gpu, gradient) = (gpu.upload(&z).unwrap(), gpu.zeros::<f32>(z.len()).unwrap());
    let outcome = gpu.zeros::<f64>(3).unwrap();
    loss.loss(&gpu, &on_gpu, &gradient, &outcome).unwrap();
    let exact = wide(&z);
    let want = cca(&exact, width, lambda);
    let value = gpu.download(&outcome).unwrap()[0];
    assert!((value / want - 1.0).abs() < 1e-5, "{value} {want}");
    let picked: Vec<usize> = (0..z.len()).step_by(29).collect();
    let derivative = |&at: &usize| {
        let moved = |by: f64| {
            let mut moved = exact.clone();
            moved[at] += by;
            cca(&moved, width, lambda)
        };
        (moved(1e-4) - moved(-1e-4)) / 2e-4
    };
    let want: Vec<f64> = picked.iter().map(derivative).collect();
    let got = gpu.download(&gradient).unwrap();
    let error = apart(&picked.iter().map(|&at| got[at]).collect::<Vec<f32>>(), &want);
    assert!(error < 1e-3, "{error}");
}
