//! Class labels. A node may be unlabelled.

use crate::{Error, Result};

/// The class of each labelled node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    class: Vec<u32>,
    classes: usize,
    names: Option<Vec<String>>,
}

const UNLABELLED: u32 = u32::MAX;

impl Labels {
    /// Labels from class numbers; there are `max + 1` classes.
    pub fn new(class: impl IntoIterator<Item = Option<u32>>) -> Result<Self> {
        let class: Vec<u32> = class.into_iter().map(|class| class.unwrap_or(UNLABELLED)).collect();
        let classes = class.iter().filter(|&&c| c != UNLABELLED).max().map_or(0, |&c| c as usize + 1);
        // More classes than nodes means a damaged file, or node ids in place of classes.
        if classes > class.len().max(1 << 16) {
            return Err(Error::Input(format!(
                "class number {} is too large for {} nodes",
                classes - 1,
                class.len()
            )));
        }
        Ok(Self { class, classes, names: None })
    }

    /// Labels from signed class numbers; negative means unlabelled.
    pub fn from_signed(class: impl IntoIterator<Item = i64>) -> Result<Self> {
        let number = |class: i64| match class {
            ..0 => Ok(None),
            _ => u32::try_from(class).ok().filter(|&c| c != UNLABELLED).map(Some).ok_or(class),
        };
        let class: Result<Vec<_>, i64> = class.into_iter().map(number).collect();
        Self::new(class.map_err(|class| Error::Input(format!("class number {class} is too large")))?)
    }

    /// Labels from class names; an empty name means unlabelled. Classes are numbered in the order of the
    /// sorted names, which are compared as integers if all are.
    pub fn from_names<S: AsRef<str>>(of_node: &[S]) -> Result<Self> {
        let mut names: Vec<&str> = of_node.iter().map(AsRef::as_ref).filter(|n| !n.is_empty()).collect();
        let order = |a: &&str, b: &&str| match (a.parse::<i64>(), b.parse::<i64>()) {
            (Ok(x), Ok(y)) => x.cmp(&y).then(a.cmp(b)),
            _ => a.cmp(b),
        };
        let numeric = names.iter().all(|name| name.parse::<i64>().is_ok());
        if numeric {
            names.sort_by(order)
        } else {
            names.sort_unstable()
        }
        names.dedup();
        let number: std::collections::HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
        let mut labels = Self::new(of_node.iter().map(|name| number.get(name.as_ref()).copied()))?;
        labels.names = Some(names.into_iter().map(str::to_owned).collect());
        Ok(labels)
    }

    /// The same labels, with a name for each class.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() < self.classes {
            return Err(Error::Input(format!("{} class names for {} classes", names.len(), self.classes)));
        }
        self.classes = names.len();
        self.names = Some(names);
        Ok(self)
    }

    /// Number of nodes, labelled or not.
    pub fn nodes(&self) -> usize {
        self.class.len()
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The class of a node, if it has one.
    pub fn of(&self, node: u32) -> Option<u32> {
        Some(self.class[node as usize]).filter(|&class| class != UNLABELLED)
    }

    /// The class of each node, if it has one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<u32>> + '_ {
        self.class.iter().map(|&class| Some(class).filter(|&class| class != UNLABELLED))
    }

    /// The class names, if the data has them.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// Number of unlabelled nodes.
    pub fn unlabelled(&self) -> usize {
        self.class.iter().filter(|&&class| class == UNLABELLED).count()
    }

    /// Number of nodes in each class.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.classes];
        self.iter().flatten().for_each(|class| sizes[class as usize] += 1);
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlabelled_is_not_a_class() {
        let labels = Labels::from_signed([1, -1, 0, 1]).unwrap();
        assert_eq!(labels.iter().collect::<Vec<_>>(), [Some(1), None, Some(0), Some(1)]);
        assert_eq!((labels.classes(), labels.unlabelled()), (2, 1));
        assert_eq!(labels.sizes(), [1, 2]);
        assert_eq!(Labels::new([None, None]).unwrap().classes(), 0);
    }

    #[test]
    fn names_are_numbered_in_order() {
        let labels = Labels::from_names(&["pear", "", "apple", "pear"]).unwrap();
        assert_eq!(labels.iter().collect::<Vec<_>>(), [Some(1), None, Some(0), Some(1)]);
        assert_eq!(labels.names(), Some(&["apple".to_owned(), "pear".to_owned()][..]));
        let numbers = Labels::from_names(&["10", "9"]).unwrap();
        assert_eq!(numbers.of(0), Some(1));
    }

    #[test]
    fn absurd_class_numbers_are_refused() {
        assert!(Labels::from_signed([1 << 40]).is_err());
        assert!(Labels::from_signed([4_000_000_000]).is_err());
        assert!(Labels::from_signed([0, 3]).unwrap().with_names(vec!["a".into()]).is_err());
    }
}
