//! `structcomp datasets`: the datasets known by name.

use crate::{
    args::EveryCommand,
    terminal::{self, grouped},
};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::Path;
use structcomp::data::{
    fetch::{FetchOptions, Fetched, fetch},
    named::{self, FileStage, NamedDataset, Progress, Verified},
};
use structcomp::memory::human_bytes;

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Examples:
  structcomp datasets list
  structcomp datasets fetch cora")]
pub(crate) struct Datasets {
    #[command(subcommand)]
    action: DatasetsAction,
}

#[derive(Subcommand)]
enum DatasetsAction {
    /// List all named datasets: size, publisher, licence, and whether they are present
    #[command(args_override_self = true, after_help = "Example:\n  structcomp datasets list --data-dir data")]
    List(List),
    /// Download the missing files of a dataset and check them against their checksums
    #[command(args_override_self = true, after_help = "Example:\n  structcomp datasets fetch cora citeseer")]
    Fetch(Fetch),
    /// Compare the files that are present with the published ones
    #[command(
        args_override_self = true,
        after_help = "Examples:\n  structcomp datasets verify cora\n  structcomp datasets verify"
    )]
    Verify(Verify),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Args)]
struct Fetch {
    /// Datasets to download
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Mirror: replaces scheme and host of every address
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    #[command(flatten)]
    common: EveryCommand,
}

#[derive(Args)]
struct Verify {
    /// Datasets to verify [default: all that are present]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    common: EveryCommand,
}

impl Datasets {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.action {
            DatasetsAction::List(list) => list.run(),
            DatasetsAction::Fetch(fetch) => fetch.run(),
            DatasetsAction::Verify(verify) => verify.run(),
        }
    }
}

impl List {
    fn run(&self) -> Result<()> {
        let folder = self.common.data_dir()?;
        let rows: Vec<(&NamedDataset, bool)> =
            named::all().iter().map(|dataset| (dataset, dataset.missing(&folder).is_empty())).collect();
        let entry = |(dataset, here): &(&NamedDataset, bool)| {
            let expected = &dataset.expected;
            json!({
                "name": dataset.name, "aliases": dataset.aliases, "here": here,
                "nodes": expected.nodes, "edges": expected.edges,
                "features": expected.features, "classes": expected.classes,
                "counts_measured": expected.measured, "bytes": dataset.bytes(),
                "publisher": dataset.publisher, "licence": dataset.licence, "note": dataset.note,
            })
        };
        let list: Vec<Value> = rows.iter().map(entry).collect();
        let report = json!({ "data_dir": folder, "datasets": list });
        self.common.print(&report, || table(&rows, &folder))
    }
}

fn table(rows: &[(&NamedDataset, bool)], folder: &Path) -> String {
    let mut text = format!(
        "{:<17} {:>11} {:>13} {:>8} {:>7} {:>10}  {}\n",
        "name", "nodes", "edges", "features", "classes", "download", "present"
    );
    for (dataset, here) in rows {
        let expected = &dataset.expected;
        let edges = expected.edges.map_or_else(|| "?".into(), grouped);
        let size = dataset.bytes().map_or_else(|| "?".into(), human_bytes);
        text += &format!(
            "{:<17} {:>11} {edges:>13} {:>8} {:>7} {size:>10}  {}\n",
            dataset.name,
            grouped(expected.nodes),
            grouped(expected.features),
            expected.classes,
            if *here { "yes" } else { "no" }
        );
    }
    text + &format!("\nfolder: {}; --json adds publishers and licences\n", folder.display())
}

