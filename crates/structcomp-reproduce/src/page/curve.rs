//! The loss over the epochs.

use super::WIDTH;
use crate::plot::{Anchor, FAINT, GRID, INK, PALETTE, Scale, Svg, round_step};

const HEIGHT: f64 = 300.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = WIDTH - 16.0;
const TOP: f64 = 32.0;
const BOTTOM: f64 = 240.0;
/// Longer curves are drawn by the lowest and highest loss of this many intervals.
const INTERVALS: usize = 360;
/// Positive losses that fall by more than this factor are drawn on a logarithmic scale.
const LARGE_RATIO: f64 = 30.0;

/// The picture; none without finite losses.
pub(super) fn draw(losses: &[f64]) -> Option<String> {
    let points: Vec<(f64, f64)> =
        (1..).map(f64::from).zip(losses.iter().copied()).filter(|point| point.1.is_finite()).collect();
    let (low, high) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &(_, loss)| (low.min(loss), high.max(loss)));
    let (first, last) = (points.first()?, points.last()?);
    let what = format!("loss from {} to {} over {} epochs", short(first.1), short(last.1), losses.len());
    let mut svg = Svg::inline(WIDTH, HEIGHT, &what);
    let log = low > 0.0 && high / low > LARGE_RATIO;
    let scale = Scale::over([low, high].into_iter(), log, (BOTTOM, TOP))?;
    for tick in scale.ticks() {
        let y = scale.place(tick);
        svg.line((LEFT, y), (RIGHT, y), GRID, 1.0);
        svg.label((LEFT - 8.0, y + 4.0), 13.0, FAINT, Anchor::End, &scale.label(tick));
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
    let place = |&(epoch, loss): &(f64, f64)| (x(epoch), scale.place(loss));
    let drawn: Vec<(f64, f64)> = thinned(&points).iter().map(place).collect();
    match drawn[..] {
        [only] => svg.rect((only.0 - 3.0, only.1 - 3.0), (6.0, 6.0), PALETTE[0]),
        _ => svg.curve(&drawn, PALETTE[0], 2.0, "none"),
    }
    svg.label(((LEFT + RIGHT) / 2.0, BOTTOM + 44.0), 14.0, INK, Anchor::Middle, "epoch");
    let title = if scale.log { "loss, logarithmic scale" } else { "loss" };
    svg.label((8.0, TOP - 14.0), 14.0, INK, Anchor::Start, title);
    Some(svg.finish() + &format!("<p class=\"faint\">{what}</p>\n"))
}

/// At most two points per interval, so that a peak of one epoch remains visible.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 2 * INTERVALS {
        return points.to_vec();
    }
    let extremes = |block: &[(f64, f64)]| {
        let by_loss = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (low, high) = (block.iter().min_by(by_loss), block.iter().max_by(by_loss));
        let mut two: Vec<(f64, f64)> = low.into_iter().chain(high).copied().collect();
        two.sort_by(|a, b| a.0.total_cmp(&b.0));
        two
    };
    points.chunks(points.len().div_ceil(INTERVALS)).flat_map(extremes).collect()
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
    fn losses_that_fall_by_much_are_drawn_on_a_logarithmic_scale() {
        assert!(draw(&[40.0, 0.012]).unwrap().contains("loss, logarithmic scale"));
        for losses in [[40.0, 10.0], [40.0, -0.012]] {
            assert!(!draw(&losses).unwrap().contains("logarithmic"));
        }
    }

    #[test]
    fn a_peak_survives_thinning() {
        let mut points: Vec<(f64, f64)> = (0..50_000).map(|i| (i as f64, 1.0)).collect();
        points[31_234].1 = 9.0;
        let drawn = thinned(&points);
        assert!(drawn.len() <= 2 * INTERVALS && drawn.contains(&(31_234.0, 9.0)));
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
