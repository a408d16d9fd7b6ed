//! Node tables as text: CSV and TSV, with or without a header, parsed in parallel.

use super::{Column, NodeTable, Purpose, id_column, label_column, settle};
use crate::data::bytes::Bytes;
use crate::data::{Options, text};
use crate::{Error, NodeIds, Result};
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::Path;
use text::Delimiter;

pub(crate) fn read(path: &Path, purpose: Purpose, options: &Options) -> Result<NodeTable> {
    let bytes = Bytes::open(path, &options.budget)?;
    parse(&bytes, path, purpose, options)
}

pub(crate) fn parse(text: &[u8], path: &Path, purpose: Purpose, options: &Options) -> Result<NodeTable> {
    let layout = CsvLayout::of(text, path, purpose, options)?;
    let (end, spare) = layout.end(text);
    let body = Body { text: &text[..end], path, layout: &layout };
    let pieces = body.pieces();
    let counts: Vec<usize> = pieces.par_iter().map(|&(_, piece)| layout.rows(piece).count()).collect();
    let (rows, cols) = (counts.iter().sum::<usize>(), layout.values.len());
    options.budget.check_items("the features", rows.saturating_mul(cols) as u64, size_of::<f32>() as u64)?;
    let mut values = vec![0f32; rows * cols];
    let mut rest = &mut values[..];
    let mut places = Vec::with_capacity(pieces.len());
    for (piece, count) in pieces.into_iter().zip(counts) {
        let (place, others) = rest.split_at_mut(count * cols);
        rest = others;
        places.push((piece, place));
    }
    let read: Vec<Result<_>> =
        places.into_par_iter().map(|((at, piece), place)| body.piece(at, piece, place)).collect();
    let read: Result<Vec<_>> = read.into_iter().collect();
    let (ids, labels): (Vec<_>, Vec<_>) = read?.into_iter().unzip();
    let ids = layout.id.map(|_| Column::concat(ids).into_ids(path)).transpose()?;
    let labels = layout.label.map(|_| Column::concat(labels).into_labels(path)).transpose()?;
    let features = if cols == 0 { None } else { Some(settle(path, rows, cols, values)?) };
    let headless = layout.headless;
    Ok(NodeTable { rows, ids, features, labels, headless, spare, notes: layout.notes, named_by: None })
}

/// How to read the lines of a file.
#[derive(Debug)]
struct CsvLayout {
    delimiter: Delimiter,
    names: Vec<String>,
    id: Option<usize>,
    label: Option<usize>,
    /// Feature columns.
    values: Vec<usize>,
    notes: Vec<String>,
    /// Start of the first row.
    body: usize,
    /// Whether there is a single column, so that a blank line is a row with an empty cell.
    list: bool,
    /// Whether the first line was read as a row, for lack of evidence that it is a header.
    headless: bool,
}

impl CsvLayout {
    fn of(text: &[u8], path: &Path, purpose: Purpose, options: &Options) -> Result<Self> {
        let start = start_of_rows(text);
        let mut lines = rows(&text[start..]);
        let empty = || Error::format(path, "contains no rows");
        let (first_at, first) = lines.next().ok_or_else(empty)?;
        let delimiter = Delimiter::of(first);
        let head = delimiter.fields(first);
        let list = head.len() == 1;
        let second = lines.next();
        let second_row = second.map(|(_, line)| delimiter.fields(line));
        let judged =
            || is_header(&head, second_row.as_deref(), lines.map(|(_, line)| delimiter.fields(line)));
        let named = options.header.unwrap_or_else(judged);
        let headless = !named && options.header.is_none();
        let (names, row, body) = match (named, second, second_row) {
            (false, ..) => {
                let body = if list { start } else { start + first_at };
                ((1..=head.len()).map(|n| n.to_string()).collect(), head, body)
            }
            (true, Some((at, _)), Some(row)) => {
                let after =
                    first_at + memchr::memchr(b'\n', &text[start + first_at..]).map_or(0, |end| end + 1);
                (named_columns(&head), row, start + if list { after } else { at })
            }
            _ => return Err(empty()),
        };
        let (values, notes) = (Vec::new(), Vec::new());
        let mut layout =
            Self { delimiter, names, id: None, label: None, values, notes, body, list, headless };
        layout.choose(&row, named, &text[body..]);
        layout.fit(path, purpose, &row)?;
        Ok(layout)
    }

