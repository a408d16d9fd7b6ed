//! Tables as Markdown and as text.

use std::fmt::Write;

/// Rows of text and numbers.
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// The number of columns from the left that are text.
    pub(crate) texts: usize,
}

impl Table {
    /// Whether all columns are text, as those of settings.
    pub(crate) fn is_text(&self) -> bool {
        self.texts == self.head.len()
    }

    /// The first and the last column, for narrow places.
    pub(crate) fn ends(&self, caption: &str) -> Self {
        let ends = |row: &Vec<String>| row.first().into_iter().chain(row.last()).cloned().collect();
        Self {
            caption: caption.into(),
            head: self.head.first().into_iter().chain(self.head.last()).copied().collect(),
            rows: self.rows.iter().map(ends).collect(),
            texts: 2,
        }
    }

    pub(crate) fn markdown(&self) -> String {
        let row = |cells: &mut dyn Iterator<Item = &str>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = String::from("\n");
        if !self.caption.is_empty() {
            let _ = write!(text, "{}\n\n", self.caption);
        }
        text += &row(&mut self.head.iter().copied());
        text += &row(&mut (0..self.head.len()).map(|at| if at < self.texts { "---" } else { "---:" }));
        self.rows.iter().for_each(|cells| text += &row(&mut cells.iter().map(String::as_str)));
        text
    }

    pub(crate) fn text(&self) -> String {
        let length = |cell: &str| cell.chars().count();
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| length(cell)).chain([length(self.head[at])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let row = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for ((at, cell), width) in cells.enumerate().zip(&widths) {
                let space = " ".repeat(width - length(cell).min(*width));
                let (before, after) = if at < self.texts { ("", &space[..]) } else { (&space[..], "") };
                let _ = write!(line, "  {before}{cell}{after}");
            }
            line.trim_end().to_owned() + "\n"
        };
        let mut text = String::from("\n");
        if !self.caption.is_empty() {
            let _ = writeln!(text, "{}", self.caption);
        }
        text += &row(&mut self.head.iter().copied());
        self.rows.iter().for_each(|cells| text += &row(&mut cells.iter().map(String::as_str)));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_escaped() {
        let rows = vec![vec!["a|b".into(), "1.00".into()], vec!["Â²X".into(), "-12.50".into()]];
        let table = Table { caption: "Two rows".into(), head: vec!["what", "much"], rows, texts: 1 };
        assert_eq!(table.text(), "\nTwo rows\n  what    much\n  a|b     1.00\n  Â²X   -12.50\n");
        assert_eq!(
            table.markdown(),
            "\nTwo rows\n\n| what | much |\n| --- | ---: |\n| a\\|b | 1.00 |\n| Â²X | -12.50 |\n"
        );
    }
}
