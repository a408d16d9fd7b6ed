//! Whether the first line of a list with text ids is a header, judged by all lines.
//!
//! A header's words are not nodes, so neither recurs. But two nodes that are joined to nothing else do not
//! recur either. So the first line is a header only if such pairs are rare in the rest of the file, and if its
//! words are not made like the ids below them.

use crate::data::text::{self, Delimiter};

/// Edges between places in a list of names.
type EdgeByName = ([u32; 2], f32);

/// Pairs of nodes without other edges may be one line in this many.
const RARE: usize = 20;

/// Ids whose form is compared with that of the first line.
const SAMPLE: usize = 1000;

/// Whether the first edge is a header. Its ends are the first two names; `others` are places of names without edges.
pub(super) fn is_header(
    edges: &[EdgeByName],
    names: &[Box<str>],
    others: &[u32],
    delimiter: Delimiter,
) -> bool {
    let Some((&(first, _), rest)) = edges.split_first() else { return false };
    // A list without commas or tabs rarely has a header, so it takes more lines to believe in one.
    let enough = if delimiter == Delimiter::Blank { RARE } else { 2 };
    if first != [0, 1] || rest.len() < enough || !may_be_words(names) {
        return false;
    }
    let mut times = vec![0u32; names.len()];
    let ends = edges.iter().flat_map(|(ends, _)| ends);
    ends.chain(others).for_each(|&name| times[name as usize] += 1);
    let once = |&&(ends, _): &&EdgeByName| ends.iter().all(|&end| times[end as usize] == 1);
    once(&&edges[0]) && rest.iter().filter(once).count() * RARE <= rest.len()
}

/// Whether the first two names may be the names of columns: they are plain words, or unlike the other ids.
fn may_be_words(names: &[Box<str>]) -> bool {
    let (first, others) = names.split_at(2.min(names.len()));
    let sample: Vec<String> = others.iter().take(SAMPLE).map(|name| form(name)).collect();
    first.iter().all(|name| {
        let (form, numeric) = (form(name), text::number::<f64>(name.as_bytes()).is_some());
        let plain = form.chars().all(|letter| matches!(letter, 'a' | 'A' | '_' | '-' | ' '));
        let alike = sample.iter().filter(|other| **other == form).count();
        !numeric && (plain || 2 * alike < sample.len())
    })
}

/// What a name is made of: `a` for small letters, `A` for capitals, `9` for digits, without repeats.
fn form(name: &str) -> String {
    let mut form: Vec<char> = name
        .chars()
        .map(|letter| match letter {
            _ if letter.is_uppercase() => 'A',
            _ if letter.is_alphabetic() => 'a',
            _ if letter.is_numeric() => '9',
            other => other,
        })
        .collect();
    form.dedup();
    form.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::data::{Options, edges::RawEdges};
    use std::path::Path;

    /// Number of edges and names that are read, and whether there was a remark.
    fn read(text: &str) -> (usize, usize, bool) {
        let (raw, notes) =
            crate::data::edge_list::parse(text.as_bytes(), Path::new("e"), &Options::default()).unwrap();
        let RawEdges::Names(edges, names) = raw else { panic!("text ids") };
        (edges.len(), names.len(), notes.iter().any(|note| note.contains("header")))
    }

    #[test]
    fn words_that_never_recur_are_a_header() {
        assert_eq!(read("package,needs\nvim,libc\nemacs,libc\n"), (2, 3, true));
        assert_eq!(read("Protein 1;Protein 2\nP1;P2\nP2;P3\nP3;P1\n"), (3, 3, true));
        assert_eq!(read("a,b,w\nvim,libc,2\nemacs,libc,3\n"), (2, 3, true));
        assert_eq!(read("a,b,w\nvim,libc,2\n"), (1, 2, true), "one number is enough");
    }

    #[test]
    fn an_edge_is_not_a_header() {
        // A word recurs.
        assert_eq!(read("libc,vim\nvim,gcc\nemacs,gcc\n"), (3, 4, false));
        // Other pairs are alone as well.
        assert_eq!(read("ann,bob\ncat,dan\neve,fay\nfay,gus\n"), (4, 7, false));
        // The first ids are made like the others.
        assert_eq!(read("n8,n9\nn1,n2\nn2,n3\nn3,n1\n"), (4, 5, false));
        assert_eq!(read("x.org/8,x.org/9\nx.org/1,x.org/2\nx.org/2,x.org/3\n"), (3, 5, false));
        // A short list without commas.
        assert_eq!(read("ann bob\ncat dan\ndan eve\n"), (3, 5, false));
        assert_eq!(read("ann,bob\ncat,dan\n"), (2, 4, false));
    }

    #[test]
    fn a_long_list_may_have_some_pairs() {
        let mut text = String::from("package needs\n");
        (0..100).for_each(|at| text += &format!("p{at} p{}\n", (at + 1) % 100));
        (0..5).for_each(|at| text += &format!("q{at} r{at}\n"));
        assert_eq!(read(&text), (105, 110, true));
        (5..15).for_each(|at| text += &format!("q{at} r{at}\n"));
        assert_eq!(read(&text), (116, 132, false));
    }
}
