//! Node ids: the names that nodes have in the user's files. Results are written under the same ids.

use crate::{Error, Result};
use std::borrow::Cow;
use std::collections::HashMap;

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

/// The index of each id.
pub(crate) enum Places<'a> {
    Below(u64),
    Numbers(HashMap<u64, u32>),
    Names(HashMap<&'a str, u32>),
}

impl<'a> Places<'a> {
    pub(crate) fn of(ids: &'a NodeIds, count: usize) -> Self {
        match ids {
            NodeIds::Implicit => Self::Below(count as u64),
            NodeIds::Numbers(numbers) => Self::Numbers(numbers.iter().copied().zip(0..).collect()),
            NodeIds::Names(names) => Self::Names(names.iter().map(|name| &**name).zip(0..).collect()),
        }
    }

    /// The index of the id that another table has at `row`.
    pub(crate) fn place(&self, ids: &NodeIds, row: u32) -> Option<u32> {
        match ids {
            NodeIds::Implicit => self.of_number(row as u64),
            NodeIds::Numbers(numbers) => self.of_number(numbers[row as usize]),
            NodeIds::Names(names) => self.of_name(&names[row as usize]),
        }
    }

    pub(crate) fn of_number(&self, number: u64) -> Option<u32> {
        match self {
            Self::Below(count) => (number < *count).then_some(number as u32),
            Self::Numbers(places) => places.get(&number).copied(),
            Self::Names(places) => places.get(&*number.to_string()).copied(),
        }
    }

    pub(crate) fn of_name(&self, name: &str) -> Option<u32> {
        match self {
            Self::Names(places) => places.get(name).copied(),
            _ => name.parse().ok().and_then(|number| self.of_number(number)),
        }
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
