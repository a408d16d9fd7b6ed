//! Node ids: the names that nodes have in the user's files. Results are written under the same ids.

use crate::{Error, Result};
use std::borrow::Cow;

/// The ids of the nodes in the files they were read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeIds {
    /// Node `v` has id `v`.
    #[default]
    Implicit,
    /// Integers, with gaps or unordered.
    Numbers(Vec<u64>),
    /// Arbitrary strings.
    Names(Vec<Box<str>>),
}

impl NodeIds {
    /// Ids from integers, which must be distinct; `0, 1, 2, …` becomes [`NodeIds::Implicit`].
    pub fn from_numbers(numbers: Vec<u64>) -> Result<Self> {
        if (0..).zip(&numbers).all(|(v, &number): (u64, _)| v == number) {
            return Ok(Self::Implicit);
        }
        match first_repeat(&numbers) {
            Some(id) => Err(Error::Input(format!("the node id {id} appears twice"))),
            None => Ok(Self::Numbers(numbers)),
        }
    }

    /// Ids from strings, which must be distinct.
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

    /// Number of ids, or `None` if they are implicit.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Implicit => None,
            Self::Numbers(numbers) => Some(numbers.len()),
            Self::Names(names) => Some(names.len()),
        }
    }

    /// Whether ids are explicit and there are none.
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
