//! placeholder
use super::*;
pub(crate) const FORMAT: Format = Format {
    name: "edge-list",
    about: "text",
    recognizes: |h| h.is_text(),
    read: |_, _| Ok(Parts::default()),
};
