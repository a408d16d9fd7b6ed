//! Nodes by name.

use crate::data::named::edit_distance;
use crate::{Error, NodeIds, Result};
use std::collections::HashMap;

/// The numbers of the nodes with these names. The error for an unknown name suggests similar ones.
pub fn find<'a>(ids: &NodeIds, nodes: usize, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<u32>> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut places: HashMap<&str, Option<u32>> = names.iter().map(|&name| (name, None)).collect();
    if *ids == NodeIds::Implicit {
        // Nobody needs the text of a million numbers.
        let number = |name: &str| name.parse().ok().filter(|&node: &u32| (node as usize) < nodes);
        places.iter_mut().for_each(|(name, place)| *place = number(name));
    } else {
        for node in 0..nodes as u32 {
            if let Some(place) = places.get_mut(&*ids.name(node)) {
                *place = Some(node);
            }
        }
    }
    names.iter().map(|&name| places[name].ok_or_else(|| unknown(ids, nodes, name))).collect()
}

/// Names that an error suggests.
const SUGGESTED: usize = 3;

fn unknown(ids: &NodeIds, nodes: usize, name: &str) -> Error {
    let advice = match (ids, nodes) {
        (_, 0) => "; there are no nodes".into(),
        (NodeIds::Implicit, _) => format!("; nodes have no names here, only numbers from 0 to {}", nodes - 1),
        _ => match &closest(ids, nodes, name)[..] {
            [] => ", and none has a similar name".into(),
            [one] => format!("; did you mean '{one}'?"),
            several => format!("; the closest names are '{}'", several.join("', '")),
        },
    };
    Error::Input(format!("there is no node '{name}'{advice}"))
}

/// The names that differ in few letters, then those that contain the name.
fn closest(ids: &NodeIds, nodes: usize, name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let few = 1 + name.chars().count() / 4;
    let distance = |known: &str| {
        let known = known.to_lowercase();
        let near = known.len().abs_diff(name.len()) <= 4 * few;
        let distance = if near { edit_distance(&name, &known) } else { usize::MAX };
        match distance <= few {
            true => Some((distance, known.len())),
            // Shorter ones are closer.
            false => (name.len() > 2 && known.contains(&name)).then_some((few + 1, known.len())),
        }
    };
    let known = (0..nodes as u32).map(|node| ids.name(node));
    let mut near: Vec<_> = known.filter_map(|known| Some((distance(&known)?, known))).collect();
    near.sort();
    near.into_iter().take(SUGGESTED).map(|(_, known)| known.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> NodeIds {
        NodeIds::from_names(names.iter().map(|&name| name.into()).collect()).unwrap()
    }

    #[test]
    fn names_and_numbers_are_found_in_the_order_asked_for() {
        let named = ids(&["b", "a", "7"]);
        assert_eq!(find(&named, 3, ["7", "b", "7"]).unwrap(), [2, 0, 2]);
        assert_eq!(find(&NodeIds::Numbers(vec![9, 4]), 2, ["4"]).unwrap(), [1]);
        assert_eq!(find(&NodeIds::Implicit, 3, ["2"]).unwrap(), [2]);
        assert_eq!(find(&named, 3, []).unwrap(), [0u32; 0]);
    }

    #[test]
    fn unknown_names_get_suggestions() {
        let said = |ids: &NodeIds, nodes, name| find(ids, nodes, [name]).unwrap_err().to_string();
        let named = ids(&["ripgrep", "zgrep", "postgresql-15-extras", "postgresql-15", "Ack"]);
        assert_eq!(said(&named, 5, "ripgerp"), "there is no node 'ripgerp'; did you mean 'ripgrep'?");
        assert_eq!(said(&named, 5, "ack"), "there is no node 'ack'; did you mean 'Ack'?");
        assert_eq!(
            said(&named, 5, "postgres"),
            "there is no node 'postgres'; the closest names are 'postgresql-15', 'postgresql-15-extras'"
        );
        assert_eq!(said(&named, 5, "x"), "there is no node 'x', and none has a similar name");
        for name in ["3", "-1", "a", "4294967296"] {
            assert!(said(&NodeIds::Implicit, 3, name).ends_with("only numbers from 0 to 2"), "{name}");
        }
        assert!(said(&NodeIds::Implicit, 0, "0").ends_with("there are no nodes"));
    }
}
