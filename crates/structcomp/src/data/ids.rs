//! The users' own names for nodes, kept so that results come back under them.

use crate::{Error, Result};
use std::borrow::Cow;

/// What the nodes are called in the files they came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeIds {
    /// Node `v` is called `v`.
    #[default]
    Implicit,
    /// Whole numbers with gaps, or not in order.
    Numbers(Vec<u64>),
    /// Any text.
    Names(Vec<Box<str>>),
}

impl NodeIds {
    /// Ids from numbers, which must be distinct; `0, 1, 2, …` becomes [`NodeIds::Implicit`].
    pub fn from_numbers(numbers: Vec<u64>) -> Result<Self> {
        if (0..).zip(&numbers).all(|(v, &number): (u64, _)| v == number) {
            return Ok(Self::Implicit);
        }
        match first_repeat(&numbers) {
            Some(id) => Err(Error::Input(format!("the node id {id} appears twice"))),
            None => Ok(Self::Numbers(numbers)),
        }
    }

    /// Ids from text, which must be distinct.
    pub fn from_names(names: Vec<Box<str>>) -> Result<Self> {
        match first_repeat(&names) {
            Some(id) => Err(Error::Input(format!("the node id '{id}' appears twice"))),
            None => Ok(Self::Names(names)),
        }
    }

    /// The id of a node, as text.
    pub fn name(&self, node: u32) -> Cow<'_, str> {
        match self {
            Self::Implicit => node.to_string().into(),
            Self::Numbers(numbers) => numbers[node as usize].to_string().into(),
            Self::Names(names) => Cow::Borrowed(&names[node as usize]),
        }
    }

    /// How many ids there are, unless they are implicit.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Implicit => None,
            Self::Numbers(numbers) => Some(numbers.len()),
            Self::Names(names) => Some(names.len()),
        }
    }

    /// Whether there are ids and their number is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
}

fn first_repeat<T: Ord>(ids: &[T]) -> Option<&T> {
    if ids.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let mut sorted: Vec<&T> = ids.iter().collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_kept_and_must_differ() {
        assert_eq!(NodeIds::from_numbers(vec![0, 1, 2]).unwrap(), NodeIds::Implicit);
        let gapped = NodeIds::from_numbers(vec![7, 3]).unwrap();
        assert_eq!((gapped.name(0), gapped.name(1)), ("7".into(), "3".into()));
        assert!(NodeIds::from_numbers(vec![7, 3, 7]).is_err());
        let names = NodeIds::from_names(vec!["ann".into(), "bob".into()]).unwrap();
        assert_eq!(names.name(1), "bob");
        assert!(NodeIds::from_names(vec!["ann".into(), "ann".into()]).is_err());
    }
}