    /// The end of the last row, and the number of blank lines after it.
    fn end(&self, text: &[u8]) -> (usize, usize) {
        let last = text.trim_ascii_end().len();
        let end = memchr::memchr(b'\n', &text[last..]).map_or(text.len(), |more| last + more + 1);
        (end, if self.list { text::line_count(&text[end..]) } else { 0 })
    }

    /// The lines that are rows, and their positions.
    fn rows<'a>(&self, piece: &'a [u8]) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let list = self.list;
        text::lines(piece).filter(move |(_, line)| list || !line.trim_ascii().is_empty())
    }

    /// Assigns a role to each column, by name or else by the contents of the first row.
    fn choose(&mut self, row: &[Cow<[u8]>], named: bool, body: &[u8]) {
        let is_text = |column: usize| row.get(column).is_some_and(|field| number(field).is_none());
        let last = self.names.len() - 1;
        if named {
            self.label = label_column(&self.names);
            let first = (self.names[0].is_empty() || is_text(0)) && self.label != Some(0);
            self.id = id_column(&self.names).or(first.then_some(0));
        } else if last > 0 {
            let ids = is_text(0) || self.first_column_counts(body);
            self.id = ids.then_some(0);
            self.label = is_text(last).then_some(last);
        }
        let (features, texts): (Vec<usize>, Vec<usize>) = (0..=last)
            .filter(|&at| Some(at) != self.id && Some(at) != self.label)
            .partition(|&at| !is_text(at));
        self.values = features;
        for column in texts {
            self.notes.push(format!("the column '{}' is not numeric and was ignored", self.names[column]));
        }
    }

    /// Whether the first column contains distinct integers, like ids.
    fn first_column_counts(&self, body: &[u8]) -> bool {
        let first = |line: &[u8]| self.delimiter.fields(line).first().and_then(|field| text::number(field));
        let ids: Option<Vec<u64>> = text::pieces(body)
            .into_par_iter()
            .flat_map_iter(|piece| self.rows(piece).map(|(_, line)| first(line)))
            .collect();
        ids.is_some_and(|ids| NodeIds::from_numbers(ids).is_ok())
    }

    /// Drops the columns that the purpose does not need, and finds the labels.
    fn fit(&mut self, path: &Path, purpose: Purpose, row: &[Cow<[u8]>]) -> Result<()> {
        if purpose == Purpose::Nodes {
            return Ok(());
        }
        let others = (0..row.len()).filter(|&at| Some(at) != self.id).collect::<Vec<_>>();
        if let (None, [only]) = (self.label, &others[..]) {
            self.label = Some(*only);
        } else if let (None, Some(0), []) = (self.label, self.id, &others[..]) {
            (self.id, self.label) = (None, Some(0));
        }
        if self.label.is_none() {
            return Err(Error::format(path, "has no column named label, class or y"));
        }
        self.values.clear();
        self.notes.clear();
        Ok(())
    }
}

/// Non-blank lines and their positions.
fn rows(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    text::lines(text).filter(|(_, line)| !line.trim_ascii().is_empty())
}

fn number(field: &[u8]) -> Option<f32> {
    text::number(field)
}

fn named_columns(head: &[Cow<[u8]>]) -> Vec<String> {
    head.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
}

/// Where the rows start. Comments are allowed only before the first row: further down, '#' may start an id.
fn start_of_rows(text: &[u8]) -> usize {
    let mark = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let comment = |line: &[u8]| line.starts_with(b"#");
    let head =
        text::lines(&text[mark..]).take_while(|(_, line)| comment(line) || line.trim_ascii().is_empty());
    let Some((last, _)) = head.filter(|(_, line)| comment(line)).last() else { return mark };
    let end = memchr::memchr(b'\n', &text[mark + last..]).map_or(text.len(), |end| mark + last + end + 1);
    end.min(text.len())
}

