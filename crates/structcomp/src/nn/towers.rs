//! Networks that are trained together, and how they are put together.

use super::{Network, Pass, Trace};
use crate::graph::Hops;
use crate::{Dense, Features, Seed};

/// How the networks of a model stand to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Beside {
    /// There is one.
    #[default]
    Alone,
    /// Every layer is a network of its own, whose input is the result of the one before and passes no
    /// gradient back; the embedding is the last result.
    Detached,
    /// A second one sees the same rows and passes its messages so far; the embedding is the sum of both.
    Second(Hops),
}

/// One network, or some of the same width whose parameters follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Towers {
    networks: Vec<Network>,
    detached: bool,
}

/// What `forward` leaves for `backward`: of each network its input, where that is not x, and its trace.
pub(crate) struct Traces(Vec<(Option<Features>, Trace)>);

impl Towers {
    pub(crate) fn new(networks: Vec<Network>, detached: bool) -> Self {
        Self { networks, detached }
    }

    pub(crate) fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// The only network, if there is no other.
    pub(crate) fn single(&self) -> Option<&Network> {
        if let [network] = &self.networks[..] { Some(network) } else { None }
    }

    /// Whether each network sees what the one before gives.
    pub(crate) fn is_detached(&self) -> bool {
        self.detached
    }

    /// The pass as one of the networks sees it, for the twin in `f64`.
    #[cfg(test)]
    pub(crate) fn pass_of<'a>(&self, pass: Pass<'a>, network: usize) -> Pass<'a> {
        apart(pass, network)
    }

    /// How many parameters there are.
    pub(crate) fn len(&self) -> usize {
        self.networks.iter().map(Network::len).sum()
    }

    /// The width of the result.
    pub(crate) fn outputs(&self) -> usize {
        self.networks.last().map_or(0, Network::outputs)
    }

    pub(crate) fn initial(&self, seed: Seed) -> Vec<f32> {
        let of = |(at, network): (usize, &Network)| match at {
            0 => network.initial(seed),
            _ => network.initial(Seed(seed.key("towers") ^ at as u64)),
        };
        self.networks.iter().enumerate().flat_map(of).collect()
    }

    /// Running means and variances of batch norm before anything was seen.
    pub(crate) fn initial_statistics(&self) -> Vec<f32> {
        self.networks.iter().flat_map(Network::initial_statistics).collect()
    }

    /// The running statistics after a pass.
    pub(crate) fn remembered(&self, traces: &Traces, running: &[f32]) -> Vec<f32> {
        let mut running = running.to_vec();
        let mut left = &mut running[..];
        for (network, (_, trace)) in self.networks.iter().zip(&traces.0) {
            let (own, rest) = left.split_at_mut(network.initial_statistics().len());
            network.remember(trace, own);
            left = rest;
        }
        running
    }

    /// The results of all networks, one below the other.
    pub(crate) fn forward(&self, parameters: &[f32], x: &Features, pass: Pass) -> (Vec<f32>, Traces) {
        let (mut all, mut traces) = (Vec::new(), Vec::with_capacity(self.networks.len()));
        let mut start = 0;
        let mut before: Option<Features> = None;
        for (at, network) in self.networks.iter().enumerate() {
            let own = &parameters[start..start + network.len()];
            start += own.len();
            let (z, trace) = network.forward(own, before.as_ref().unwrap_or(x), apart(pass, at));
            traces.push((before.take(), trace));
            if self.detached && at + 1 < self.networks.len() {
                before = Some(Features::Dense(Dense::computed(network.outputs(), z.clone())));
            }
            if all.is_empty() {
                all = z;
            } else {
                all.extend_from_slice(&z);
            }
        }
        (all, Traces(traces))
    }

    /// The gradient of the parameters, given that of the results; it is written to `gradient`.
    pub(crate) fn backward(
        &self,
        parameters: &[f32],
        x: &Features,
        pass: Pass,
        traces: Traces,
        mut of_output: Vec<f32>,
        gradient: &mut [f32],
    ) {
        let mut end = self.len();
        for ((at, network), (input, trace)) in self.networks.iter().enumerate().zip(traces.0).rev() {
            let own = end - network.len()..end;
            end = own.start;
            // The first takes all that is left, without the copy that splitting makes.
            let of_own = match at {
                0 => std::mem::take(&mut of_output),
                _ => of_output.split_off(at * x.rows() * network.outputs()),
            };
            let x = input.as_ref().unwrap_or(x);
            let of_own_parameters = &mut gradient[own.clone()];
            network.backward(&parameters[own], x, apart(pass, at), trace, of_own, of_own_parameters);
        }
    }
}

