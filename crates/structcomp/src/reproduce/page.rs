//! The report as one page that needs nothing from elsewhere.

use super::document::{Report, Section, Table};
use crate::report::STYLE;
use crate::svg::escaped;
use std::fmt::Write;

/// What a report has on top of the style of a run's page: wide tables that scroll by themselves.
const MORE: &str = "
body { max-width: 60rem; }
figure { margin: 1rem 0; }
.scroll { overflow-x: auto; }
.scroll table { font-size: .85rem; }
.scroll td { overflow-wrap: normal; }
caption { text-align: left; color: #666; padding: .8rem 0 .2rem; }
nav a { margin-right: .8rem; }
code { font-size: .9em; }
td.long { min-width: 9rem; }
details summary { cursor: pointer; margin-top: .6rem; }
@media screen and (prefers-color-scheme: dark) { a { color: #7cc4f0; } caption { color: #aaa; } svg circle[fill='#0072b2'] { fill: #56b4e9; } }
@media (max-width: 30rem) { figure { margin: 1rem -.6rem; } figure svg text { font-size: 15px; } }
@media print { .scroll { overflow: visible; } .scroll table { font-size: 8pt; } section { break-inside: auto; } figure { break-inside: avoid; } }
";

pub(super) fn html(report: &Report) -> String {
    let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
    // On a phone letters grow less here, where more of them stand side by side.
    let style = STYLE.replace("svg text { font-size: 20px; }", "");
    let _ =
        write!(page, "<title>StructComp reproduced</title>\n<style>{style}{MORE}</style>\n</head>\n<body>\n");
    page += "<h1>StructComp reproduced</h1>\n<p class=\"faint\">The paper's tables and figures made anew, beside what \
             it prints and beside no training. Accuracies are percent of test nodes told right; differences are ours \
             less the paper's.</p>\n<nav>";
    for Section { experiment, .. } in &report.sections {
        let _ = write!(page, "<a href=\"#{0}\">{0}</a> ", experiment.name());
    }
    page += "</nav>\n";
    report.sections.iter().for_each(|section| page += &self::section(section));
    page + "</body>\n</html>\n"
}

fn section(section: &Section) -> String {
    let Section { experiment, commands, protocol, tables, figures, notes } = section;
    let (name, title) = (experiment.name(), escaped(experiment.title()));
    let mut text = format!("<section id=\"{name}\">\n<h2>{title}</h2>\n");
    let about = escaped(&format!("{} {protocol}", experiment.about()));
    let commands = commands.iter().map(|command| format!("<code>{}</code>", escaped(command)));
    let commands = commands.collect::<Vec<_>>().join("<br/>");
    let _ = write!(text, "<p class=\"faint\">{about}</p>\n<p>{commands}</p>\n");
    notes.iter().for_each(|note| text += &format!("<p>{}</p>\n", escaped(note)));
    for figure in figures {
        let named = format!("<svg role=\"img\" aria-label=\"{}\"", escaped(&figure.about));
        let _ = write!(text, "<figure>\n{}</figure>\n", figure.svg.replacen("<svg", &named, 1));
    }
    for table in tables {
        // Long texts are for those who ask.
        match table.is_settings() {
            true => {
                text += &format!("<details><summary>Settings</summary>\n{}</details>\n", self::table(table))
            }
            false => text += &self::table(table),
        }
    }
    text + "</section>\n"
}

fn table(table: &Table) -> String {
    let mut text = String::from("<div class=\"scroll\"><table>\n");
    if !table.caption.is_empty() {
        let _ = writeln!(text, "<caption>{}</caption>", escaped(&table.caption));
    }
    let class = |at: usize| match at < table.texts {
        true if table.is_settings() => " class=\"long\"",
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
