//! How well each class is found, and what it is taken for.

use crate::plot::{class_name, escaped};
use std::collections::BTreeMap;
use std::fmt::Write;
use structcomp::Labels;

/// What was predicted for the test nodes of each class.
#[derive(Clone, Copy, Debug)]
pub struct ClassTable<'a> {
    /// The names of the classes, and how many nodes they have.
    pub labels: &'a Labels,
    /// How often each class was taken for which, over all splits.
    pub confusion: &'a [BTreeMap<u32, u64>],
}

/// Classes in the matrix at most, the largest.
const MATRIX: usize = 60;
/// Classes in the list that is open at first.
const LISTED: usize = 12;

/// A class that was tested.
struct Tested {
    class: usize,
    name: String,
    nodes: usize,
    tests: u64,
}

impl ClassTable<'_> {
    pub(super) fn html(&self) -> Option<String> {
        let sizes = self.labels.sizes();
        let mut tested: Vec<Tested> = (0..self.labels.classes().min(self.confusion.len()))
            .map(|class| Tested {
                class,
                name: class_name(self.labels, class),
                nodes: sizes[class],
                tests: self.confusion[class].values().sum(),
            })
            .filter(|class| class.tests > 0)
            .collect();
        if tested.is_empty() {
            return None;
        }
        tested.sort_by_key(|class| (std::cmp::Reverse(class.nodes), class.class));
        let mut text = String::from(
            "<p class=\"faint\">The share of each class's test nodes that are classified correctly, over all splits; the \
             largest classes come first.</p>\n<ul class=\"dots by-class\">\n",
        );
        let (listed, more) = tested.split_at(LISTED.min(tested.len()));
        listed.iter().for_each(|class| text += &self.row(class));
        text += "</ul>\n";
        if !more.is_empty() {
            let _ = writeln!(
                text,
                "<details><summary>{} more classes</summary>\n<ul class=\"dots by-class\">",
                more.len()
            );
            more.iter().for_each(|class| text += &self.row(class));
            text += "</ul></details>\n";
        }
        Some(text + &self.matrix(&tested))
    }

    fn row(&self, Tested { class, name, nodes, tests }: &Tested) -> String {
        let counts = &self.confusion[*class];
        let share = |count: u64| 100.0 * count as f64 / *tests as f64;
        let right = share(self.count(*class, *class));
        let others = counts.iter().filter(|(other, _)| **other as usize != *class);
        // The first of several.
        let most = others.rev().max_by_key(|(_, count)| **count);
        let taken = most.map(|(other, count)| {
            format!("; {:.0} % taken for {}", share(*count), class_name(self.labels, *other as usize))
        });
        let nodes = if *nodes == 1 { "1 node".into() } else { format!("{nodes} nodes") };
        format!(
            "<li><span class=\"name\">{} <small>{nodes}{}</small></span><span class=\"value\">{right:.0} %</span>\
             <svg><line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"50%\" y2=\"50%\"/>\
             <circle cx=\"{right:.1}%\" cy=\"50%\" r=\"5\"/></svg></li>\n",
            escaped(name),
            escaped(&taken.unwrap_or_default())
        )
    }

    fn count(&self, class: usize, predicted: usize) -> u64 {
        self.confusion[class].get(&(predicted as u32)).copied().unwrap_or(0)
    }

    fn matrix(&self, tested: &[Tested]) -> String {
        let shown = &tested[..MATRIX.min(tested.len())];
        let left_out = match tested.len() - shown.len() {
            0 => String::new(),
            more => format!(" The {more} smallest classes are left out."),
        };
        let names =
            shown.iter().map(|class| format!("<th scope=\"col\"><span>{}</span></th>", escaped(&class.name)));
        let mut text = format!(
            "<details><summary>Which classes are taken for which</summary>\n<p class=\"faint\">Percent of the test nodes of \
             the class on the left; a column for each class that is predicted.{left_out}</p>\n\
             <div class=\"scroll\"><table class=\"matrix\">\n<thead><tr><td></td>{}</tr></thead>\n<tbody>\n",
            names.collect::<String>()
        );
        for row in shown {
            let _ = write!(text, "<tr><th scope=\"row\">{}</th>", escaped(&row.name));
            for column in shown {
                let share = 100.0 * self.count(row.class, column.class) as f64 / row.tests as f64;
                let number = if share >= 0.5 { format!("{share:.0}") } else { String::new() };
                // Ten shades, the first for shares from 0.5 %.
                let shade =
                    if share >= 0.5 { (share / 10.0).floor().clamp(0.0, 9.0) as usize + 1 } else { 0 };
                let _ = write!(text, "<td class=\"h{shade}\">{number}</td>");
            }
            text += "</tr>\n";
        }
        text + "</tbody></table></div></details>\n"
    }
}
