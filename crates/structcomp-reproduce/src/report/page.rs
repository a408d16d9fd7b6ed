//! The report as an HTML page.

use super::section::Section;
use crate::html::Html;
use crate::parts::table::Table;
use crate::plot::escaped;
use std::fmt::Write;

/// Wide tables scroll by themselves.
const STYLE: &str = "body { max-width: 60rem; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { min-width: 44rem; }
.scroll { overflow-x: auto; }
.scroll th:first-child, .scroll td:first-child { position: sticky; left: 0; background: var(--back); }
.scroll table { font-size: .85rem; }
.scroll td { overflow-wrap: normal; }
caption { text-align: left; color: var(--faint); padding: .8rem 0 .2rem; }
nav a { margin-right: .8rem; }
code { font-size: .9em; }
td.long { min-width: 9rem; }
details summary { cursor: pointer; margin-top: .6rem; }
@media screen and (prefers-color-scheme: dark) { a { color: #7cc4f0; } svg circle[fill='#0072b2'] { fill: #56b4e9; } }
@media print { .scroll { overflow: visible; } .scroll table { font-size: 8pt; } section { break-inside: auto; } figure { break-inside: avoid; } figure svg { min-width: 0; } }
";

pub(super) fn html(sections: &[Section]) -> String {
    let mut body = String::from(
        "<p class=\"faint\">The paper's tables and figures, rerun next to the published numbers and to results without \
         training. Accuracies are test accuracies (%); differences are ours minus the paper's.</p>\n<nav>",
    );
    for Section { experiment, .. } in sections {
        let _ = write!(body, "<a href=\"#{0}\">{0}</a> ", experiment.name);
    }
    body += "</nav>\n";
    sections.iter().for_each(|section| body += &self::section(section));
    Html { title: "StructComp: results", style: STYLE, script: "", body: &body }.text()
}

fn section(section: &Section) -> String {
    let Section { experiment, commands, protocol, parts } = section;
    let mut text = format!("<section id=\"{}\">\n<h2>{}</h2>\n", experiment.name, escaped(experiment.title));
    let about = escaped(&format!("{} {protocol}", experiment.caption));
    let commands = commands.iter().map(|command| format!("<code>{}</code>", escaped(command)));
    let commands = commands.collect::<Vec<_>>().join("<br/>");
    let _ = write!(text, "<p class=\"faint\">{about}</p>\n<p>{commands}</p>\n");
    parts.notes.iter().for_each(|note| text += &format!("<p>{}</p>\n", escaped(note)));
    for figure in &parts.figures {
        let named = format!("<svg role=\"img\" aria-label=\"{}\"", escaped(&figure.about));
        let _ = write!(text, "<figure>\n{}</figure>\n", figure.svg.replacen("<svg", &named, 1));
    }
    for table in &parts.tables {
        // Settings are long and collapsed.
        let html = self::table(table);
        text += &match table.is_text() {
            true => format!("<details><summary>Settings</summary>\n{html}</details>\n"),
            false => html,
        };
    }
    text + "</section>\n"
}

fn table(table: &Table) -> String {
    let mut text = String::from("<div class=\"scroll\"><table>\n");
    if !table.caption.is_empty() {
        let _ = writeln!(text, "<caption>{}</caption>", escaped(&table.caption));
    }
    let class = |at: usize| match at < table.texts {
        true if table.is_text() => " class=\"long\"",
        true => "",
        false => " class=\"number\"",
    };
    let head = table.head.iter().enumerate();
    let head = head.map(|(at, name)| format!("<th scope=\"col\"{}>{}</th>", class(at), escaped(name)));
    let _ = writeln!(text, "<thead><tr>{}</tr></thead>\n<tbody>", head.collect::<String>());
    for row in &table.rows {
        let cells = row.iter().enumerate();
        let cells = cells.map(|(at, cell)| format!("<td{}>{}</td>", class(at), escaped(cell)));
        let _ = writeln!(text, "<tr>{}</tr>", cells.collect::<String>());
    }
    text + "</tbody>\n</table></div>\n"
}
