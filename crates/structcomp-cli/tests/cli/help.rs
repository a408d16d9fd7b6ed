//! Help texts.

use super::*;

/// Every command, as typed.
const COMMANDS: [&str; 15] = [
    "",
    "run",
    "info",
    "datasets",
    "datasets list",
    "datasets fetch",
    "datasets verify",
    "generate",
    "convert",
    "partition",
    "train",
    "embed",
    "evaluate",
    "neighbors",
    "reproduce",
];

fn help(folder: &Path, command: &str) -> String {
    line(folder, &format!("{command} --help"))
}

/// The names under "Commands:" in a help text.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    lines
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn every_help_is_as_written_and_ends_with_an_example() {
    let folder = folder();
    for command in COMMANDS {
        let said = help(folder.path(), command);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap();
        assert!(
            said.contains("\nExample") && last.trim_start().starts_with("structcomp "),
            "{command}: {said}"
        );
        let name = if command.is_empty() { "structcomp" } else { command };
        snapshot(&format!("help/{}", name.replace(' ', "-")), &said);
    }
}

#[test]
fn no_command_is_left_out() {
    let folder = folder();
    let mut found = vec![String::new()];
    for name in subcommands(&help(folder.path(), "")) {
        let below = subcommands(&help(folder.path(), &name));
        found.push(name.clone());
        found.extend(below.iter().map(|action| format!("{name} {action}")));
    }
    assert_eq!(found, COMMANDS);
}

#[test]
fn every_partitioning_method_and_model_is_listed() {
    let folder = folder();
    let said = help(folder.path(), "partition");
    assert!(structcomp::partition::METHODS.iter().all(|method| said.contains(method.name)), "{said}");
    let said = help(folder.path(), "run");
    assert!(structcomp::Model::NAMES.iter().all(|name| said.contains(name)), "{said}");
}
