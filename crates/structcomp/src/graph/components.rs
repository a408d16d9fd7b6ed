//! Connected components.

use super::Graph;

/// The connected component of each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    of: Vec<u32>,
    sizes: Vec<u32>,
}

impl Components {
    /// The component of each node; components are numbered in the order of their first node.
    pub fn of(&self) -> &[u32] {
        &self.of
    }

    /// Number of nodes in each component.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Number of components.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// The size of the largest component; 0 for a graph without nodes.
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0) as usize
    }
}

impl Graph {
    /// The connected components, by union-find over the edges.
    pub fn components(&self) -> Components {
        let mut parent: Vec<u32> = (0..self.nodes() as u32).collect();
        for u in 0..self.nodes() as u32 {
            for &v in self.neighbors(u).iter().take_while(|&&v| v < u) {
                let (a, b) = (root(&mut parent, u), root(&mut parent, v));
                // The smaller root wins, so a root is the first node of its component.
                parent[a.max(b) as usize] = a.min(b);
            }
        }
        let mut of = vec![0; parent.len()];
        let mut sizes = Vec::new();
        for v in 0..parent.len() as u32 {
            let root = root(&mut parent, v);
            if root == v {
                of[v as usize] = sizes.len() as u32;
                sizes.push(0);
            }
            let component = of[root as usize];
            of[v as usize] = component;
            sizes[component as usize] += 1;
        }
        Components { of, sizes }
    }
}

fn root(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        let grandparent = parent[parent[node as usize] as usize];
        parent[node as usize] = grandparent;
        node = grandparent;
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_numbered_by_their_first_node() {
        // 0 - 4   1   2 - 5 - 3
        let graph = Graph::from_edges(6, &[(0, 4), (2, 5), (5, 3)]).unwrap();
        let components = graph.components();
        assert_eq!(components.of(), [0, 1, 2, 2, 0, 2]);
        assert_eq!(components.sizes(), [2, 1, 3]);
        assert_eq!(components.largest(), 3);
        assert_eq!(Graph::from_edges(0, &[]).unwrap().components().count(), 0);
    }
}
