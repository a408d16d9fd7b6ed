//! Axes: where values lie, and their ticks.

/// The positions of values between two ends.
pub(crate) struct Scale {
    pub(crate) log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale for these values, from one end to the other; none without finite values.
    pub(crate) fn over(values: impl Iterator<Item = f64>, log: bool, (from, to): (f64, f64)) -> Option<Self> {
        let usable = values.filter(|value| value.is_finite() && (!log || *value > 0.0));
        let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            let value = if log { value.log10() } else { value };
            (low.min(value), high.max(value))
        });
        if low > high {
            return None;
        }
        let room = ((high - low) * 0.04).max(high.abs() * 1e-6).max(1e-9);
        Some(Self { log, low: low - room, high: high + room, from, to })
    }

    /// Whether the value can be drawn.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }

    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + (self.to - self.from) * share
    }

    /// Round values within the range, at most eight.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let within = |tick: &f64| (self.low..=self.high).contains(tick);
        if !self.log {
            let step = round_step(self.high - self.low, 6.0);
            let first = (self.low / step).ceil();
            return (0..8).map(|i| (first + i as f64) * step).filter(within).collect();
        }
        let decades = self.high - self.low;
        let multiples: &[f64] = if decades > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let every = (decades / 6.0).ceil().max(1.0) as usize;
        let powers = (self.low.floor() as i32..=self.high.ceil() as i32).step_by(every);
        let all = powers.flat_map(|power| multiples.iter().map(move |times| times * 10f64.powi(power)));
        all.filter(|tick| within(&tick.log10())).collect()
    }

    pub(crate) fn label(&self, tick: f64) -> String {
        if tick == 0.0 {
            return "0".into();
        }
        let size = tick.abs();
        if !(1e-4..1e6).contains(&size) {
            return format!("{tick:.0e}");
        }
        // As many decimals as tell ticks apart.
        let step = if self.log { size } else { round_step(self.high - self.low, 6.0) };
        let decimals = (-(step * 1.0001).log10().floor()).max(0.0) as usize;
        format!("{tick:.decimals$}")
    }
}

/// A step of 1, 2 or 5 times a power of ten that divides `most` into at most `steps` parts.
pub(crate) fn round_step(most: f64, steps: f64) -> f64 {
    let rough = (most / steps).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(low: f64, high: f64, log: bool) -> Scale {
        Scale::over([low, high].into_iter(), log, (0.0, 100.0)).unwrap()
    }

    #[test]
    fn ticks_are_round_and_few() {
        let labels = |scale: &Scale| scale.ticks().iter().map(|&tick| scale.label(tick)).collect::<Vec<_>>();
        assert_eq!(labels(&scale(70.2, 81.0, false)), ["70", "72", "74", "76", "78", "80"]);
        assert_eq!(labels(&scale(-3.2, 1.9, false)), ["-3", "-2", "-1", "0", "1", "2"]);
        assert_eq!(labels(&scale(0.01, 1.0, true)), ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"]);
        assert_eq!(labels(&scale(0.5, 0.501, false)).len(), 6);
        let narrow = scale(1.0001, 1.0002, false);
        assert!(narrow.ticks().len() >= 3 && narrow.label(narrow.ticks()[0]).len() == "1.00010".len());
        assert!(scale(1e-6, 1e9, true).ticks().len() <= 8);
    }

    #[test]
    fn a_constant_is_in_the_middle() {
        for same in [0.0, 5.0, -1e9, 1e-12] {
            assert!((scale(same, same, false).place(same) - 50.0).abs() < 1e-6, "{same}");
        }
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(10.0, 5.0), 2.0);
        assert_eq!(round_step(99.0, 5.0), 20.0);
        assert_eq!(round_step(230.0, 5.0), 50.0);
        assert!((round_step(0.9, 5.0) - 0.2).abs() < 1e-12);
    }
}
