//! Flags whose values are names of the library.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;

/// Takes one of some names, as the library's settings spell them.
pub(crate) fn one_of<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(name.into()))
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::{Command, CommandFactory};

    /// Parses every value that the help of a command lists.
    fn check(command: &Command) -> usize {
        let mut checked = 0;
        for arg in command.get_arguments() {
            for value in arg.get_possible_values() {
                let parser = arg.get_value_parser();
                let name = std::ffi::OsStr::new(value.get_name());
                parser.parse_ref(command, Some(arg), name).unwrap();
                checked += 1;
            }
        }
        checked + command.get_subcommands().map(check).sum::<usize>()
    }

    #[test]
    fn every_listed_name_is_one_of_the_library() {
        let mut command = Cli::command();
        command.build();
        assert!(check(&command) > 50);
    }
}
