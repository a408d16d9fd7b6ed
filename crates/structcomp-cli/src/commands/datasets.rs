//! `structcomp datasets`: what is known by name, fetched and verified.

use crate::{
    args::Common,
    terminal::{self, grouped},
};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use structcomp::{
    data::{
        fetch::{FetchOptions, fetch},
        named::{self, NamedDataset, Progress, FileStage},
    },
    human_bytes,
};

#[derive(Args)]
#[command(args_override_self = true)]
#[command(after_help = "Example:\n  structcomp datasets list")]
pub(crate) struct Datasets {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// All named datasets: size, publisher, licence, and whether they are here
    #[command(args_override_self = true, after_help = "Example:\n  structcomp datasets list --data-dir data")]
    List(List),
    /// Download what is missing of a dataset, checked against its checksums
    #[command(args_override_self = true, after_help = "Example:\n  structcomp datasets fetch cora citeseer")]
    Fetch(Fetch),
    /// Compare the files that are here with the published ones
    #[command(
        args_override_self = true,
        after_help = "Example:\n  structcomp datasets verify cora\n  structcomp datasets verify"
    )]
    Verify(Verify),
}

#[derive(Args)]
struct List {
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Fetch {
    /// The datasets to fetch
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// A mirror, put in place of scheme and host of every address
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Verify {
    /// The datasets to verify [default: all that are here]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    common: Common,
}

impl Datasets {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.action {
            Action::List(list) => list.run(),
            Action::Fetch(fetch) => fetch.run(),
            Action::Verify(verify) => verify.run(),
        }
    }
}

impl List {
    fn run(&self) -> Result<()> {
        let folder = self.common.data_dir()?;
        let rows: Vec<(&NamedDataset, bool)> =
            named::all().iter().map(|dataset| (dataset, dataset.missing(&folder).is_empty())).collect();
        if self.common.json {
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
            return terminal::print_json(&json!({ "data_dir": folder, "datasets": list }));
        }
        let mut text = format!(
            "{:<17} {:>11} {:>13} {:>8} {:>7} {:>10}  {}\n",
            "name", "nodes", "edges", "features", "classes", "download", "here"
        );
        for (dataset, here) in rows {
            let expected = &dataset.expected;
            let edges = expected.edges.map_or_else(|| "?".into(), |edges| grouped(edges as u64));
            let size = dataset.bytes().map_or_else(|| "?".into(), human_bytes);
            text += &format!(
                "{:<17} {:>11} {edges:>13} {:>8} {:>7} {size:>10}  {}\n",
                dataset.name,
                grouped(expected.nodes as u64),
                grouped(expected.features as u64),
                expected.classes,
                if here { "yes" } else { "no" }
            );
        }
        text += &format!("\nkept in {}; --json tells publishers and licences\n", folder.display());
        terminal::print(&text)
    }
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
            let files: Vec<Value> = fetched
                .files
                .iter()
                .map(|file| json!({ "name": file.name, "bytes": file.bytes, "sha256": file.sha256 }))
                .collect();
            results.push(json!({
                "name": dataset.name, "folder": dataset.folder(&folder), "fetched": files,
                "warnings": fetched.warnings,
            }));
            if !self.common.json {
                let place = dataset.folder(&folder);
                let done = match fetched.files.len() {
                    0 => "nothing was missing".into(),
                    count => format!("{count} files fetched"),
                };
                let warnings: String = fetched.warnings.iter().map(|w| format!("  note: {w}\n")).collect();
                terminal::print(&format!("{}: {done}, in {}\n{warnings}", dataset.name, place.display()))?;
            }
        }
        if self.common.json {
            terminal::print_json(&json!({ "datasets": results }))?;
        }
        Ok(())
    }
}

impl Verify {
    fn run(&self) -> Result<()> {
        self.common.start()?;
        let folder = self.common.data_dir()?;
        let datasets: Vec<&NamedDataset> = match self.names.is_empty() {
            true => named::all().iter().filter(|dataset| dataset.folder(&folder).exists()).collect(),
            false => self.names.iter().map(|name| named::lookup(name)).collect::<Result<_, _>>()?,
        };
        if datasets.is_empty() {
            bail!(
                "there is no named dataset in {}; structcomp datasets fetch NAME gets one",
                folder.display()
            );
        }
        let mut results = Vec::new();
        let mut faults = Vec::new();
        for dataset in datasets {
            let bar = terminal::progress(self.common.quiet, 0, true);
            let verified = dataset.verify(&folder, &mut |progress| show(&bar, progress))?;
            bar.finish_and_clear();
            let wrong: Vec<_> = verified.iter().filter(|file| file.is_fault()).collect();
            if !wrong.is_empty() {
                faults.push(dataset.name.clone());
            }
            let files: Vec<Value> =
                verified.iter().map(|file| json!({ "name": file.name, "state": file.state.to_string(), "fault": file.is_fault() })).collect();
            results.push(json!({ "name": dataset.name, "ok": wrong.is_empty(), "files": files }));
            if !self.common.json {
                let state = if wrong.is_empty() { "ok" } else { "not as published" };
                let details: String = verified
                    .iter()
                    .filter(|file| file.state != named::FileState::Ok)
                    .map(|file| {
                        format!(
                            "  {}: {}{}\n",
                            file.name,
                            file.state,
                            if file.optional { " (optional)" } else { "" }
                        )
                    })
                    .collect();
                terminal::print(&format!("{}: {state}, {} files\n{details}", dataset.name, verified.len()))?;
            }
        }
        if self.common.json {
            terminal::print_json(&json!({ "datasets": results }))?;
        }
        if !faults.is_empty() {
            bail!("not as published: {}", faults.join(", "));
        }
        Ok(())
    }
}

fn show(bar: &indicatif::ProgressBar, progress: Progress<'_>) {
    let stage = match progress.stage {
        FileStage::Download => "fetching",
        FileStage::Check => "checking",
        FileStage::Unpack => "unpacking",
    };
    bar.set_message(format!("{stage} {}", progress.file));
    bar.set_length(progress.total.unwrap_or(progress.done));
    bar.set_position(progress.done);
}
