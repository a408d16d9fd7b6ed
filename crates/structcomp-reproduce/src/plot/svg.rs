//! SVG: the few shapes that our plots consist of.

use std::fmt::{Display, Write};

/// Colors that people with any color vision can tell apart (after Okabe and Ito), then paler ones.
pub(crate) const PALETTE: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a900", "#7a5195", "#8c8c8c",
    "#86c5a4", "#a8c8e8", "#e8b4a0",
];
pub(crate) const INK: &str = "#222";
pub(crate) const FAINT: &str = "#777";
pub(crate) const GRID: &str = "#e6e6e6";

/// Where text is relative to its position.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG picture under construction.
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    /// An empty white picture.
    pub(crate) fn new(width: f64, height: f64) -> Self {
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
        );
        let _ = writeln!(text, "<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>");
        Self { text }
    }

    /// An empty picture within a page, which gives it size and background; `about` is its accessible name.
    pub(crate) fn inline(width: f64, height: f64, about: &str) -> Self {
        let text = format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" \
             font-family=\"Helvetica, Arial, sans-serif\">\n",
            escaped(about)
        );
        Self { text }
    }

    pub(crate) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        self.element(format_args!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{fill}\"/>"
        ));
    }

    pub(crate) fn circle(&mut self, (x, y): (f64, f64), radius: f64, fill: &str, title: &str) {
        let title = escaped(title);
        self.element(format_args!(
            "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius:.2}\" fill=\"{fill}\" stroke=\"white\" \
             stroke-width=\"0.6\"><title>{title}</title></circle>"
        ));
    }

    /// A small circle without a title.
    pub(crate) fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: &str) {
        self.element(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{fill}\"/>"));
    }

    /// Straight lines from point to point, dashed as in `stroke-dasharray`.
    pub(crate) fn curve(&mut self, points: &[(f64, f64)], stroke: &str, width: f64, dashes: &str) {
        let points = joined(points);
        self.element(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width:.2}\" \
             stroke-linejoin=\"round\" stroke-dasharray=\"{dashes}\"/>"
        ));
    }

    /// A filled polygon.
    pub(crate) fn area(&mut self, points: &[(f64, f64)], fill: &str, opacity: f64) {
        let points = joined(points);
        self.element(format_args!(
            "<polygon points=\"{points}\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>"
        ));
    }

    /// A circle that is not filled.
    pub(crate) fn ring(&mut self, (x, y): (f64, f64), radius: f64, stroke: &str) {
        self.element(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"1.8\"/>"
        ));
    }

    /// A centered label that reads upwards.
    pub(crate) fn upright(&mut self, (x, y): (f64, f64), size: f64, fill: &str, text: &str) {
        let text = escaped(text);
        self.element(format_args!(
            "<text transform=\"translate({x:.2} {y:.2}) rotate(-90)\" font-size=\"{size}\" fill=\"{fill}\" \
             text-anchor=\"middle\">{text}</text>"
        ));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, width: f64) {
        self.element(format_args!(
            "<line x1=\"{:.2}\" y1=\"{:.2}\" x2=\"{:.2}\" y2=\"{:.2}\" stroke=\"{stroke}\" stroke-width=\"{width:.2}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    pub(crate) fn label(&mut self, (x, y): (f64, f64), size: f64, fill: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.element(format_args!(
            "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" fill=\"{fill}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    /// The finished picture.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn element(&mut self, shape: impl Display) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.text, "{shape}");
    }
}

/// Points as in SVG attributes.
fn joined(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

/// Text with its markup escaped, for SVG and HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // XML cannot represent them.
            control if control.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_a_picture() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.label((0.0, 0.0), 12.0, INK, Anchor::Start, "<script>&\"\u{0}");
        assert!(svg.finish().contains(">&lt;script&gt;&amp;&quot; </text>"));
    }
}
