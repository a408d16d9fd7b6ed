//! Rows of dots that keep the size of their letters on any screen: the drawing of each row is as wide as the page.

use crate::plot::{Scale, escaped};
use std::fmt::Write;
use structcomp::evaluate::Accuracy;

/// The mean of many splits lies within so many standard errors of what it estimates, nearly always.
const ERRORS: f64 = 1.96;

/// The embedding, which comes first, among the others, best first. The axis starts where the values do.
pub(super) fn accuracies(rows: &[(&str, &str, &Accuracy)]) -> Option<String> {
    let ends =
        rows.iter().flat_map(|(.., accuracy)| [accuracy.mean - accuracy.std, accuracy.mean + accuracy.std]);
    let scale = Scale::over(ends, false, (0.0, 100.0))?;
    let mut sorted: Vec<usize> = (0..rows.len()).collect();
    sorted.sort_by(|&a, &b| rows[b].2.mean.total_cmp(&rows[a].2.mean));
    let mut text = String::from("<ul class=\"dots\">\n");
    for at in sorted {
        let (label, about, Accuracy { mean, std, runs, .. }) = rows[at];
        let class = if at == 0 { " class=\"own\"" } else { "" };
        let about =
            if about.is_empty() { String::new() } else { format!(" <small>{}</small>", escaped(about)) };
        let _ = write!(text, "<li{class}><span class=\"name\">{}{about}</span>", escaped(label));
        let _ = writeln!(text, "<span class=\"value\">{mean:.2} <small>± {std:.2}</small></span>");
        let error = ERRORS * std / ((*runs as f64) - 1.0).max(1.0).sqrt();
        let lines = [("spread", *std), ("error", error)]
            .map(|(class, half)| bar(class, scale.place(mean - half), scale.place(mean + half)));
        let dot = format!("<circle cx=\"{:.2}%\" cy=\"50%\" r=\"5\"/>", scale.place(*mean));
        let _ = writeln!(text, "<svg>{}{}{dot}</svg></li>", grid(&scale), lines.concat());
    }
    let ticks = scale
        .ticks()
        .into_iter()
        .map(|tick| format!("<text x=\"{:.2}%\" y=\"12\">{}</text>", scale.place(tick), scale.label(tick)));
    let ticks: String = ticks.collect();
    let _ = writeln!(
        text,
        "<li class=\"axis\"><span class=\"name\">test accuracy (%)</span><svg>{ticks}</svg></li>\n</ul>"
    );
    Some(text)
}

fn grid(scale: &Scale) -> String {
    let line = |tick: f64| {
        let x = scale.place(tick);
        format!("<line class=\"grid\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"100%\"/>")
    };
    scale.ticks().into_iter().map(line).collect()
}

fn bar(class: &str, from: f64, to: f64) -> String {
    format!("<line class=\"{class}\" x1=\"{from:.2}%\" x2=\"{to:.2}%\" y1=\"50%\" y2=\"50%\"/>")
}

/// Shares of a whole.
pub(super) fn shares(parts: &[(String, f64)]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let row = |(name, share): &(String, f64)| {
        let percent = 100.0 * share.clamp(0.0, 1.0);
        format!(
            "<li><span class=\"name\">{}</span><span class=\"value\">{percent:.0} %</span>\
             <svg><rect x=\"0\" y=\"25%\" height=\"50%\" width=\"{percent:.2}%\"/></svg></li>\n",
            escaped(name)
        )
    };
    format!("<ul class=\"dots\">\n{}</ul>\n", parts.iter().map(row).collect::<String>())
}
