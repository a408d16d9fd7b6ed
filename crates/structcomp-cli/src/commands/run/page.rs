//! What a run found, as a page to look at.

use super::report::{LinkReport, RunReport};
use crate::commands::judgement::{AccuracyReport, Judgement};
use crate::commands::trained::ClusterReport;
use crate::terminal::grouped;
use structcomp::evaluate::{ByControl, Diagnostics, LinkScore};
use structcomp::{Dataset, Features, Fitted};
use structcomp_reproduce::RunPage;

/// The report of a run with its curves and pictures.
pub(super) fn of<'a>(
    report: &'a RunReport,
    fitted: &'a Fitted,
    dataset: &'a Dataset,
    embedding: &'a Features,
) -> RunPage<'a> {
    let RunReport { data, model, seconds, .. } = report;
    let synthetic = if data.synthetic { " (synthetic)" } else { "" };
    let total = ("total", seconds.total);
    let on = fitted.settings.mode.title();
    let mut page = RunPage {
        title: format!("{}{synthetic}: {}", data.name, model.model.name()),
        about: format!("An embedding trained on {on}, compared with controls that need no training."),
        facts: facts(report, embedding.cols()),
        losses: &fitted.losses,
        partition: fitted.partition.as_ref(),
        embedding: match embedding {
            Features::Dense(embedding) => Some(embedding),
            Features::Sparse(_) => None,
        },
        labels: dataset.labels.as_ref(),
        seconds: seconds.stages().into_iter().chain([total]).map(owned).collect(),
        peak_rss_bytes: report.peak_rss_bytes,
        ..RunPage::default()
    };
    if let Some(judgement) = &report.judgement {
        judged(&mut page, judgement);
    }
    page
}

fn owned<T>((name, value): (&str, T)) -> (String, T) {
    (name.to_owned(), value)
}

/// Names and values.
fn facts(report: &RunReport, dimension: usize) -> Vec<(String, String)> {
    let RunReport { data, model, train, partition, .. } = report;
    let synthetic = if data.synthetic { " (synthetic)" } else { "" };
    let count = |count: Option<usize>| count.map_or_else(|| "none".into(), grouped);
    let each = 1e3 * train.seconds_per_epoch;
    let epochs = format!("{}, {each:.1} ms per epoch", grouped(train.epochs));
    let mut facts = vec![
        ("data", format!("{}{synthetic}", data.name)),
        ("nodes", grouped(data.nodes)),
        ("edges", grouped(data.edges)),
        ("features", count(data.features)),
        ("classes", count(data.classes)),
        ("model", model.model.name().to_owned()),
        ("epochs", epochs),
        ("embedding dimension", grouped(dimension)),
        ("layers", model.layers.to_string()),
        ("learning rate", model.learning_rate.to_string()),
        ("weight decay", model.weight_decay.to_string()),
        ("seed", report.seed.to_string()),
        ("threads", report.threads.to_string()),
        ("version", report.version.to_owned()),
        ("SHA-256 of the data", data.sha256.clone()),
    ];
    if let Some(ClusterReport { method, quality, .. }) = partition {
        facts.push(("clusters", format!("{} by {method}", grouped(quality.clusters))));
        facts.push(("edges cut", format!("{:.1} %", 100.0 * quality.cut_share)));
    }
    facts.extend(data.notes.iter().map(|note| ("note", note.clone())));
    let theory = report.diagnostics.iter().flat_map(Diagnostics::rows);
    let theory = theory.map(|(_, value, about)| (about, value));
    facts.into_iter().map(owned).chain(theory).chain(link_facts(report)).collect()
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

/// Adds the accuracies and the verdict.
fn judged<'a>(page: &mut RunPage<'a>, judgement: &'a Judgement) {
    let AccuracyReport { accuracy, splits, classifier, .. } = &judgement.accuracy;
    page.accuracy.push(("embedding".into(), accuracy));
    for (control, accuracy) in judgement.untrained.iter().flat_map(ByControl::iter) {
        page.accuracy.push((format!("{}: {}", control.label, control.about), accuracy));
    }
    let verdict = judgement.verdict.map(|verdict| format!("The embedding: {verdict}. ")).unwrap_or_default();
    let sampled = judgement.sampled.iter().map(|sampled| format!("; {sampled}")).collect::<String>();
    page.protocol = format!(
        "{verdict}Test accuracy (%), mean ± standard deviation over {} splits ({splits}); {classifier}{sampled}.",
        accuracy.runs
    );
}
