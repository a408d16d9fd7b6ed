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
    use crate::cli::Cli;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    #[test]
    fn every_listed_name_is_one_of_the_library() {
        let run = Cli::command();
        let run = run.find_subcommand("run").unwrap();
        let mut checked = 0;
        for arg in run.get_arguments() {
            let Some(flag) = arg.get_long() else { continue };
            for value in arg.get_possible_values() {
                let typed = ["structcomp".into(), "run".into(), format!("--{flag}={}", value.get_name())];
                let refused = Cli::command().try_get_matches_from(typed).err().map(|error| error.kind());
                assert_ne!(refused, Some(ErrorKind::ValueValidation), "--{flag}={}", value.get_name());
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked}");
    }
}