/// The same pass with a noise of its own for each network.
fn apart<'a>(pass: Pass<'a>, network: usize) -> Pass<'a> {
    let noise = pass.noise.map(|noise| Seed(noise.0 ^ (network as u64) << 32));
    Pass { noise, ..pass }
}

#[cfg(test)]
mod tests {
    use super::super::{Activation, Layer};
    use super::*;

    /// Rows of the first network, of the second, and the gradient of both for a loss Σ r·z.
    fn both(detached: bool, second_inputs: usize) -> (Towers, Vec<f32>, Features, Vec<f32>, Vec<f32>) {
        let layer = |inputs| {
            let plain = Layer::plain(inputs, 4, Activation::Prelu, Hops::none());
            Network::new(vec![Layer { norm: true, dropout: 0.2, ..plain }])
        };
        let towers = Towers::new(vec![layer(3), layer(second_inputs)], detached);
        let values = (0..18).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let x = Features::Dense(Dense::computed(3, values));
        let pass = Pass { views: 1, noise: Some(Seed(5)), ..Pass::default() };
        let parameters = towers.initial(Seed(1));
        let (z, traces) = towers.forward(&parameters, &x, pass);
        let r: Vec<f32> = (0..z.len()).map(|i| (i * 5 % 7) as f32 - 3.0).collect();
        let mut gradient = vec![9.0; towers.len()];
        towers.backward(&parameters, &x, pass, traces, r, &mut gradient);
        (towers, parameters, x, z, gradient)
    }

    /// The same of one of them by itself.
    fn alone(network: &Network, parameters: &[f32], x: &Features, at: usize) -> (Vec<f32>, Vec<f32>) {
        let pass = apart(Pass { views: 1, noise: Some(Seed(5)), ..Pass::default() }, at);
        let (z, trace) = network.forward(parameters, x, pass);
        let r = (at * z.len()..(at + 1) * z.len()).map(|i| (i * 5 % 7) as f32 - 3.0).collect();
        let mut gradient = vec![0.0; network.len()];
        network.backward(parameters, x, pass, trace, r, &mut gradient);
        (z, gradient)
    }

    #[test]
    fn networks_beside_each_other_see_the_same_rows() {
        let (towers, parameters, x, z, gradient) = both(false, 3);
        let (first, second) = parameters.split_at(towers.networks()[0].len());
        assert_ne!(first, second);
        let one = alone(&towers.networks()[0], first, &x, 0);
        let other = alone(&towers.networks()[1], second, &x, 1);
        assert_eq!(z, [one.0, other.0].concat());
        assert_eq!(gradient, [one.1, other.1].concat());
    }

    #[test]
    fn detached_networks_see_rows_and_pass_no_gradient() {
        let (towers, parameters, x, z, gradient) = both(true, 4);
        let (first, second) = parameters.split_at(towers.networks()[0].len());
        let one = alone(&towers.networks()[0], first, &x, 0);
        let between = Features::Dense(Dense::computed(4, one.0.clone()));
        let other = alone(&towers.networks()[1], second, &between, 1);
        assert_eq!(z, [one.0, other.0].concat());
        assert_eq!(gradient, [one.1, other.1].concat(), "the second loss does not reach the first network");
    }
}
