//! Errors of the library in the words of the command line: which flag helps.

use structcomp::Error;

/// The message of an error, in one line.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let message = format!("{error:#}").replace('\n', " ");
    match error.chain().find_map(|cause| cause.downcast_ref::<Error>()).and_then(hint) {
        Some(hint) if !message.contains("--") => format!("{message}; {hint}"),
        _ => message,
    }
}

fn hint(error: &Error) -> Option<String> {
    match error {
        Error::Memory { .. } => Some("--memory sets the limit".into()),
        Error::Strict(_) => Some("leave out --strict to repair it".into()),
        Error::Absent { name, can_be_fetched: true, .. } => {
            Some(format!("'structcomp datasets fetch {name}' downloads them"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_follows_the_library_s_words() {
        let strict = anyhow::Error::new(Error::Strict("1 self loop dropped".into())).context("edges.txt");
        let said = message(&strict);
        assert!(said.starts_with("edges.txt: ") && said.contains("--strict"), "{said}");
        assert_eq!(message(&anyhow::Error::new(Error::Input("no\nfeatures".into()))), "no features");
    }
}
