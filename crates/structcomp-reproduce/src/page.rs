//! The report of one run as a single HTML file.

mod classes;
mod curve;
mod dots;
mod map;

pub use classes::ClassTable;
pub use map::PageMap;

use crate::html::Html;
use crate::plot::{Frame, Svg, escaped, size_histogram};
use std::fmt::Write;
use std::path::Path;
use structcomp::evaluate::Accuracy;
use structcomp::memory::human_bytes;
use structcomp::output::write_text;
use structcomp::{Partition, Result};

/// The report of a run. Parts that are empty or absent are left out.
///
/// ```
/// use structcomp_reproduce::RunPage;
///
/// let page = RunPage { title: "cora".into(), losses: &[2.0, 1.0, 0.5], ..RunPage::default() };
/// let html = page.html();
/// assert!(html.contains("<h1>cora</h1>") && html.contains("<svg") && !html.contains("http://"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunPage<'a> {
    /// The heading: what was embedded.
    pub title: String,
    /// What came of it, in a sentence or two.
    pub headline: String,
    /// What was done.
    pub about: String,
    /// Numbers to begin with, each with its meaning.
    pub figures: Vec<(String, &'a str)>,
    /// The map of the embedding.
    pub map: Option<PageMap<'a>>,
    /// Accuracies on the same splits, by label and explanation: the embedding's, then those to compare with.
    pub accuracy: Vec<(&'a str, &'a str, &'a Accuracy)>,
    /// How they were evaluated, a paragraph each.
    pub protocol: Vec<String>,
    /// How well each class is found.
    pub classes: Option<ClassTable<'a>>,
    /// How the embedding was made and why that ended, a paragraph each.
    pub making: Vec<String>,
    /// The parts of a solved model, by name, with their shares.
    pub parts: &'a [(String, f64)],
    /// The loss of each epoch.
    pub losses: &'a [f64],
    /// The clusters.
    pub partition: Option<&'a Partition>,
    /// The stages and their durations.
    pub seconds: Vec<(&'a str, f64)>,
    /// Peak memory.
    pub peak_rss_bytes: Option<u64>,
    /// What it takes to make the same again: names and values.
    pub origin: Vec<(&'a str, String)>,
    /// Other names and values, one per row.
    pub facts: Vec<(String, String)>,
}

/// The width of pictures in their own units; a page scales them.
const WIDTH: f64 = 640.0;

impl RunPage<'_> {
    /// Writes the page, atomically.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_text(path, &self.html())
    }

    /// The page as HTML.
    pub fn html(&self) -> String {
        let mut body = paragraph("headline", &self.headline) + &paragraph("faint", &self.about);
        body += &self.figures();
        let map = self.map.as_ref().and_then(PageMap::html);
        let script = match &map {
            Some(_) => concat!(include_str!("page/map.js"), include_str!("page/page.js")),
            None => "",
        };
        section(&mut body, "map", "Map", map);
        section(&mut body, "accuracy", "Accuracy", self.accuracies());
        section(&mut body, "by-class", "Classes", self.classes.as_ref().and_then(ClassTable::html));
        section(&mut body, "making", "How it was made", self.making());
        section(&mut body, "clusters", "Clusters", self.clusters());
        section(&mut body, "times", "Time and memory", self.times());
        let origin = self.origin.iter().map(|(name, value)| fact(name, value)).collect::<String>();
        section(&mut body, "origin", "Make it again", table(&[], &origin));
        section(&mut body, "facts", "Details", self.facts());
        Html { title: &self.title, style: include_str!("page/page.css"), script, body: &body }.text()
    }

    fn figures(&self) -> String {
        let figure = |(value, name): &(String, &str)| {
            format!("<div><dd>{}</dd><dt>{}</dt></div>", escaped(value), escaped(name))
        };
        let figures: String = self.figures.iter().map(figure).collect();
        if figures.is_empty() { figures } else { format!("<dl class=\"figures\">{figures}</dl>\n") }
    }

    fn accuracies(&self) -> Option<String> {
        let mut text = dots::accuracies(&self.accuracy)?;
        self.protocol.iter().for_each(|sentence| text += &paragraph("faint", sentence));
        Some(text)
    }

    fn making(&self) -> Option<String> {
        let mut text: String = self.making.iter().map(|sentence| paragraph("", sentence)).collect();
        text += &dots::shares(self.parts);
        text += &curve::draw(self.losses).unwrap_or_default();
        (!text.is_empty()).then_some(text)
    }

    fn clusters(&self) -> Option<String> {
        let partition = self.partition.filter(|partition| partition.clusters() > 0)?;
        let mut svg = Svg::inline(WIDTH, 290.0, "histogram of cluster sizes");
        size_histogram(
            &mut svg,
            Frame { left: 64.0, right: WIDTH - 16.0, top: 32.0, bottom: 240.0 },
            partition,
        );
        Some(svg.finish())
    }

    fn times(&self) -> Option<String> {
        let row = |(stage, seconds): &(&str, f64)| {
            format!(
                "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td></tr>\n",
                escaped(stage),
                duration(*seconds)
            )
        };
        let mut text =
            table(&["stage", "time"], &self.seconds.iter().map(row).collect::<String>()).unwrap_or_default();
        if let Some(bytes) = self.peak_rss_bytes {
            text += &paragraph("", &format!("Peak memory: {}", human_bytes(bytes)));
        }
        (!text.is_empty()).then_some(text)
    }

    fn facts(&self) -> Option<String> {
        table(&[], &self.facts.iter().map(|(name, value)| fact(name, value)).collect::<String>())
    }
}

fn section(body: &mut String, id: &str, title: &str, contents: Option<String>) {
    if let Some(contents) = contents {
        let _ = write!(body, "<section id=\"{id}-section\">\n<h2>{title}</h2>\n{contents}</section>\n");
    }
}

fn paragraph(class: &str, text: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    if text.is_empty() { String::new() } else { format!("<p{class}>{}</p>\n", escaped(text)) }
}

fn fact(name: &str, value: &str) -> String {
    format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value))
}

fn table(head: &[&str], rows: &str) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let mut text = String::from("<table>\n");
    if !head.is_empty() {
        let class = |at: usize| if at == 1 { " class=\"number\"" } else { "" };
        let cells = head.iter().enumerate();
        let cells: String =
            cells.map(|(at, name)| format!("<th scope=\"col\"{}>{name}</th>", class(at))).collect();
        let _ = writeln!(text, "<thead><tr>{cells}</tr></thead>");
    }
    Some(text + "<tbody>\n" + rows + "</tbody>\n</table>\n")
}

/// A duration in a suitable unit.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.0995 => format!("{:.1} ms", 1e3 * s),
        s if s < 0.9995 => format!("{:.0} ms", 1e3 * s),
        s if s < 120.0 => format!("{s:.2} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
    }
}

#[cfg(test)]
mod tests;
