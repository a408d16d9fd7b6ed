//! The figures: accuracies as marks in rows, and curves in panels.

use crate::svg::{Anchor, FAINT, INK, PALETTE, Svg, round_step};

const WIDTH: f64 = 760.0;
const GRID: &str = "#e6e6e6";

/// How a number is marked in a row.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    Dot(&'static str),
    Ring(&'static str),
    Tick(&'static str),
    Diamond(&'static str),
    Square(&'static str),
}

/// The marks of every figure of accuracies, and what each stands for.
pub(super) const MARKS: [(&str, Mark); 5] = [
    ("ours", Mark::Dot(PALETTE[0])),
    ("paper", Mark::Ring(PALETTE[5])),
    ("Â²X", Mark::Tick(PALETTE[8])),
    ("untrained encoder", Mark::Diamond(PALETTE[2])),
    ("random clusters", Mark::Square(PALETTE[3])),
];

impl Mark {
    fn draw(self, svg: &mut Svg, (x, y): (f64, f64)) {
        match self {
            Self::Dot(color) => svg.dot((x, y), 4.5, color),
            Self::Ring(color) => svg.ring((x, y), 6.5, color),
            Self::Tick(color) => svg.line((x, y - 8.0), (x, y + 8.0), color, 2.5),
            Self::Diamond(color) => {
                svg.area(&[(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y)], color, 1.0)
            }
            Self::Square(color) => svg.rect((x - 3.5, y - 3.5), (7.0, 7.0), color),
        }
    }
}

/// A row of marks: its name, and a number for each kind where there is one.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) values: Vec<Option<f64>>,
}

/// Rows of marks over one axis.
pub(super) struct Dots<'a> {
    pub(super) title: &'a str,
    pub(super) axis: &'a str,
    pub(super) marks: &'a [(&'a str, Mark)],
    pub(super) rows: Vec<Row>,
    pub(super) log: bool,
}

impl Dots<'_> {
    /// The picture; none where there is no number.
    pub(super) fn draw(&self) -> Option<String> {
        const LEFT: f64 = 230.0;
        const ROW: f64 = 22.0;
        let (right, top) = (WIDTH - 24.0, 72.0);
        let bottom = top + ROW * self.rows.len() as f64;
        let values = self.rows.iter().flat_map(|row| row.values.iter().flatten().copied());
        let scale = Scale::over(values, self.log, (LEFT, right))?;
        let mut svg = Svg::new(WIDTH, bottom + 56.0);
        svg.label((16.0, 24.0), 16.0, INK, Anchor::Start, self.title);
        let used: Vec<usize> = (0..self.marks.len())
            .filter(|&at| self.rows.iter().any(|row| row.values[at].is_some()))
            .collect();
        let mut x = 16.0;
        for &at in &used {
            let (name, mark) = self.marks[at];
            mark.draw(&mut svg, (x + 6.0, 47.0));
            svg.label((x + 18.0, 51.5), 13.0, INK, Anchor::Start, name);
            x += 36.0 + 7.2 * name.chars().count() as f64;
        }
        for tick in scale.ticks() {
            svg.line((scale.place(tick), top - 4.0), (scale.place(tick), bottom), GRID, 1.0);
            svg.label((scale.place(tick), bottom + 18.0), 13.0, FAINT, Anchor::Middle, &scale.name(tick));
        }
        for (at, row) in self.rows.iter().enumerate() {
            let y = top + ROW * (at as f64 + 0.5);
            svg.line((LEFT, y), (right, y), GRID, 1.0);
            svg.label((LEFT - 10.0, y + 4.5), 13.0, INK, Anchor::End, &row.name);
            // The first kind is drawn last, on top.
            for &kind in used.iter().rev() {
                if let Some(value) = row.values[kind].filter(|&value| scale.shows(value)) {
                    self.marks[kind].1.draw(&mut svg, (scale.place(value), y));
                }
            }
        }
        svg.label(((LEFT + right) / 2.0, bottom + 42.0), 14.0, INK, Anchor::Middle, self.axis);
        Some(svg.finish())
    }
}

/// A curve: its name, its points, and for each point how far a band reaches up and down.
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) color: &'static str,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) band: Vec<f64>,
    pub(super) dashed: bool,
}

/// Curves over the same axes.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
}

/// Panels side by side, two a row, with one legend.
pub(super) struct Panels<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) log_x: bool,
    pub(super) log_y: bool,
    pub(super) panels: Vec<Panel>,
}

