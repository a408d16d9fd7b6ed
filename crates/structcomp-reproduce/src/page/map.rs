//! The map of the embedding: points packed for the script that draws them.

use crate::base64;
use crate::plot::{class_name, escaped};
use serde::Serialize;
use structcomp::map::Map;
use structcomp::{Labels, NodeIds};

/// The embedding in two dimensions.
#[derive(Clone, Copy, Debug)]
pub struct PageMap<'a> {
    /// Where the nodes are, and which are nearest. At most [`PageMap::MOST`].
    pub map: &'a Map,
    /// The nodes on the map, in ascending order.
    pub nodes: &'a [u32],
    /// The names of all nodes.
    pub ids: &'a NodeIds,
    /// The labels, which color the points.
    pub labels: Option<&'a Labels>,
    /// What the map shows, in a sentence.
    pub about: &'a str,
}

/// Neighbours per node.
const NEAREST: usize = 10;
/// Names are cut so that all of them take at most so many bytes.
const NAMES: usize = 1_600_000;
const LETTERS: [usize; 6] = [96, 64, 48, 32, 24, 16];

/// As the script reads it. Numbers are little-endian and in base64.
#[derive(Serialize)]
struct Packed {
    /// Places from 0 to 65535.
    x: String,
    y: String,
    /// The class of each point plus one; 0 for none.
    of: String,
    classes: Vec<String>,
    /// None if nodes are named by their numbers, and all are on the map.
    names: Option<Vec<String>>,
    /// How many neighbours each point has.
    nearest: usize,
    near: String,
    /// Cosines from 0 (for −1) to 255 (for 1).
    score: String,
}

impl PageMap<'_> {
    /// How many nodes a map may have, so that each has a number of two bytes.
    pub const MOST: usize = 1 << 16;

    /// None without points, and for data that do not fit together.
    pub(super) fn html(&self) -> Option<String> {
        let count = self.nodes.len();
        if count == 0 || count > Self::MOST || count != self.map.places.rows() {
            return None;
        }
        // Whatever names contain, this has no markup.
        let packed = serde_json::to_string(&self.packed()).ok()?.replace('<', "\\u003c");
        let about = escaped(self.about);
        let template = include_str!("map.html");
        Some(
            template.replace("{about}", &about)
                + &format!("<script type=\"application/json\" id=\"points\">{packed}</script>\n"),
        )
    }

    fn packed(&self) -> Packed {
        let places = self.map.places.values();
        let axis = |axis: usize| places.iter().skip(axis).step_by(2).copied();
        let ends = |axis: &mut dyn Iterator<Item = f32>| {
            axis.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
        };
        let ends = [ends(&mut axis(0)), ends(&mut axis(1))];
        let side = ends.iter().map(|(low, high)| high - low).fold(f32::MIN_POSITIVE, f32::max);
        let place = |at: usize| {
            axis(at).map(|x| ((x - ends[at].0) / side * 65535.0).round() as u16).collect::<Vec<_>>()
        };
        let class = |node: u32| {
            self.labels.and_then(|labels| labels.of(node)).map_or(0, |class| class.saturating_add(1))
        };
        let of = self.nodes.iter().map(|&node| u16::try_from(class(node)).unwrap_or(0)).collect::<Vec<_>>();
        let width = self.map.nearest.iter().map(Vec::len).min().unwrap_or(0).min(NEAREST);
        let nearest = || self.map.nearest.iter().flat_map(|near| &near[..width]);
        let classes = self.labels.map_or(0, Labels::classes);
        Packed {
            x: words(&place(0)),
            y: words(&place(1)),
            of: words(&of),
            classes: (0..classes).filter_map(|class| Some(class_name(self.labels?, class))).collect(),
            names: self.names(),
            nearest: width,
            near: words(&nearest().map(|near| near.node as u16).collect::<Vec<_>>()),
            score: base64::encoded(
                &nearest().map(|near| ((near.score + 1.0) * 127.5).round() as u8).collect::<Vec<_>>(),
            ),
        }
    }

    fn names(&self) -> Option<Vec<String>> {
        let all: Vec<_> = self.nodes.iter().map(|&node| self.ids.name(node)).collect();
        if matches!(self.ids, NodeIds::Implicit)
            && all.iter().enumerate().all(|(at, name)| *name == at.to_string())
        {
            return None;
        }
        let cut = |most: usize| all.iter().map(move |name| shortened(name, most));
        let fits = |most: &usize| cut(*most).map(|name| name.len() + 3).sum::<usize>() <= NAMES;
        let most = LETTERS.into_iter().find(fits).unwrap_or(LETTERS[LETTERS.len() - 1]);
        Some(cut(most).collect())
    }
}

/// At most so many letters, the last of them an ellipsis if some are missing.
fn shortened(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        None => name.to_owned(),
        Some(_) => name.chars().take(most - 1).chain(['…']).collect(),
    }
}

fn words(words: &[u16]) -> String {
    base64::encoded(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
}
