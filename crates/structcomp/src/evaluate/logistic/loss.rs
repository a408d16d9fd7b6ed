//! The logistic loss of margins, in full double precision and in operations that vector units have.

use std::array::from_fn;

/// log(1 + exp(-m)) for margins m of any size, and 1 / (1 + exp(m)), the probability of the wrong class.
#[inline(always)]
pub(super) fn losses_and_doubts<const N: usize>(m: [f64; N]) -> ([f64; N], [f64; N]) {
    let e = exp_of_negative(m.map(|m| -m.abs()));
    let logarithms = ln_1p_of_share(e);
    let losses = from_fn(|at| logarithms[at] + (-m[at]).max(0.0));
    let doubts = from_fn(|at| if m[at] > 0.0 { e[at] } else { 1.0 } / (1.0 + e[at]));
    (losses, doubts)
}

/// eˣ for x ≤ 0: 2ⁿ for the integer part of x/ln 2, and the series for the rest. Below -708 it is constant.
#[inline(always)]
fn exp_of_negative<const N: usize>(x: [f64; N]) -> [f64; N] {
    /// Doubles from here on are integers, and their last bits are the difference from this one.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    /// ln 2 in two parts, the first so short that its products with integers are exact.
    const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
    let x = x.map(|x| x.max(-708.0));
    let shifted = x.map(|x| x * std::f64::consts::LOG2_E + WHOLE);
    let whole = shifted.map(|shifted| shifted - WHOLE);
    let rest: [f64; N] = from_fn(|at| (x[at] - whole[at] * LN_2[0]) - whole[at] * LN_2[1]);
    let mut series = [1.0; N];
    for term in (1..=14).rev() {
        let share = 1.0 / term as f64;
        series = from_fn(|at| 1.0 + series[at] * rest[at] * share);
    }
    let exponent = |shifted: f64| shifted.to_bits().wrapping_sub(WHOLE.to_bits()).wrapping_add(1023) << 52;
    from_fn(|at| series[at] * f64::from_bits(exponent(shifted[at])))
}

/// log(1 + e) for e from 0 to 1, as 2 artanh(e / (2 + e)): the series in squares of at most 1/9.
#[inline(always)]
fn ln_1p_of_share<const N: usize>(e: [f64; N]) -> [f64; N] {
    let s = e.map(|e| e / (2.0 + e));
    let mut series = [0.0; N];
    for term in (0..=16).rev() {
        let share = 1.0 / (2 * term + 1) as f64;
        series = from_fn(|at| series[at] * (s[at] * s[at]) + share);
    }
    from_fn(|at| 2.0 * s[at] * series[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_doubts_are_exact_to_the_last_digits() {
        for i in -70_000..=70_000 {
            let m = i as f64 / 100.0;
            let ([loss, same], [doubt, _]) = losses_and_doubts([m; 2]);
            let expected = ((-m.abs()).exp().ln_1p() + (-m).max(0.0), 1.0 / (1.0 + m.exp()));
            assert!((loss / expected.0 - 1.0).abs() < 2e-15 && same == loss, "{m}: {loss}");
            assert!((doubt / expected.1 - 1.0).abs() < 2e-15, "{m}: {doubt}");
        }
    }

    #[test]
    fn margins_may_be_of_any_size() {
        let (losses, doubts) = losses_and_doubts([-1e300, 0.0, 1e300, f64::NAN]);
        assert_eq!((losses[0], doubts[0], doubts[1]), (1e300, 1.0, 0.5));
        assert!((losses[1] - 2f64.ln()).abs() < 2e-16);
        assert!(losses[2] < 1e-300 && doubts[2] < 1e-300, "{losses:?} {doubts:?}");
    }
}
