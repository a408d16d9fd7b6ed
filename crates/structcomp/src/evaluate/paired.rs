//! Whether one embedding is better than another on the same splits.

use crate::{Error, Result};
use serde::Serialize;

/// The comparison of two embeddings on the same splits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The mean accuracy of the first minus that of the second.
    pub difference: f64,
    /// The p-value of a two-sided paired t-test. Splits of one graph share nodes, so it is too small rather than too
    /// large.
    pub p_value: f64,
}

impl Comparison {
    /// Compares the accuracies `a` with `b`, split by split.
    ///
    /// ```
    /// let comparison = structcomp::evaluate::Comparison::paired(&[81.0, 82.0, 84.0], &[80.0, 80.0, 81.0])?;
    /// assert_eq!(comparison.difference, 2.0);
    /// assert!((comparison.p_value - 0.0742).abs() < 1e-4);
    /// # Ok::<(), structcomp::Error>(())
    /// ```
    pub fn paired(a: &[f64], b: &[f64]) -> Result<Self> {
        if a.len() != b.len() || a.len() < 2 {
            return Err(Error::Input(format!(
                "a paired comparison needs two or more accuracies on the same splits, but has {} and {}",
                a.len(),
                b.len()
            )));
        }
        let runs = a.len() as f64;
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let difference = differences.iter().sum::<f64>() / runs;
        let variance = differences.iter().map(|d| (d - difference).powi(2)).sum::<f64>() / (runs - 1.0);
        let p_value = if variance > 0.0 {
            two_sided(difference / (variance / runs).sqrt(), runs - 1.0)
        } else {
            // The same difference on every split: there is no chance involved.
            (difference == 0.0) as u8 as f64
        };
        Ok(Self { difference, p_value })
    }
}

/// The probability that Student's t with `freedom` degrees of freedom is at least as far from 0 as `t`.
fn two_sided(t: f64, freedom: f64) -> f64 {
    let sum = freedom + t * t;
    incomplete_beta(freedom / sum, t * t / sum, freedom / 2.0, 0.5)
}

/// The regularized incomplete beta function I_x(a, b) for 0 ≤ x ≤ 1. `y` = 1 - x is passed too, since computing it
/// here would lose digits where it is small.
fn incomplete_beta(x: f64, y: f64, a: f64, b: f64) -> f64 {
    // The fraction converges quickly only on the other side; I_x(a, b) = 1 - I_y(b, a).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(y, x, b, a);
    }
    if x <= 0.0 {
        return 0.0;
    }
    let log_beta = ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
    (a * x.ln() + b * y.ln() - log_beta).exp() / a * beta_fraction(x, a, b)
}

/// 1 / (1 + d₁ / (1 + d₂ / (1 + …))), evaluated from the front by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut value, mut c, mut d) = (1.0, f64::INFINITY, 1.0);
    for i in 1..10_000 {
        let m = (i / 2) as f64;
        let term = match i % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        c = away_from_zero(1.0 + term / c);
        d = 1.0 / away_from_zero(1.0 + term * d);
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The logarithm of Γ(x) for x > 0: Stirling's series for large x, Γ(x) = Γ(x + 1) / x for small x.
fn ln_gamma(x: f64) -> f64 {
    if x < 15.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let inverse = 1.0 / (x * x);
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    let tail = series.iter().rev().fold(0.0, |sum, term| sum * inverse + term) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn probabilities_match_closed_forms() {
        for t in [1e-6, 0.1, 0.7, 1.0, 2.5, 13.0, 400.0] {
            let closed = [
                (1.0, 1.0 - 2.0 / PI * f64::atan(t)),
                (2.0, 1.0 - t / f64::sqrt(2.0 + t * t)),
                (4.0, {
                    let s = t / f64::sqrt(4.0 + t * t);
                    1.0 - s * (3.0 - s * s) / 2.0
                }),
            ];
            for (freedom, want) in closed {
                let got = two_sided(t, freedom);
                assert!((got - want).abs() < 1e-13, "t {t}, {freedom}: {got}, not {want}");
                assert_eq!(got, two_sided(-t, freedom));
            }
        }
        assert_eq!(two_sided(0.0, 49.0), 1.0);
    }

    #[test]
    fn probabilities_match_tables() {
        // Quantiles of Student's t as printed in tables, three decimals each.
        for (t, freedom, chance) in
            [(2.010, 49.0, 0.05), (2.680, 49.0, 0.01), (2.262, 9.0, 0.05), (1.984, 99.0, 0.05)]
        {
            assert!((two_sided(t, freedom) - chance).abs() < 1e-4, "{t} {freedom}");
        }
    }

    #[test]
    fn gamma_is_exact_at_whole_and_half_numbers() {
        assert!((ln_gamma(0.5) - PI.sqrt().ln()).abs() < 1e-13);
        assert!((ln_gamma(5.0) - 24f64.ln()).abs() < 1e-13);
        assert!((ln_gamma(21.0) - 2_432_902_008_176_640_000f64.ln()).abs() < 1e-13);
    }

    #[test]
    fn pairs_are_compared_as_computed_by_hand() {
        // Differences 1, 2, 3: t = 2 / (1 / √3) with two degrees of freedom.
        let t = 2.0 * 3f64.sqrt();
        let comparison = Comparison::paired(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(comparison.difference, 2.0);
        assert!((comparison.p_value - (1.0 - t / (2.0 + t * t).sqrt())).abs() < 1e-14);
        let back = Comparison::paired(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap();
        assert_eq!((back.difference, back.p_value), (-2.0, comparison.p_value));
        let same = Comparison::paired(&[5.0, 6.0], &[5.0, 6.0]).unwrap();
        assert_eq!((same.difference, same.p_value), (0.0, 1.0));
        assert_eq!(Comparison::paired(&[6.0, 7.0], &[5.0, 6.0]).unwrap().p_value, 0.0);
        assert!(Comparison::paired(&[1.0], &[2.0]).is_err());
        assert!(Comparison::paired(&[1.0, 2.0], &[2.0]).is_err());
    }
}