/// Whether a first row is a header: it contains a known name, or a name above a number, or counts the
/// columns from 0 as pandas does, or has names after an empty cell, as pandas has above its index.
fn is_header<'a>(
    head: &[Cow<[u8]>],
    second: Option<&[Cow<[u8]>]>,
    mut others: impl Iterator<Item = Vec<Cow<'a, [u8]>>>,
) -> bool {
    let names = named_columns(head);
    let known = id_column(&names).or(label_column(&names)).is_some();
    let above_number = second.is_some_and(|row| {
        head.iter().zip(row).any(|(name, field)| text::is_column_name(name) && number(field).is_some())
    });
    // With fewer columns, it may well be a row of data.
    let counted = |from: usize| names[from..].iter().enumerate().all(|(at, name)| *name == at.to_string());
    let index = head.len() > 1 && head[0].is_empty();
    // A row without an id is not a header if what follows are numbers, or the class of another row.
    let above_texts = index
        && head[1..].iter().all(|name| text::is_column_name(name))
        && second.is_some_and(|row| row.get(1) != Some(&head[1]))
        && others.all(|row| row.get(1) != Some(&head[1]));
    known || above_number || (head.len() >= 4 && counted(0)) || (index && counted(1)) || above_texts
}

/// The rows of a text and their layout.
struct Body<'a> {
    text: &'a [u8],
    path: &'a Path,
    layout: &'a CsvLayout,
}

impl<'a> Body<'a> {
    /// Pieces that end at line ends, and their positions in the text.
    fn pieces(&self) -> Vec<(usize, &'a [u8])> {
        let mut at = self.layout.body;
        let place = |piece: &'a [u8]| {
            at += piece.len();
            (at - piece.len(), piece)
        };
        text::pieces(&self.text[self.layout.body..]).into_iter().map(place).collect()
    }

    fn piece(&self, at: usize, piece: &[u8], place: &mut [f32]) -> Result<(Column<u64>, Column<i64>)> {
        let cols = self.layout.values.len();
        let (mut ids, mut labels) = (Column::default(), Column::default());
        for (row, (start, line)) in self.layout.rows(piece).enumerate() {
            let place = &mut place[row * cols..(row + 1) * cols];
            self.row(line, place, &mut ids, &mut labels)
                .map_err(|what| Error::at_line(self.path, text::line_number(self.text, at + start), what))?;
        }
        Ok((ids, labels))
    }

    fn row(
        &self,
        line: &[u8],
        place: &mut [f32],
        ids: &mut Column<u64>,
        labels: &mut Column<i64>,
    ) -> Result<(), String> {
        let CsvLayout { delimiter, names, id, label, values, .. } = self.layout;
        if *delimiter != Delimiter::Blank && memchr::memchr_iter(b'"', line).count() % 2 == 1 {
            return Err("a quote is not closed; line breaks inside quotes are not supported".into());
        }
        let mut fields = delimiter.fields(line);
        if self.layout.list && fields.is_empty() {
            fields.push(Cow::Borrowed(b""));
        }
        if fields.len() != names.len() {
            return Err(format!("has {} fields, but the first row has {}", fields.len(), names.len()));
        }
        let field =
            |column: usize| std::str::from_utf8(&fields[column]).map_err(|_| "is not UTF-8 text".to_owned());
        if let Some(id) = *id {
            let text = field(id)?;
            if text.is_empty() {
                return Err(format!("column '{}' is empty", names[id]));
            }
            ids.push(text);
        }
        if let Some(label) = *label {
            labels.push(field(label)?);
        }
        for (place, &column) in place.iter_mut().zip(values) {
            *place = value(&fields[column]).map_err(|what| format!("column '{}' {what}", names[column]))?;
        }
        Ok(())
    }
}