impl Panels<'_> {
    /// The picture; none where there is no point.
    pub(super) fn draw(&self) -> Option<String> {
        const HEIGHT: f64 = 280.0;
        let columns = self.panels.len().min(2);
        if columns == 0
            || self.panels.iter().all(|panel| panel.lines.iter().all(|line| line.points.is_empty()))
        {
            return None;
        }
        let rows = self.panels.len().div_ceil(columns) as f64;
        let mut svg = Svg::new(WIDTH, 70.0 + rows * HEIGHT);
        svg.label((16.0, 24.0), 16.0, INK, Anchor::Start, self.title);
        self.legend(&mut svg);
        let width = WIDTH / columns as f64;
        for (at, panel) in self.panels.iter().enumerate() {
            let (left, top) = ((at % columns) as f64 * width, 70.0 + (at / columns) as f64 * HEIGHT);
            self.panel(&mut svg, panel, (left, top), (width, HEIGHT));
        }
        Some(svg.finish())
    }

    fn legend(&self, svg: &mut Svg) {
        let mut x = 16.0;
        let mut seen: Vec<&str> = Vec::new();
        for line in self.panels.iter().flat_map(|panel| &panel.lines) {
            if seen.contains(&line.name) {
                continue;
            }
            seen.push(line.name);
            line.stroke(svg, &[(x, 47.0), (x + 24.0, 47.0)]);
            svg.label((x + 30.0, 51.5), 13.0, INK, Anchor::Start, line.name);
            x += 50.0 + 7.2 * line.name.chars().count() as f64;
        }
    }

    fn panel(&self, svg: &mut Svg, panel: &Panel, (left, top): (f64, f64), (width, height): (f64, f64)) {
        let frame = (left + 70.0, left + width - 16.0, top + 26.0, top + height - 56.0);
        let (first, last, above, below) = frame;
        let points = || panel.lines.iter().flat_map(|line| line.points.iter());
        let ends = |line: &Line| -> Vec<f64> {
            let reach = |at: usize| line.band.get(at).copied().unwrap_or(0.0);
            let points = line.points.iter().enumerate();
            points.flat_map(|(at, point)| [point.1 - reach(at), point.1 + reach(at)]).collect()
        };
        let x = Scale::over(points().map(|point| point.0), self.log_x, (first, last));
        let y = Scale::over(panel.lines.iter().flat_map(ends), self.log_y, (below, above));
        let (Some(x), Some(y)) = (x, y) else { return };
        svg.label((first, top + 14.0), 14.0, INK, Anchor::Start, &panel.title);
        for tick in y.ticks() {
            svg.line((first, y.place(tick)), (last, y.place(tick)), GRID, 1.0);
            svg.label((first - 8.0, y.place(tick) + 4.5), 12.0, FAINT, Anchor::End, &y.name(tick));
        }
        for tick in x.ticks() {
            svg.line((x.place(tick), below), (x.place(tick), below + 5.0), INK, 1.0);
            svg.label((x.place(tick), below + 19.0), 12.0, FAINT, Anchor::Middle, &x.name(tick));
        }
        svg.line((first, below), (last, below), INK, 1.0);
        for line in &panel.lines {
            let place = |point: &(f64, f64)| (x.place(point.0), y.place(point.1));
            let edge = |sign: f64| {
                let shifted = move |(point, band): (&(f64, f64), &f64)| (point.0, point.1 + sign * band);
                line.points.iter().zip(&line.band).map(shifted).collect::<Vec<_>>()
            };
            if !line.band.is_empty() {
                let mut around: Vec<(f64, f64)> = edge(1.0).iter().map(place).collect();
                around.extend(edge(-1.0).iter().rev().map(place));
                svg.area(&around, line.color, 0.13);
            }
            let shown = line.points.iter().filter(|point| x.shows(point.0) && y.shows(point.1));
            let drawn: Vec<(f64, f64)> = shown.map(place).collect();
            line.stroke(svg, &drawn);
            if !line.band.is_empty() {
                drawn.iter().for_each(|&point| svg.dot(point, 3.0, line.color));
            }
        }
        svg.label(((first + last) / 2.0, below + 40.0), 13.0, INK, Anchor::Middle, self.x);
        svg.upright((left + 16.0, (above + below) / 2.0), 13.0, INK, self.y);
    }
}

impl Line {
    fn stroke(&self, svg: &mut Svg, points: &[(f64, f64)]) {
        if self.dashed { svg.dashes(points, self.color, 2.0) } else { svg.curve(points, self.color, 2.0) }
    }
}

/// Where numbers stand between two ends.
struct Scale {
    log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>, log: bool, (from, to): (f64, f64)) -> Option<Self> {
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

    /// Whether a number has a place.
    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + (self.to - self.from) * share
    }

    /// Round numbers within the range, at most eight.
    fn ticks(&self) -> Vec<f64> {
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

    fn name(&self, tick: f64) -> String {
        if tick == 0.0 {
            return "0".into();
        }
        let size = tick.abs();
        if !(1e-4..1e6).contains(&size) {
            return format!("{tick:.0e}");
        }
        // As many places as tell ticks apart.
        let step = if self.log { size } else { round_step(self.high - self.low, 6.0) };
        let places = (-(step * 1.0001).log10().floor()).max(0.0) as usize;
        format!("{tick:.places$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_are_drawn_or_left_out() {
        let dots = |values: Vec<Option<f64>>, log| {
            let rows = vec![Row { name: "<a>".into(), values }];
            Dots { title: "t", axis: "%", marks: &MARKS[..2], rows, log }.draw()
        };
        assert!(dots(vec![None, None], false).is_none());
        for values in [vec![Some(80.0), None], vec![Some(-1.0), Some(1e9)], vec![Some(f64::NAN), Some(0.5)]] {
            for log in [true, false] {
                let svg = dots(values.clone(), log).unwrap_or_default();
                assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<a>"), "{svg}");
            }
        }
    }

    #[test]
    fn ticks_are_round_and_few() {
        let scale = |low, high, log| Scale::over([low, high].into_iter(), log, (0.0, 100.0)).unwrap();
        let names = |scale: &Scale| scale.ticks().iter().map(|&tick| scale.name(tick)).collect::<Vec<_>>();
        assert_eq!(names(&scale(70.2, 81.0, false)), ["70", "72", "74", "76", "78", "80"]);
        assert_eq!(names(&scale(0.01, 1.0, true)), ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"]);
        assert_eq!(names(&scale(0.5, 0.501, false)).len(), 6);
        assert!(scale(1e-6, 1e9, true).ticks().len() <= 8);
    }
}
