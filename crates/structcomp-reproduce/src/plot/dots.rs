//! Marks in rows over a common axis.

use super::{Anchor, FAINT, GRID, INK, PALETTE, Scale, Svg, WIDTH};

/// How a value is marked in a row.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    Dot(&'static str),
    Ring(&'static str),
    Tick(&'static str),
    Diamond(&'static str),
    Square(&'static str),
}

/// The marks of every figure of accuracies.
pub(crate) const MARKS: [(&str, Mark); 5] = [
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

/// A row of marks: its name, and a value for each mark where there is one.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) values: Vec<Option<f64>>,
}

/// Rows of marks over a common axis.
pub(crate) struct Dots<'a> {
    pub(crate) title: &'a str,
    pub(crate) axis: &'a str,
    pub(crate) marks: &'a [(&'a str, Mark)],
    pub(crate) rows: Vec<Row>,
    pub(crate) log: bool,
}

impl Dots<'_> {
    /// The picture; none without values.
    pub(crate) fn draw(&self) -> Option<String> {
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
            svg.label((scale.place(tick), bottom + 18.0), 13.0, FAINT, Anchor::Middle, &scale.label(tick));
        }
        for (at, row) in self.rows.iter().enumerate() {
            let y = top + ROW * (at as f64 + 0.5);
            svg.line((LEFT, y), (right, y), GRID, 1.0);
            svg.label((LEFT - 10.0, y + 4.5), 13.0, INK, Anchor::End, &row.name);
            // The first mark is drawn last, on top.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_are_drawn_or_left_out() {
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
}