fn value(field: &[u8]) -> Result<f32, String> {
    // Fast path: most wide tables are zeros and ones.
    if let [digit @ b'0'..=b'9'] = field {
        return Ok((digit - b'0') as f32);
    }
    match number(field) {
        Some(value) if value.is_finite() => Ok(value),
        Some(value) => Err(format!("is {value}; features must be finite")),
        None if field.is_empty() => Err("is empty".into()),
        None => Err(format!("has {}, which is not a number", text::shown(field))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Features};

    fn nodes(text: &str) -> Result<NodeTable> {
        parse(text.as_bytes(), Path::new("t.csv"), Purpose::Nodes, &Options::default())
    }

    fn labels(text: &str) -> Result<NodeTable> {
        parse(text.as_bytes(), Path::new("t.csv"), Purpose::Labels, &Options::default())
    }

    fn dense(table: &NodeTable) -> Vec<f32> {
        table.features.as_ref().map_or(Vec::new(), |features| features.to_dense().values().to_vec())
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let table = nodes("f0,Label,id,title,f1\n0.5,cat,7,\"a, b\",2\n-1,,3,c,1e-3\n").unwrap();
        assert_eq!(table.ids, Some(NodeIds::Numbers(vec![7, 3])));
        assert_eq!(dense(&table), [0.5, 2.0, -1.0, 1e-3]);
        assert_eq!(table.labels.unwrap().iter().collect::<Vec<_>>(), [Some(0), None]);
        assert_eq!(table.notes, ["the column 'title' is not numeric and was ignored"]);
    }

    #[test]
    fn without_names_the_contents_decide_the_role_of_a_column() {
        let bare = nodes("0.5 1\n2 3\n").unwrap();
        assert_eq!((bare.ids.clone(), dense(&bare)), (None, vec![0.5, 1.0, 2.0, 3.0]));
        let content = nodes("31336\t0\t1\tNeural_Networks\n1061127\t1\t0\tRule_Learning\n").unwrap();
        assert_eq!(content.ids, Some(NodeIds::Numbers(vec![31336, 1061127])));
        assert_eq!(content.labels.as_ref().unwrap().names().unwrap(), ["Neural_Networks", "Rule_Learning"]);
        assert_eq!(dense(&content), [0.0, 1.0, 1.0, 0.0]);
        let repeats = nodes("1,0\n1,1\n").unwrap();
        assert_eq!((repeats.ids.clone(), dense(&repeats).len()), (None, 4));
        let pandas = nodes(",0,1\nann,1,2\nbob,3,4\n").unwrap();
        assert_eq!(pandas.ids.unwrap().name(1), "bob");
        assert_eq!(nodes("# made by numpy\n0,1,2,3\n5,6,7,8\n").unwrap().rows, 1);
    }

    #[test]
    fn labels_are_found_in_lists_and_tables() {
        let of = |text: &str| {
            let table = labels(text).unwrap();
            (table.ids, table.labels.unwrap().iter().collect::<Vec<_>>())
        };
        assert_eq!(of("2\n0\n-1\n"), (None, vec![Some(2), Some(0), None]));
        assert_eq!(of("b\r\na\r\n"), (None, vec![Some(1), Some(0)]));
        assert_eq!(of("5 1\n4 0\n"), (Some(NodeIds::Numbers(vec![5, 4])), vec![Some(1), Some(0)]));
        assert_eq!(of("node,colour\nx,red\ny,blue\n").1, [Some(1), Some(0)]);
        assert_eq!(of("id,f,y\n0,0.5,1\n1,0.25,0\n"), (Some(NodeIds::Implicit), vec![Some(1), Some(0)]));
        assert!(labels("id,a,b\n0,1,2\n").unwrap_err().to_string().contains("no column named label"));
    }

    #[test]
    fn a_blank_line_of_a_list_is_a_node_without_a_label() {
        let of = |text: &str| {
            let table = labels(text).unwrap();
            (table.labels.unwrap().iter().collect::<Vec<_>>(), table.spare)
        };
        assert_eq!(of("1\n\n0\n"), (vec![Some(1), None, Some(0)], 0));
        assert_eq!(of("\n \n0\n1\n\n\n"), (vec![None, None, Some(0), Some(1)], 2));
        assert_eq!(of("label\n\n0\r\n\r\n1"), (vec![None, Some(0), None, Some(1)], 0));
        assert!(nodes("1\n\n3\n").unwrap_err().to_string().ends_with(":2: column '1' is empty"));
    }

    #[test]
    fn a_first_row_with_an_empty_field_is_no_header() {
        let table = labels("7,\n8,cat\n9,dog\n").unwrap();
        assert_eq!(table.ids, Some(NodeIds::Numbers(vec![7, 8, 9])));
        assert_eq!(table.labels.unwrap().iter().collect::<Vec<_>>(), [None, Some(0), Some(1)]);
        let numbers = labels("7,\n8,3\n9,0\n").unwrap();
        assert_eq!(numbers.labels.unwrap().iter().collect::<Vec<_>>(), [None, Some(3), Some(0)]);
        for text in [",0.5\nb,3\n", ",cat\nb,dog\nc,cat\n"] {
            assert_eq!(labels(text).unwrap_err().to_string(), "t.csv:1: column '1' is empty", "{text:?}");
        }
        // The same as pandas writes above an index.
        assert_eq!(labels(",animal\nb,dog\nc,cat\n").unwrap().rows, 2);
        assert_eq!(nodes(",0,1\nb,3,4\n").unwrap().rows, 1);
    }

    #[test]
    fn a_header_may_be_demanded_or_excluded() {
        let read = |header| {
            let options = Options { header, ..Options::default() };
            parse(b"tool,kind\nvim,editor\n", Path::new("t"), Purpose::Labels, &options).unwrap()
        };
        assert_eq!(
            [None, Some(true), Some(false)].map(|header| (read(header).rows, read(header).headless)),
            [(2, true), (1, false), (2, false)]
        );
    }

    #[test]
    fn errors_name_the_line() {
        let error_of = |text: &str| nodes(text).unwrap_err().to_string();
        assert_eq!(error_of("id,a\n1,2\n\n3,x\n"), "t.csv:4: column 'a' has 'x', which is not a number");
        assert_eq!(error_of("id,a\n1,2\n3,nan\n"), "t.csv:3: column 'a' is NaN; features must be finite");
        assert_eq!(error_of("id,a\n1,2\n3\n"), "t.csv:3: has 1 fields, but the first row has 2");
        assert_eq!(error_of("id,a\n1,2\n3,\n"), "t.csv:3: column 'a' is empty");
        assert!(error_of("id,a\n\"x\ny\",1\n").contains("not closed"));
        assert!(error_of("id,a\n1,2\n1,3\n").contains("id 1 appears twice"));
        for empty in ["", "\n\n", "id,a\n", "# only\n"] {
            assert_eq!(error_of(empty), "t.csv: contains no rows", "{empty:?}");
        }
    }

    #[test]
    fn splitting_into_pieces_changes_nothing() {
        let rows = 90_000;
        let text: String =
            (0..rows).map(|row| format!("n{row},{},{}\n", row % 7, row as f32 / 8.0)).collect();
        assert!(text::pieces(text.as_bytes()).len() > 1);
        let table = nodes(&text).unwrap();
        let Some(Features::Dense(features)) = table.features else { panic!("dense features") };
        assert_eq!((table.rows, features.row(89_999)), (rows, &[0.0, 11249.875][..]));
        assert_eq!(table.ids.unwrap().name(89_999), "n89999");
        let line = text.lines().nth(85_000).unwrap();
        let broken = nodes(&text.replace(line, "n85000,oops,1")).unwrap_err().to_string();
        assert!(broken.starts_with("t.csv:85001:"), "{broken}");
        let small = Options { budget: Budget { bytes: 1000 }, ..Options::default() };
        let result = parse(text.as_bytes(), Path::new("t"), Purpose::Nodes, &small);
        assert!(matches!(result, Err(Error::Memory { .. })));
    }
}
