//! The loss over the epochs.

use super::WIDTH;
use crate::svg::{Anchor, FAINT, INK, PALETTE, Svg, round_step};

const HEIGHT: f64 = 300.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 32.0;
const BOTTOM: f64 = 240.0;
/// Places along the curve at which the lowest and the highest loss are drawn, where there are more.
const PLACES: usize = 360;
/// Losses that fall by this factor, and stay positive, are drawn on a logarithmic scale.
const MANY_TIMES: f64 = 30.0;

/// The picture, unless there is nothing to draw.
pub(super) fn draw(losses: &[f64]) -> Option<String> {
    let points: Vec<(f64, f64)> =
        (1..).map(f64::from).zip(losses.iter().copied()).filter(|point| point.1.is_finite()).collect();
    let (low, high) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &(_, loss)| (low.min(loss), high.max(loss)));
    let (first, last) = (points.first()?, points.last()?);
    let what = format!("loss from {} to {} over {} epochs", short(first.1), short(last.1), losses.len());
    let mut svg = Svg::inline(WIDTH, HEIGHT, &what);
    let axis = Axis::new(low, high);
    for tick in axis.ticks() {
        let y = axis.height(tick);
        svg.line((LEFT, y), (RIGHT, y), "#e6e6e6", 1.0);
        svg.label((LEFT - 8.0, y + 4.0), 13.0, FAINT, Anchor::End, &axis.name(tick));
    }
    let epochs = losses.len() as f64;
    let x = |epoch: f64| LEFT + (RIGHT - LEFT) * (epoch - 1.0) / (epochs - 1.0).max(1.0);
    let step = round_step(epochs, 6.0).max(1.0);
    let ticks = (1..).map(|i| i as f64 * step).take_while(|&tick| tick <= epochs);
    for tick in std::iter::once(1.0).chain(ticks.filter(|&tick| tick > 1.0 && x(tick) - LEFT > 30.0)) {
        svg.line((x(tick), BOTTOM), (x(tick), BOTTOM + 5.0), INK, 1.0);
        svg.label((x(tick), BOTTOM + 20.0), 13.0, FAINT, Anchor::Middle, &format!("{tick}"));
    }
    svg.line((LEFT, BOTTOM), (RIGHT, BOTTOM), INK, 1.0);
    let place = |&(epoch, loss): &(f64, f64)| (x(epoch), axis.height(loss));
    let drawn: Vec<(f64, f64)> = thinned(&points).iter().map(place).collect();
    match drawn[..] {
        [only] => svg.rect((only.0 - 3.0, only.1 - 3.0), (6.0, 6.0), PALETTE[0]),
        _ => svg.curve(&drawn, PALETTE[0], 2.0),
    }
    svg.label(((LEFT + RIGHT) / 2.0, BOTTOM + 44.0), 14.0, INK, Anchor::Middle, "epoch");
    let scale = if axis.log { "loss, logarithmic scale" } else { "loss" };
    svg.label((8.0, TOP - 14.0), 14.0, INK, Anchor::Start, scale);
    Some(svg.finish() + &format!("<p class=\"faint\">{what}</p>\n"))
}

/// Where a loss stands in the picture.
struct Axis {
    log: bool,
    low: f64,
    high: f64,
}

impl Axis {
    fn new(low: f64, high: f64) -> Self {
        let log = low > 0.0 && high / low > MANY_TIMES;
        let (mut low, mut high) = if log { (low.log10(), high.log10()) } else { (low, high) };
        // A loss that never changes is a line in the middle.
        let room = ((high - low) * 0.04).max(high.abs() * 1e-6).max(1e-9);
        (low, high) = (low - room, high + room);
        Self { log, low, high }
    }

    fn height(&self, loss: f64) -> f64 {
        let value = if self.log { loss.log10() } else { loss };
        BOTTOM - (BOTTOM - TOP) * (value - self.low) / (self.high - self.low)
    }

    /// Round numbers within the range; powers of ten, and if these are few their multiples.
    fn ticks(&self) -> Vec<f64> {
        if !self.log {
            let step = round_step(self.high - self.low, 6.0);
            let first = (self.low / step).ceil();
            let ticks = (0..8).map(|i| (first + i as f64) * step);
            return ticks.take_while(|&tick| tick <= self.high).collect();
        }
        let decades = self.high - self.low;
        let multiples: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let every = (decades / 6.0).ceil().max(1.0) as usize;
        let powers = (self.low.floor() as i32..=self.high.ceil() as i32).step_by(every);
        let all = powers.flat_map(|power| multiples.iter().map(move |multiple| multiple * 10f64.powi(power)));
        all.filter(|tick| (self.low..=self.high).contains(&tick.log10())).collect()
    }

    fn name(&self, tick: f64) -> String {
        let step = if self.log { tick } else { round_step(self.high - self.low, 6.0) };
        let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        match tick.abs() {
            0.0 => "0".into(),
            large if !(1e-4..1e6).contains(&large) && decimals != 0 || large >= 1e6 => format!("{tick:.1e}"),
            _ => format!("{tick:.decimals$}"),
        }
    }
}

/// The curve in at most two points a place, so that a peak of one epoch stays.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 2 * PLACES {
        return points.to_vec();
    }
    let extremes = |block: &[(f64, f64)]| {
        let by_loss = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (low, high) = (block.iter().min_by(by_loss), block.iter().max_by(by_loss));
        let mut two: Vec<(f64, f64)> = low.into_iter().chain(high).copied().collect();
        two.sort_by(|a, b| a.0.total_cmp(&b.0));
        two
    };
    points.chunks(points.len().div_ceil(PLACES)).flat_map(extremes).collect()
}

fn short(loss: f64) -> String {
    match loss.abs() {
        large if large >= 1e6 || (large > 0.0 && large < 1e-3) => format!("{loss:.3e}"),
        _ => format!("{loss:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_suit_the_losses() {
        let falling = Axis::new(0.012, 40.0);
        assert!(falling.log && falling.ticks() == [0.01, 0.1, 1.0, 10.0]);
        let names: Vec<String> =
            Axis::new(-3.2, 1.9).ticks().iter().map(|&t| Axis::new(-3.2, 1.9).name(t)).collect();
        assert_eq!(names, ["-3", "-2", "-1", "0", "1", "2"]);
        let narrow = Axis::new(1.0001, 1.0002);
        assert!(!narrow.log && narrow.ticks().len() >= 3);
        assert_eq!(narrow.name(narrow.ticks()[0]).len(), "1.00010".len());
        for same in [0.0, 5.0, -1e9, 1e-12] {
            let axis = Axis::new(same, same);
            assert!((axis.height(same) - (TOP + BOTTOM) / 2.0).abs() < 1e-6, "{same}");
        }
    }

    #[test]
    fn a_peak_survives_thinning() {
        let mut points: Vec<(f64, f64)> = (0..50_000).map(|i| (i as f64, 1.0)).collect();
        points[31_234].1 = 9.0;
        let drawn = thinned(&points);
        assert!(drawn.len() <= 2 * PLACES && drawn.contains(&(31_234.0, 9.0)));
        assert!(drawn.windows(2).all(|two| two[0].0 <= two[1].0));
    }

    #[test]
    fn odd_losses_are_drawn_or_left_out() {
        assert!(draw(&[]).is_none() && draw(&[f64::NAN]).is_none());
        for losses in [&[1.0][..], &[1.0, 1.0], &[f64::INFINITY, 2.0, -1e300], &[0.0; 5]] {
            let svg = draw(losses).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{losses:?}: {svg}");
        }
    }
}
