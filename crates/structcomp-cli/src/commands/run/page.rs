//! What a run found, as a page to look at.

use super::report::{LinkReport, RunReport};
use crate::commands::judgement::{AccuracyReport, Judgement};
use crate::commands::trained::ClusterReport;
use crate::terminal::grouped;
use structcomp::evaluate::{ByControl, Diagnostics, LinkScore, Verdict};
use structcomp::map::{Map, sample};
use structcomp::pipeline::Solution;
use structcomp::{Budget, Dataset, Dense, Features, Fitted, Result};
use structcomp_reproduce::{ClassTable, PageMap, RunPage};

/// The map of some or all nodes.
pub(super) struct DrawnMap {
    map: Map,
    nodes: Vec<u32>,
    about: String,
}

impl DrawnMap {
    /// Of at most so many nodes, drawn at random where there are more.
    pub(super) fn of(embedding: &Features, most: usize, budget: Budget) -> Result<Option<Self>> {
        let Features::Dense(embedding) = embedding else { return Ok(None) };
        let count = embedding.rows();
        if count == 0 || most == 0 {
            return Ok(None);
        }
        let about = "t-SNE: nodes that are close have similar embeddings, but distances between groups mean little, and \
                     the axes have no meaning.";
        if count <= most {
            let nodes = (0..count as u32).collect();
            return Ok(Some(Self { map: Map::of(embedding, budget)?, nodes, about: about.into() }));
        }
        let nodes = sample(count, most);
        let values: Vec<f32> = nodes.iter().flat_map(|&node| embedding.row(node as usize)).copied().collect();
        let some = Dense::new(most, embedding.cols(), values)?;
        let about = format!(
            "{about} The map shows {} of {} nodes, drawn at random; the nearest are those among them.",
            grouped(most),
            grouped(count)
        );
        Ok(Some(Self { map: Map::of(&some, budget)?, nodes, about }))
    }
}

/// The report of a run with its map.
pub(super) fn of<'a>(
    report: &'a RunReport,
    fitted: &'a Fitted,
    dataset: &'a Dataset,
    map: Option<&'a DrawnMap>,
) -> RunPage<'a> {
    let RunReport { seconds, judgement, .. } = report;
    let mut page = RunPage {
        title: format!("{}{}", report.data.name, if report.data.synthetic { " (synthetic)" } else { "" }),
        headline: headline(report),
        about: about(report, fitted),
        figures: figures(report, fitted),
        map: map.map(|DrawnMap { map, nodes, about }| PageMap {
            map,
            nodes,
            about,
            ids: &dataset.ids,
            labels: dataset.labels.as_ref(),
        }),
        making: making(report, fitted),
        parts: fitted.solution.as_ref().map_or(&[], |solution| &solution.weights),
        losses: &fitted.losses,
        partition: fitted.partition.as_ref(),
        seconds: seconds.stages().into_iter().chain([("total", seconds.total)]).collect(),
        peak_rss_bytes: report.peak_rss_bytes,
        origin: vec![
            ("command", report.command.clone()),
            ("version", report.version.to_owned()),
            ("SHA-256 of the data", report.data.sha256.clone()),
            ("date", report.date.clone()),
            ("seed", report.seed.to_string()),
        ],
        facts: facts(report),
        ..RunPage::default()
    };
    if let Some(judgement) = judgement {
        judged(&mut page, judgement);
        page.classes = dataset
            .labels
            .as_ref()
            .map(|labels| ClassTable { labels, confusion: &judgement.accuracy.confusion });
    }
    page
}

/// How good the embedding is compared with what needs no training, also where it loses.
fn headline(report: &RunReport) -> String {
    let links = report.links.as_ref().map(|links| {
        format!(" Held-out edges are told from pairs without an edge with an AUC of {:.3}.", links.score.auc)
    });
    let links = links.unwrap_or_default();
    let Some(Judgement { accuracy, verdict, untrained, .. }) = &report.judgement else {
        return match links.is_empty() {
            true => {
                "There are no labels, so this page shows what the embedding holds, but not how good it is."
                    .into()
            }
            false => links.trim_start().into(),
        };
    };
    let share = format!("{:.1} % of test nodes are classified correctly", accuracy.accuracy.mean);
    let Some(Verdict { against, difference, better, means: [_, other], controls, .. }) = verdict else {
        let best = untrained.as_ref().and_then(ByControl::best);
        let best = best.map_or(String::new(), |(control, best)| {
            format!(" The best embedding without training, {}, has {:.1} %.", control.label, best.mean)
        });
        return format!("{share}, on a single split.{best}{links}");
    };
    let points = difference.abs();
    let compared = match better {
        Some(true) => format!(
            "{points:.1} points more than with the best of {controls} embeddings without training ({}: {other:.1} %).",
            against.label
        ),
        Some(false) => format!(
            "{points:.1} points less than with {}, which needs no training ({other:.1} %). On this graph, use that one.",
            against.label
        ),
        None => format!(
            "which is no clear difference from the best of {controls} embeddings without training ({}: {other:.1} %).",
            against.label
        ),
    };
    format!("{share}, {compared}{links}")
}

