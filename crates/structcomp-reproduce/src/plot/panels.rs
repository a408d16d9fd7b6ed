//! Curves in panels.

use super::{Anchor, FAINT, GRID, INK, Scale, Svg, WIDTH};

/// A curve: its name, its points, and for each point half of the height of a band.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) color: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) band: Vec<f64>,
    pub(crate) dashed: bool,
}

/// Curves over the same axes.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line>,
}

/// Panels, two per row, with a common legend.
pub(crate) struct Panels<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    pub(crate) log_x: bool,
    pub(crate) panels: Vec<Panel>,
}

impl Panels<'_> {
    /// The picture; none without points.
    pub(crate) fn draw(&self) -> Option<String> {
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
            if seen.contains(&&line.name[..]) {
                continue;
            }
            seen.push(&line.name);
            line.stroke(svg, &[(x, 47.0), (x + 24.0, 47.0)]);
            svg.label((x + 30.0, 51.5), 13.0, INK, Anchor::Start, &line.name);
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
        let y = Scale::over(panel.lines.iter().flat_map(ends), false, (below, above));
        let (Some(x), Some(y)) = (x, y) else { return };
        svg.label((first, top + 14.0), 14.0, INK, Anchor::Start, &panel.title);
        for tick in y.ticks() {
            svg.line((first, y.place(tick)), (last, y.place(tick)), GRID, 1.0);
            svg.label((first - 8.0, y.place(tick) + 4.5), 12.0, FAINT, Anchor::End, &y.label(tick));
        }
        for tick in x.ticks() {
            svg.line((x.place(tick), below), (x.place(tick), below + 5.0), INK, 1.0);
            svg.label((x.place(tick), below + 19.0), 12.0, FAINT, Anchor::Middle, &x.label(tick));
        }
        svg.line((first, below), (last, below), INK, 1.0);
        panel.lines.iter().for_each(|line| line.draw(svg, &x, &y));
        svg.label(((first + last) / 2.0, below + 40.0), 13.0, INK, Anchor::Middle, self.x);
        svg.upright((left + 16.0, (above + below) / 2.0), 13.0, INK, self.y);
    }
}

impl Line {
    fn draw(&self, svg: &mut Svg, x: &Scale, y: &Scale) {
        let place = |point: &(f64, f64)| (x.place(point.0), y.place(point.1));
        if !self.band.is_empty() {
            let edge = |sign: f64| {
                let shifted = move |(point, band): (&(f64, f64), &f64)| (point.0, point.1 + sign * band);
                self.points.iter().zip(&self.band).map(shifted).collect::<Vec<_>>()
            };
            let mut around: Vec<(f64, f64)> = edge(1.0).iter().map(place).collect();
            around.extend(edge(-1.0).iter().rev().map(place));
            svg.area(&around, self.color, 0.13);
        }
        let shown = self.points.iter().filter(|point| x.shows(point.0) && y.shows(point.1));
        let drawn: Vec<(f64, f64)> = shown.map(place).collect();
        self.stroke(svg, &drawn);
        if !self.band.is_empty() {
            drawn.iter().for_each(|&point| svg.dot(point, 3.0, self.color));
        }
    }

    fn stroke(&self, svg: &mut Svg, points: &[(f64, f64)]) {
        svg.curve(points, self.color, 2.0, if self.dashed { "6 4" } else { "none" });
    }
}
