//! HTML pages in one file, readable on phones, in print and in the dark.
//!
//! A page says itself what it may do: nothing comes from outside, and only the style and script that are part of it
//! count, by their checksums. Whatever names in the data look like, they are never executed.

use crate::base64;
use crate::plot::escaped;
use sha2::{Digest, Sha256};

/// Light by default and in print. Pictures have their colors as attributes, which the dark style overrides.
const STYLE: &str = include_str!("html.css");

/// What a page consists of.
#[derive(Default)]
pub(crate) struct Html<'a> {
    pub(crate) title: &'a str,
    /// Added to the common style.
    pub(crate) style: &'a str,
    pub(crate) script: &'a str,
    pub(crate) body: &'a str,
}

impl Html<'_> {
    pub(crate) fn text(&self) -> String {
        let Self { style, script, body, .. } = self;
        let (title, style) = (escaped(self.title), format!("{STYLE}{style}"));
        let allowed = |text: &str| format!("'sha256-{}'", base64::encoded(&Sha256::digest(text)));
        let scripts = if script.is_empty() { "'none'".into() } else { allowed(script) };
        let policy = format!(
            "default-src 'none'; style-src {}; script-src {scripts}; base-uri 'none'; form-action 'none'",
            allowed(&style)
        );
        let script = if script.is_empty() { String::new() } else { format!("<script>{script}</script>\n") };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}{script}</body>\n\
             </html>\n"
        )
    }
}