/// What was done, on what.
fn about(report: &RunReport, fitted: &Fitted) -> String {
    let model = report.model.model.name();
    let how = match (&report.partition, &fitted.solution) {
        (_, Some(_)) => "by the default recipe: nothing was trained, and no labels were used".to_owned(),
        (Some(ClusterReport { quality, .. }), None) => {
            format!("by {model}, trained without labels on {} clusters of nodes", grouped(quality.clusters))
        }
        (None, None) => format!("by {model}, trained without labels on {}", fitted.settings.mode.title()),
    };
    let features = report
        .data
        .features
        .map_or_else(|| "no features".to_owned(), |features| format!("{} features", grouped(features)));
    format!("Each node, with its {features}, was turned into {} numbers {how}.", grouped(fitted.outputs()))
}

fn figures(report: &RunReport, fitted: &Fitted) -> Vec<(String, &'static str)> {
    let mut figures = vec![(grouped(report.data.nodes), "nodes"), (grouped(report.data.edges), "edges")];
    figures.extend(report.data.features.map(|features| (grouped(features), "features")));
    figures.extend(report.data.classes.map(|classes| (grouped(classes), "classes")));
    figures.push((grouped(fitted.outputs()), "dimensions"));
    let made = report.seconds.total - report.seconds.evaluate - report.seconds.map.unwrap_or(0.0);
    figures.push((format!("{made:.1} s"), "to make it"));
    figures
}

/// Why training ended when it did, or where the weights of a solved model come from.
fn making(report: &RunReport, fitted: &Fitted) -> Vec<String> {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    if let Some(Solution { own, told_by_features, told_by_neighbors, dimensions, .. }) = &fitted.solution {
        return vec![
            "Nothing was trained. Several views of each node are put side by side; how much each counts follows from four \
             numbers that need no labels."
                .into(),
            format!(
                "A half of a node's features tells {} of the variance of the other half, and that of its neighbours tells \
                 {}: the closer the second is to the first, the more the neighbours count.",
                percent(*told_by_features),
                percent(*told_by_neighbors)
            ),
            format!(
                "Two halves of a cluster agree on {} of their features: the more they agree, the more a node's own features \
                 count. Sixteen hops leave {dimensions:.0} effective dimensions.",
                percent(*own)
            ),
        ];
    }
    let (done, planned) = (fitted.losses.len(), report.model.epochs);
    let each = 1e3 * report.train.seconds_per_epoch;
    let why = match report.model.patience {
        _ if done == planned => "all that were planned".to_owned(),
        Some(patience) if !fitted.interrupted => {
            format!("as the loss had not fallen for {patience} epochs")
        }
        _ => format!("of {} planned: it was interrupted", grouped(planned)),
    };
    let epochs = if done == 1 { "1 epoch".into() } else { format!("{} epochs", grouped(done)) };
    vec![format!("Trained for {epochs}, {why}; {each:.1} ms per epoch.")]
}

/// Names and values.
fn facts(report: &RunReport) -> Vec<(String, String)> {
    let RunReport { data, model, partition, .. } = report;
    let mut facts = vec![("model", model.model.name().to_owned())];
    if report.train.epochs > 0 {
        facts.extend([
            ("layers", model.layers.to_string()),
            ("learning rate", model.learning_rate.to_string()),
            ("weight decay", model.weight_decay.to_string()),
        ]);
    }
    if let Some(ClusterReport { method, quality, .. }) = partition {
        facts.push(("clusters", format!("{} by {method}", grouped(quality.clusters))));
        facts.push(("edges cut", format!("{:.1} %", 100.0 * quality.cut_share)));
    }
    facts.extend([("format of the data", data.format.to_owned()), ("threads", report.threads.to_string())]);
    facts.extend(data.notes.iter().map(|note| ("note", note.clone())));
    let theory = report.diagnostics.iter().flat_map(Diagnostics::rows);
    let theory = theory.map(|(_, value, about)| (about, value));
    facts.into_iter().map(owned).chain(theory).chain(link_facts(report)).collect()
}

fn owned((name, value): (&str, String)) -> (String, String) {
    (name.to_owned(), value)
}

fn link_facts(report: &RunReport) -> Vec<(String, String)> {
    let Some(LinkReport { held_out, score, untrained }) = &report.links else { return Vec::new() };
    let scores = |LinkScore { auc, average_precision }: &LinkScore| {
        format!("AUC {auc:.4}, average precision {average_precision:.4}")
    };
    let mut facts = vec![owned(("held-out edges", grouped(*held_out))), owned(("links", scores(score)))];
    let controls =
        untrained.iter().map(|(control, score)| (format!("links, {}", control.label), scores(score)));
    facts.extend(controls);
    facts
}

/// Adds the accuracies and how they were measured.
fn judged<'a>(page: &mut RunPage<'a>, judgement: &'a Judgement) {
    let AccuracyReport { accuracy, splits, classifier, .. } = &judgement.accuracy;
    page.accuracy.push(("this embedding", "", accuracy));
    for (control, accuracy) in judgement.untrained.iter().flat_map(ByControl::iter) {
        page.accuracy.push((control.label, control.about, accuracy));
    }
    page.protocol.extend(judgement.verdict.map(|verdict| format!("The embedding is {verdict}.")));
    page.protocol.push(match accuracy.runs {
        1 => format!("Test accuracy on one split ({splits}); {classifier}."),
        runs => format!(
            "Dots are means over {runs} splits ({splits}), thin lines one standard deviation, and thick lines 95 % \
             intervals of the mean. All rows are judged on the same splits, so a difference can be clear although \
             intervals overlap. Classifier: {classifier}."
        ),
    });
    page.protocol.extend(judgement.sampled.clone());
}
