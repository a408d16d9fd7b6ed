//! A run as one page to look at: figures, curves and pictures in a single HTML file that needs no
//! network and no script, reads on a phone and prints.

mod curve;
mod scatter;

use crate::partition::{Frame, class_color, class_name, size_histogram};
use crate::svg::{Svg, escaped};
use crate::{Accuracy, Comparison, Dense, Labels, Partition, Result, human_bytes, write_text};
use scatter::Scatter;
use std::fmt::Write;
use std::path::Path;

/// What a page shows. A part that is empty or absent is left out.
///
/// ```
/// use structcomp::ReportPage;
///
/// let page = ReportPage { title: "cora: sce".into(), losses: &[2.0, 1.0, 0.5], ..ReportPage::default() };
/// let html = page.html();
/// assert!(html.contains("<h1>cora: sce</h1>") && html.contains("<svg") && !html.contains("http"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReportPage<'a> {
    /// The heading.
    pub title: String,
    /// A line below it.
    pub about: &'a str,
    /// Names and values, one a row.
    pub facts: Vec<(String, String)>,
    /// Accuracies on the same splits: the embedding's, then those without training.
    pub accuracy: Vec<(String, &'a Accuracy)>,
    /// How they were judged.
    pub protocol: String,
    /// The embedding against others, by name.
    pub comparisons: Vec<(String, Comparison)>,
    /// The loss of each epoch.
    pub losses: &'a [f64],
    /// The clusters.
    pub partition: Option<&'a Partition>,
    /// The embedding.
    pub embedding: Option<&'a Dense>,
    /// The labels, which give the rows of the embedding their colours; else the clusters do.
    pub labels: Option<&'a Labels>,
    /// The stages and how long each took.
    pub seconds: Vec<(String, f64)>,
    /// The most memory that was in use.
    pub peak_rss_bytes: Option<u64>,
}

/// Light by default and in print; the pictures' colours are those of their attributes, which a style
/// can replace where the screen is dark.
pub(crate) const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 16px/1.5 Helvetica, Arial, sans-serif; color: #222; background: #fff; max-width: 46rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .3rem 0; }
.faint { color: #666; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; font-weight: normal; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #e6e6e6; vertical-align: top; }
td { overflow-wrap: anywhere; }
thead th { color: #666; font-size: .85rem; }
thead th.number { text-align: right; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.wide { width: 40%; }
tr.first td, tr.first th { font-weight: bold; }
.bar { background: #0072b2; height: .7rem; margin-top: .45rem; min-width: 1px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
svg { width: 100%; height: auto; }
ul.legend { list-style: none; padding: 0; margin: .3rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .85rem; }
ul.legend span { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
@media screen and (prefers-color-scheme: dark) {
  body { color: #ddd; background: #181818; }
  .faint, thead th { color: #aaa; }
  th, td { border-color: #3a3a3a; }
  svg [fill='white'] { fill: #181818; }
  svg [fill='#222'] { fill: #ddd; }
  svg [fill='#777'] { fill: #aaa; }
  svg [stroke='#222'] { stroke: #bbb; }
  svg [stroke='#e6e6e6'] { stroke: #3a3a3a; }
  svg polyline[stroke='#0072b2'] { stroke: #56b4e9; }
  svg rect[fill='#0072b2'] { fill: #56b4e9; }
  .bar { background: #56b4e9; }
}
@media (max-width: 30rem) { td.wide { width: 24%; } svg text { font-size: 20px; } }
@media print { body { max-width: none; font-size: 11pt; } section { break-inside: avoid; } }
";

/// The pictures' size in their own units; a page scales them to its width.
const WIDTH: f64 = 640.0;

impl ReportPage<'_> {
    /// Writes the page, under a temporary name until it is whole.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_text(path, &self.html())
    }

    /// The page.
    pub fn html(&self) -> String {
        let mut page =
            String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
        page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
        let (title, about) = (escaped(&self.title), escaped(self.about));
        let _ = write!(
            page,
            "<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        if !about.is_empty() {
            let _ = writeln!(page, "<p class=\"faint\">{about}</p>");
        }
        section(&mut page, "Accuracy", self.accuracies());
        section(&mut page, "Embedding", self.embedding());
        section(&mut page, "Training", curve::draw(self.losses));
        section(&mut page, "Clusters", self.clusters());
        section(&mut page, "Time and memory", self.times());
        section(&mut page, "Facts", self.facts());
        page + "</body>\n</html>\n"
    }

    fn accuracies(&self) -> Option<String> {
        let most = self.accuracy.iter().map(|(_, accuracy)| accuracy.mean).fold(0.0, f64::max);
        let mut rows = String::new();
        for (at, (name, accuracy)) in self.accuracy.iter().enumerate() {
            let class = if at == 0 { " class=\"first\"" } else { "" };
            let number = format!("{:.2} ± {:.2}", accuracy.mean, accuracy.std);
            rows += &row(class, name, &number, accuracy.mean / most);
        }
        let mut text = table(&["", "% of test nodes right", ""], &rows)?;
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
            (None, Some(_)) => text += "<p class=\"faint\">Coloured by cluster; colours repeat.</p>\n",
            (None, None) => {}
        }
        Some(text)
    }

    fn clusters(&self) -> Option<String> {
        let partition = self.partition.filter(|partition| partition.clusters() > 0)?;
        let mut svg = Svg::inline(WIDTH, 290.0, "how many clusters there are of each size");
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
            let _ = writeln!(text, "<p>{} of memory at most</p>", human_bytes(bytes));
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

fn section(page: &mut String, title: &str, contents: Option<String>) {
    if let Some(contents) = contents {
        let _ = write!(page, "<section>\n<h2>{title}</h2>\n{contents}</section>\n");
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

/// A name, a number and a bar of so large a share of the longest.
fn row(class: &str, name: &str, number: &str, share: f64) -> String {
    // Where all are zero there is no longest.
    let percent = if share.is_finite() { 100.0 * share.clamp(0.0, 1.0) } else { 0.0 };
    format!(
        "<tr{class}><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"wide\"><div class=\"bar\" style=\"width:{percent:.1}%\"></div></td></tr>\n",
        escaped(name),
        escaped(number)
    )
}

fn verdict(against: &str, comparison: &Comparison) -> String {
    let Comparison { difference, p_value } = comparison;
    let chance = match p_value {
        0.0 => "p below 1e-300".to_owned(),
        p if *p < 0.001 => format!("p = {p:.1e}"),
        p => format!("p = {p:.3}"),
    };
    let verdict = match difference {
        _ if *p_value >= 0.05 => "no clear difference",
        difference if *difference > 0.0 => "better",
        _ => "worse",
    };
    format!("{difference:+.2} points against {against}: {verdict} (paired t test, {chance})")
}

fn legend(labels: &Labels) -> String {
    let mut text = String::from("<ul class=\"legend\">\n");
    let shown = crate::svg::PALETTE.len();
    for class in 0..labels.classes().min(shown) {
        let (color, name) = (class_color(class), class_name(labels, class));
        let _ = writeln!(text, "<li><span style=\"background:{color}\"></span>{}</li>", escaped(&name));
    }
    if labels.classes() > shown {
        let _ = writeln!(text, "<li>and {} more classes; colours repeat</li>", labels.classes() - shown);
    }
    if labels.unlabelled() > 0 {
        let _ = writeln!(text, "<li><span style=\"background:{}\"></span>no label</li>", scatter::NO_GROUP);
    }
    text + "</ul>\n"
}

/// A time as people say it.
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
