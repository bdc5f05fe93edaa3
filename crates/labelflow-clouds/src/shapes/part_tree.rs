//! The tree of a shape's parts, as PartNet keeps it in `result.json`, and the merging of its leaves.
//!
//! ```text
//! leaves are merged into the nodes at a depth (root = 0), which are the parts
//! one part only → one level deeper, to depth 5 at most; still one part → the shape cannot be cut
//! a leaf above that depth is a part of its own
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use labelflow_data::tables::read_json;
use labelflow_data::{Error, Result};
use serde::{Deserialize, Serialize};

/// The deepest level at which parts are looked for.
const DEEPEST: usize = 5;

/// A node of the tree: a leaf, or a group of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTree {
    /// The number that labels refer to.
    pub id: u32,
    /// The name, such as `chair_back`.
    pub name: String,
    /// The name for people.
    #[serde(default)]
    pub text: String,
    /// The nodes of a group; none for a leaf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<PartTree>,
    /// The meshes of a leaf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objs: Vec<String>,
}

impl PartTree {
    /// A leaf without meshes.
    pub fn leaf(id: u32, name: &str) -> Self {
        let text = name.replace('_', " ");
        Self { id, name: name.to_owned(), text, children: Vec::new(), objs: Vec::new() }
    }

    /// Reads `result.json`: a list with one root.
    pub fn read(path: &Path) -> Result<Self> {
        let mut roots: Vec<Self> = read_json(path)?;
        match (roots.len(), roots.pop()) {
            (1, Some(root)) => Ok(root),
            (n, _) => Err(Error::content(path, "a list with one root", format!("{n} roots"))),
        }
    }

    /// The part of every node below or at `depth`, or nothing if there is one part only, however deep one looks.
    pub fn merged(&self, depth: usize) -> Option<BTreeMap<u32, u32>> {
        (depth..=DEEPEST.max(depth)).find_map(|depth| {
            let mut parts = BTreeMap::new();
            let mut n_parts = 0;
            self.collect(depth, &mut parts, &mut n_parts);
            (n_parts > 1).then_some(parts)
        })
    }

    fn collect(&self, depth: usize, parts: &mut BTreeMap<u32, u32>, n_parts: &mut usize) {
        if depth == 0 || self.children.is_empty() {
            *n_parts += 1;
            self.give(self.id, parts);
        } else {
            self.children.iter().for_each(|child| child.collect(depth - 1, parts, n_parts));
        }
    }

    fn give(&self, part: u32, parts: &mut BTreeMap<u32, u32>) {
        parts.insert(self.id, part);
        self.children.iter().for_each(|child| child.give(part, parts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(id: u32, children: Vec<PartTree>) -> PartTree {
        PartTree { children, ..PartTree::leaf(id, "group") }
    }

    fn leaf(id: u32) -> PartTree {
        PartTree::leaf(id, "leaf")
    }

    /// Depth 4, with a chain of single children and a leaf near the root.
    fn tree() -> PartTree {
        let deep = group(2, vec![group(3, vec![leaf(4), leaf(5)]), leaf(6)]);
        group(0, vec![group(1, vec![deep]), leaf(7)])
    }

    #[test]
    fn leaves_are_merged_at_a_depth() {
        let parts = |depth| tree().merged(depth).unwrap();
        let of = |depth, ids: &[u32]| ids.iter().map(|id| parts(depth)[id]).collect::<Vec<_>>();
        assert_eq!(of(1, &[4, 5, 6, 7]), [1, 1, 1, 7]);
        assert_eq!(of(2, &[4, 5, 6, 7]), [2, 2, 2, 7]);
        assert_eq!(of(3, &[4, 5, 6, 7]), [3, 3, 6, 7]);
        assert_eq!(of(4, &[4, 5, 6, 7]), [4, 5, 6, 7]);
        // The root alone is one part, so that depth 0 becomes depth 1.
        assert_eq!(parts(0), parts(1));
    }

    #[test]
    fn a_chain_is_followed_until_it_branches() {
        let chain = group(0, vec![group(1, vec![group(2, vec![leaf(3), leaf(4)])])]);
        assert_eq!(chain.merged(1).unwrap()[&4], 4);
        assert_eq!(group(0, vec![group(1, vec![leaf(2)])]).merged(1), None);
        assert_eq!(leaf(0).merged(2), None);
        let deep = (1..7).fold(group(100, vec![leaf(101), leaf(102)]), |tree, id| group(id, vec![tree]));
        assert_eq!(deep.merged(1), None);
    }

    #[test]
    fn files_are_lists_with_one_root() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        std::fs::write(&path, serde_json::to_string(&[tree()]).unwrap()).unwrap();
        assert_eq!(PartTree::read(&path).unwrap(), tree());
        for text in ["[]", "{}", "[{\"id\": -1, \"name\": \"\"}]", "[{\"id\""] {
            std::fs::write(&path, text).unwrap();
            assert!(PartTree::read(&path).is_err(), "{text}");
        }
    }
}
