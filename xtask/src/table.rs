//! Tables: plain aligned text, and Markdown.

use crate::inert::{markdown, plain};

/// A table: its head and its rows, each of as many cells.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    head: Vec<Column>,
    /// All cells, row by row, in one text: a listing has a million.
    cells: String,
    /// Where each cell ends in it.
    ends: Vec<usize>,
}

/// A column: its title, and on which side its cells stand.
#[derive(Clone, Debug)]
struct Column {
    title: String,
    right: bool,
}

impl Table {
    /// A table with these columns. A title that ends in `>` makes a column that stands on the right: numbers.
    pub(crate) fn new<'a>(titles: impl IntoIterator<Item = &'a str>) -> Self {
        let column = |title: &str| match title.strip_suffix('>') {
            Some(title) => Column { title: title.to_owned(), right: true },
            None => Column { title: title.to_owned(), right: false },
        };
        Self { head: titles.into_iter().map(column).collect(), cells: String::new(), ends: Vec::new() }
    }

    /// Adds a row. What an author wrote in a cell stays in it: see [`plain`].
    pub(crate) fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let before = self.ends.len();
        for cell in cells {
            self.cells.push_str(&plain(cell.as_ref()));
            self.ends.push(self.cells.len());
        }
        assert_eq!(self.ends.len() - before, self.head.len(), "a row has a cell for every column");
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The cells of all rows, row by row.
    fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.cells[start..*end])
    }

    /// As aligned text, two spaces between columns.
    pub(crate) fn text(&self) -> String {
        let columns = self.head.len();
        let titles = || self.head.iter().map(|column| column.title.as_str());
        let mut widths = vec![0; columns];
        for (at, cell) in titles().chain(self.cells()).enumerate() {
            let width = &mut widths[at % columns];
            *width = letters(cell).max(*width);
        }
        let mut text = String::with_capacity(self.cells.len() * 2);
        for (at, cell) in titles().chain(self.cells()).enumerate() {
            let at = at % columns;
            let space = widths[at] - letters(cell);
            let is_right = self.head[at].right;
            pad(&mut text, if is_right { space } else { 0 });
            text.push_str(cell);
            if at + 1 < columns {
                pad(&mut text, if is_right { 2 } else { space + 2 });
            } else {
                text.truncate(text.trim_end_matches(' ').len());
                text.push('\n');
            }
        }
        text
    }

    /// As a Markdown table.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let head = line(&mut self.head.iter().map(|column| markdown(&column.title)));
        let rule =
            line(&mut self.head.iter().map(|column| if column.right { "---:" } else { "---" }.to_owned()));
        let cells: Vec<String> = self.cells().map(markdown).collect();
        let rows = cells.chunks(self.head.len()).map(|row| line(&mut row.iter().cloned()));
        [head, rule].into_iter().chain(rows).collect()
    }
}

fn pad(text: &mut String, spaces: usize) {
    const SPACES: &str = "                                                                ";
    for from in (0..spaces).step_by(SPACES.len()) {
        text.push_str(&SPACES[..SPACES.len().min(spaces - from)]);
    }
}

/// How many letters wide a text is.
fn letters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_text_or_markdown() {
        let mut table = Table::new(["case", "median>"]);
        table.row(["PC-1", "1.23 ms"]);
        table.row(["a|b <i>", "12 µs"]);
        assert_eq!(table.text(), "case      median\nPC-1     1.23 ms\na|b <i>    12 µs\n");
        assert_eq!(
            table.markdown(),
            "| case | median |\n| --- | ---: |\n| PC-1 | 1.23 ms |\n| a&#124;b &#60;i&#62; | 12 µs |\n"
        );
    }
}
