//! The report of one run as a single HTML file.

mod curve;
mod scatter;

use crate::html;
use crate::plot::{Frame, PALETTE, Svg, class_color, class_name, escaped, size_histogram};
use scatter::Scatter;
use std::fmt::Write;
use std::path::Path;
use structcomp::evaluate::{Accuracy, Comparison};
use structcomp::memory::human_bytes;
use structcomp::output::write_text;
use structcomp::{Dense, Labels, Partition, Result};

/// The report of a run. Parts that are empty or absent are left out.
///
/// ```
/// use structcomp_reproduce::RunPage;
///
/// let page = RunPage { title: "cora: sce".into(), losses: &[2.0, 1.0, 0.5], ..RunPage::default() };
/// let html = page.html();
/// assert!(html.contains("<h1>cora: sce</h1>") && html.contains("<svg") && !html.contains("http"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunPage<'a> {
    /// The heading.
    pub title: String,
    /// A line below it.
    pub about: String,
    /// Names and values, one per row.
    pub facts: Vec<(String, String)>,
    /// Accuracies on the same splits: the embedding's, then those without training.
    pub accuracy: Vec<(String, &'a Accuracy)>,
    /// How they were evaluated.
    pub protocol: String,
    /// Comparisons of the embedding with others, by name.
    pub comparisons: Vec<(String, Comparison)>,
    /// The loss of each epoch.
    pub losses: &'a [f64],
    /// The clusters.
    pub partition: Option<&'a Partition>,
    /// The embedding.
    pub embedding: Option<&'a Dense>,
    /// The labels, which color the rows of the embedding; without them, the clusters do.
    pub labels: Option<&'a Labels>,
    /// The stages and their durations.
    pub seconds: Vec<(String, f64)>,
    /// Peak memory.
    pub peak_rss_bytes: Option<u64>,
}

/// Letters grow on phones, where pictures shrink.
const STYLE: &str = "@media (max-width: 30rem) { svg text { font-size: 20px; } }\n";

/// The width of pictures in their own units; a page scales them.
const WIDTH: f64 = 640.0;

impl RunPage<'_> {
    /// Writes the page, atomically.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_text(path, &self.html())
    }

    /// The page as HTML.
    pub fn html(&self) -> String {
        let mut body = String::new();
        if !self.about.is_empty() {
            let _ = writeln!(body, "<p class=\"faint\">{}</p>", escaped(&self.about));
        }
        section(&mut body, "Accuracy", self.accuracies());
        section(&mut body, "Embedding", self.embedding());
        section(&mut body, "Training", curve::draw(self.losses));
        section(&mut body, "Clusters", self.clusters());
        section(&mut body, "Time and memory", self.times());
        section(&mut body, "Facts", self.facts());
        html::page(&self.title, STYLE, &body)
    }

    fn accuracies(&self) -> Option<String> {
        let most = self.accuracy.iter().map(|(_, accuracy)| accuracy.mean).fold(0.0, f64::max);
        let mut rows = String::new();
        for (at, (name, accuracy)) in self.accuracy.iter().enumerate() {
            let class = if at == 0 { " class=\"first\"" } else { "" };
            let number = format!("{:.2} ± {:.2}", accuracy.mean, accuracy.std);
            rows += &row(class, name, &number, accuracy.mean / most);
        }
        let mut text = table(&["", "test accuracy (%)", ""], &rows)?;
        for (name, comparison) in &self.comparisons {
            let _ = writeln!(text, "<p>{}</p>", escaped(&verdict(name, comparison)));
        }
        if !self.protocol.is_empty() {
            let _ = writeln!(text, "<p class=\"faint\">{}</p>", escaped(&self.protocol));
        }
        Some(text)
    }

    fn embedding(&self) -> Option<String> {
        let scatter = Scatter::of(self.embedding?)?;
        let labels = self.labels.filter(|labels| labels.nodes() == scatter.rows && labels.classes() > 0);
        let partition = self.partition.filter(|partition| partition.nodes() == scatter.rows);
        let mut text = scatter.draw(|node| match (labels, partition) {
            (Some(labels), _) => labels.of(node).map(|class| class as usize),
            (None, Some(partition)) => Some(partition.of(node) as usize),
            (None, None) => Some(0),
        });
        match (labels, partition) {
            (Some(labels), _) => text += &legend(labels),
            (None, Some(_)) => text += "<p class=\"faint\">Colored by cluster; colors repeat.</p>\n",
            (None, None) => {}
        }
        Some(text)
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
        let most = self.seconds.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
        let mut rows = String::new();
        for (stage, seconds) in &self.seconds {
            rows += &row("", stage, &duration(*seconds), seconds / most);
        }
        let mut text = table(&["stage", "time", ""], &rows).unwrap_or_default();
        if let Some(bytes) = self.peak_rss_bytes {
            let _ = writeln!(text, "<p>Peak memory: {}</p>", human_bytes(bytes));
        }
        (!text.is_empty()).then_some(text)
    }

    fn facts(&self) -> Option<String> {
        let fact = |(name, value): &(String, String)| {
            format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value))
        };
        table(&[], &self.facts.iter().map(fact).collect::<String>())
    }
}

fn section(body: &mut String, title: &str, contents: Option<String>) {
    if let Some(contents) = contents {
        let _ = write!(body, "<section>\n<h2>{title}</h2>\n{contents}</section>\n");
    }
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

/// A name, a number, and a bar relative to the longest.
fn row(class: &str, name: &str, number: &str, share: f64) -> String {
    // All may be zero.
    let percent = if share.is_finite() { 100.0 * share.clamp(0.0, 1.0) } else { 0.0 };
    format!(
        "<tr{class}><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"wide\"><div class=\"bar\" style=\"width:{percent:.1}%\"></div></td></tr>\n",
        escaped(name),
        escaped(number)
    )
}

fn verdict(against: &str, comparison: &Comparison) -> String {
    let Comparison { difference, p_value } = comparison;
    let p = match p_value {
        0.0 => "p < 1e-300".to_owned(),
        p if *p < 0.001 => format!("p = {p:.1e}"),
        p => format!("p = {p:.3}"),
    };
    let verdict = match difference {
        _ if *p_value >= 0.05 => "no significant difference",
        difference if *difference > 0.0 => "better",
        _ => "worse",
    };
    format!("{difference:+.2} points compared with {against}: {verdict} (paired t-test, {p})")
}

fn legend(labels: &Labels) -> String {
    let mut text = String::from("<ul class=\"legend\">\n");
    let shown = PALETTE.len();
    for class in 0..labels.classes().min(shown) {
        let (color, name) = (class_color(class), class_name(labels, class));
        let _ = writeln!(text, "<li><span style=\"background:{color}\"></span>{}</li>", escaped(&name));
    }
    if labels.classes() > shown {
        let _ = writeln!(text, "<li>and {} more classes; colors repeat</li>", labels.classes() - shown);
    }
    if labels.unlabelled() > 0 {
        let _ = writeln!(text, "<li><span style=\"background:{}\"></span>no label</li>", scatter::NO_GROUP);
    }
    text + "</ul>\n"
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