impl Fetch {
    fn run(&self) -> Result<()> {
        self.common.start()?;
        let folder = self.common.data_dir()?;
        let datasets: Result<Vec<_>, _> = self.names.iter().map(|name| named::lookup(name)).collect();
        let options = FetchOptions { base_url: self.mirror.clone(), ..FetchOptions::default() };
        let mut results = Vec::new();
        for dataset in datasets? {
            let bar = terminal::progress(self.common.quiet, 0, true);
            let fetched = fetch(dataset, &folder, &options, &mut |progress| show(&bar, progress))?;
            bar.finish_and_clear();
            let place = dataset.folder(&folder);
            if !self.common.json {
                terminal::print(&fetched_text(dataset, &fetched, &place))?;
            }
            let files = fetched.files.iter();
            let files = files
                .map(|file| json!({ "name": file.name, "bytes": file.bytes, "sha256": file.sha256 }))
                .collect::<Vec<_>>();
            results.push(json!({
                "name": dataset.name, "folder": place, "fetched": files, "warnings": fetched.warnings,
            }));
        }
        match self.common.json {
            true => terminal::print_json(&json!({ "datasets": results })),
            false => Ok(()),
        }
    }
}

fn fetched_text(dataset: &NamedDataset, fetched: &Fetched, place: &Path) -> String {
    let done = match fetched.files.len() {
        0 => "no files were missing".into(),
        1 => "1 file downloaded".into(),
        count => format!("{count} files downloaded"),
    };
    let warnings: String = fetched.warnings.iter().map(|warning| format!("  warning: {warning}\n")).collect();
    format!("{}: {done}, folder {}\n{warnings}", dataset.name, place.display())
}

impl Verify {
    fn run(&self) -> Result<()> {
        self.common.start()?;
        let folder = self.common.data_dir()?;
        let mut results = Vec::new();
        let mut faults = Vec::new();
        for dataset in self.datasets(&folder)? {
            let bar = terminal::progress(self.common.quiet, 0, true);
            let verified = dataset.verify(&folder, &mut |progress| show(&bar, progress))?;
            bar.finish_and_clear();
            let ok = !verified.iter().any(Verified::is_fault);
            if !ok {
                faults.push(dataset.name.clone());
            }
            let files = verified.iter().map(|file| {
                json!({ "name": file.name, "state": file.state.to_string(), "fault": file.is_fault() })
            });
            let files: Vec<Value> = files.collect();
            results.push(json!({ "name": dataset.name, "ok": ok, "files": files }));
            if !self.common.json {
                terminal::print(&verified_text(dataset, &verified, ok))?;
            }
        }
        if self.common.json {
            terminal::print_json(&json!({ "datasets": results }))?;
        }
        match faults.is_empty() {
            true => Ok(()),
            false => bail!("files differ from the published ones: {}", faults.join(", ")),
        }
    }

    fn datasets(&self, folder: &Path) -> Result<Vec<&'static NamedDataset>> {
        let datasets: Vec<&NamedDataset> = match self.names.is_empty() {
            true => named::all().iter().filter(|dataset| dataset.folder(folder).exists()).collect(),
            false => self.names.iter().map(|name| named::lookup(name)).collect::<Result<_, _>>()?,
        };
        if datasets.is_empty() {
            bail!(
                "there are no datasets in {}; 'structcomp datasets fetch NAME' downloads one",
                folder.display()
            );
        }
        Ok(datasets)
    }
}

fn verified_text(dataset: &NamedDataset, files: &[Verified], ok: bool) -> String {
    let state = if ok { "ok" } else { "differs from the published files" };
    let mut text = format!("{}: {state}, {} files\n", dataset.name, files.len());
    for file in files.iter().filter(|file| file.state != named::FileState::Ok) {
        let optional = if file.optional { " (optional)" } else { "" };
        text += &format!("  {}: {}{optional}\n", file.name, file.state);
    }
    text
}

fn show(bar: &indicatif::ProgressBar, progress: Progress<'_>) {
    let stage = match progress.stage {
        FileStage::Download => "downloading",
        FileStage::Check => "checking",
        FileStage::Unpack => "unpacking",
    };
    bar.set_message(format!("{stage} {}", progress.file));
    bar.set_length(progress.total.unwrap_or(progress.done));
    bar.set_position(progress.done);
}
