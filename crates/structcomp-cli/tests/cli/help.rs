//! Help texts.

use super::*;

/// Every command, as typed.
const COMMANDS: [&str; 17] = [
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
    "completions",
    "man",
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

/// `-h` fits on a screen: data first, then the flags that most calls need. `--help` has all.
#[test]
fn short_help_is_a_screen() {
    let folder = folder();
    for command in COMMANDS {
        let short = line(folder.path(), &format!("{command} -h"));
        let lines = short.lines().count();
        assert!(lines <= 56, "{command} -h has {lines} lines: {short}");
        assert!(lines <= help(folder.path(), command).lines().count(), "{command}");
    }
    let short = line(folder.path(), "run -h");
    let place = |what: &str| short.find(what).unwrap_or_else(|| panic!("{what} is not in {short}"));
    assert!(place("[DATA]  ") < place("--model"));
    assert!(place("--model") < place("--seed") && !short.contains("--ssgc-alpha"), "{short}");
    assert!(help(folder.path(), "run").contains("--ssgc-alpha"));
    let usual = structcomp::Training::default();
    for default in [
        format!("or {}]", usual.epochs),
        format!("or {}]", usual.learning_rate),
        format!("or {}]", usual.hidden),
    ] {
        assert!(short.contains(&default), "{default} is not in {short}");
    }
    assert!(help(folder.path(), "").find("  run ") < help(folder.path(), "").find("  info "));
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = line(folder.path(), &format!("completions {shell}"));
        assert!(script.contains("neighbors") && script.contains("weight-decay"), "{shell}");
        assert!(!script.contains("measure-training"), "{shell}");
    }
    let page = line(folder.path(), "man");
    assert!(page.starts_with(".ie") || page.contains(".TH structcomp"), "{page}");
    assert!(page.contains("neighbors"), "{page}");
    assert!(line(folder.path(), "man datasets fetch").contains("structcomp datasets fetch"));
}
