//! Tables: plain aligned text, and Markdown.

/// A table: its head and its rows, each of as many cells.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    head: Vec<Column>,
    rows: Vec<Vec<String>>,
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
        Self { head: titles.into_iter().map(column).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.head.len(), "a row has a cell for every column");
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As aligned text, two spaces between columns.
    pub(crate) fn text(&self) -> String {
        let width = |at: usize, column: &Column| {
            let cells = self.rows.iter().map(|row| row[at].as_str());
            cells.chain([column.title.as_str()]).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = self.head.iter().enumerate().map(|(at, column)| width(at, column)).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for ((cell, column), width) in cells.zip(&self.head).zip(&widths) {
                let cell = if column.right { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
                line.push_str(&cell);
                line.push_str("  ");
            }
            format!("{}\n", line.trim_end())
        };
        let head = line(&mut self.head.iter().map(|column| column.title.as_str()));
        let rows = self.rows.iter().map(|row| line(&mut row.iter().map(String::as_str)));
        std::iter::once(head).chain(rows).collect()
    }

    /// As a Markdown table.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let head = line(&mut self.head.iter().map(|column| escape(&column.title)));
        let rule =
            line(&mut self.head.iter().map(|column| if column.right { "---:" } else { "---" }.to_owned()));
        let rows = self.rows.iter().map(|row| line(&mut row.iter().map(|cell| escape(cell))));
        [head, rule].into_iter().chain(rows).collect()
    }
}

/// A cell may hold anything that an author wrote.
fn escape(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
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
            "| case | median |\n| --- | ---: |\n| PC-1 | 1.23 ms |\n| a\\|b &lt;i> | 12 µs |\n"
        );
    }
}
