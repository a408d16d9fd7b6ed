//! How far messages travel: a polynomial in Â for each layer of an encoder.

use crate::{Error, Features, Propagation, Result};
use serde::{Deserialize, Serialize};

/// The weight of every number of hops, from none on: Σ cₖ Âᵏ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hops(Vec<f32>);

impl Hops {
    /// No message passing: I.
    pub(crate) fn none() -> Self {
        Self::power(0)
    }

    /// Âᵏ.
    pub(crate) fn power(hops: usize) -> Self {
        let mut weights = vec![0.0; hops + 1];
        weights[hops] = 1.0;
        Self(weights)
    }

    /// αI + (1 − α)/K Σ Âᵏ.
    pub(crate) fn ssgc(hops: usize, alpha: f64) -> Self {
        let mut weights = vec![((1.0 - alpha) / hops.max(1) as f64) as f32; hops + 1];
        weights[0] = if hops == 0 { 1.0 } else { alpha as f32 };
        Self(weights)
    }

    /// I + Âʳ, or I for zero hops.
    pub(crate) fn own_and_far(hops: usize) -> Self {
        let mut weights = Self::power(hops).0;
        weights[0] = 1.0;
        Self(weights)
    }

    /// Personalised PageRank α(I − (1 − α)Â)⁻¹ by power iteration. Each iteration reduces the error by the
    /// factor 1 − α.
    pub(crate) fn page_rank(alpha: f64, iterations: usize) -> Self {
        let mut weights: Vec<f32> =
            (0..iterations).map(|hops| (alpha * (1.0 - alpha).powi(hops as i32)) as f32).collect();
        weights.push((1.0 - alpha).powi(iterations as i32) as f32);
        Self(weights)
    }

    /// Returns an error for coefficients that no encoder has, such as those of a damaged file.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.len() {
            1..=10_001 if self.0.iter().all(|weight| weight.is_finite()) => Ok(()),
            _ => Err(Error::Input("the hops of an encoder make no sense".into())),
        }
    }

    #[cfg(any(test, feature = "cuda"))]
    pub(crate) fn weights(&self) -> &[f32] {
        &self.0
    }

    /// How far messages travel at most.
    pub(crate) fn most(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::none()
    }

    /// k if the polynomial is Âᵏ.
    pub(crate) fn as_power(&self) -> Option<usize> {
        let (last, others) = self.0.split_last()?;
        (*last == 1.0 && others.iter().all(|&weight| weight == 0.0)).then_some(others.len())
    }

    /// Applies the polynomial to `x` by Horner's rule, where `hop` multiplies by Â.
    pub(crate) fn apply<E>(
        &self,
        x: &[f32],
        hop: impl Fn(&[f32]) -> std::result::Result<Vec<f32>, E>,
    ) -> std::result::Result<Vec<f32>, E> {
        let mut weights = self.0.iter().rev();
        let last = *weights.next().unwrap_or(&1.0);
        let mut out: Vec<f32> = x.iter().map(|x| last * x).collect();
        for &weight in weights {
            out = hop(&out)?;
            if weight != 0.0 {
                out.iter_mut().zip(x).for_each(|(out, x)| *out += weight * x);
            }
        }
        Ok(out)
    }

    /// Applies the polynomial to row-major `x` with `width` columns.
    pub(crate) fn of_rows(&self, propagation: &Propagation, x: &[f32], width: usize) -> Result<Vec<f32>> {
        match self.as_power() {
            Some(hops) => {
                let mut out = vec![0.0; x.len()];
                propagation.power_into(x, width, hops, &mut out)?;
                Ok(out)
            }
            None => self.apply(x, |rows| {
                let mut out = vec![0.0; rows.len()];
                propagation.hop_into(rows, width, &mut out)?;
                Ok(out)
            }),
        }
    }

    /// Applies the polynomial to features; a power of sparse features may stay sparse.
    pub(crate) fn of_features(&self, propagation: &Propagation, x: &Features) -> Result<Features> {
        if let Some(hops) = self.as_power() {
            return propagation.power(x, hops);
        }
        let x = x.to_dense();
        let out = self.of_rows(propagation, x.values(), x.cols())?;
        crate::Dense::new(x.rows(), x.cols(), out).map(Features::Dense)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dense, Graph, Normalization};

    #[test]
    fn a_polynomial_is_the_sum_of_its_powers() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (0, 2)]).unwrap();
        let propagation = Propagation::new(&graph, Normalization::Symmetric);
        let x: Vec<f32> = (0..10).map(|i| (i * 7 % 5) as f32 - 1.5).collect();
        let power = |hops: usize| Hops::power(hops).of_rows(&propagation, &x, 2).unwrap();
        let powers: Vec<Vec<f32>> = (0..=3).map(power).collect();
        let features = Features::Dense(Dense::new(5, 2, x.clone()).unwrap());
        let got = Hops::ssgc(3, 0.1).of_features(&propagation, &features).unwrap().to_dense();
        for at in 0..10 {
            let want = 0.1 * x[at] + 0.3 * (powers[1][at] + powers[2][at] + powers[3][at]);
            assert!((got.values()[at] - want).abs() < 1e-5);
        }
        assert_eq!(Hops::ssgc(0, 0.1), Hops::none());
        assert_eq!((Hops::own_and_far(0), Hops::own_and_far(2)), (Hops::none(), Hops(vec![1.0, 0.0, 1.0])));
        // y = αx + (1 − α)Ây holds for PageRank.
        let ranked = Hops::page_rank(0.2, 60).of_rows(&propagation, &x, 2).unwrap();
        let heard = Hops::power(1).of_rows(&propagation, &ranked, 2).unwrap();
        assert!((0..10).all(|at| (ranked[at] - 0.2 * x[at] - 0.8 * heard[at]).abs() < 1e-4));
        assert_eq!((Hops::power(3).as_power(), Hops::ssgc(3, 0.1).as_power()), (Some(3), None));
        let by_hand = Hops::power(2).apply(&x, |rows| {
            let mut out = vec![0.0; 10];
            propagation.hop_into(rows, 2, &mut out).map(|()| out)
        });
        assert!(by_hand.unwrap().iter().zip(&powers[2]).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
