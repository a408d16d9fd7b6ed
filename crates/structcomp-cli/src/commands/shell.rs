//! `structcomp completions` and `structcomp man`: for the shell, made from the same flags as the help texts.

use crate::terminal;
use anyhow::{Result, bail};
use clap::{Args, Command};
use clap_complete::Shell;

#[derive(Args)]
#[command(after_help = "Examples:
  structcomp completions bash > ~/.local/share/bash-completion/completions/structcomp
  structcomp completions zsh > ~/.zfunc/_structcomp")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, program: &Command) -> Result<()> {
        let mut program = visible(program);
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "structcomp", &mut script);
        terminal::print(&String::from_utf8_lossy(&script))
    }
}

/// The same without the commands that are not for people.
fn visible(program: &Command) -> Command {
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    Command::new("structcomp").args(program.get_arguments().cloned()).subcommands(commands.cloned())
}

#[derive(Args)]
#[command(after_help = "Examples:
  structcomp man | man -l -
  structcomp man run > structcomp-run.1")]
pub(crate) struct Man {
    /// A command; without one, the page is about the program
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl Man {
    pub(crate) fn run(&self, mut command: Command) -> Result<()> {
        command.build();
        let mut name = "structcomp".to_owned();
        for word in &self.command {
            let Some(found) = command.find_subcommand(word).cloned() else {
                bail!("there is no command '{name} {word}'")
            };
            name = format!("{name}-{word}");
            command = found;
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(command).title(name).render(&mut page)?;
        terminal::print(&String::from_utf8_lossy(&page))
    }
}
