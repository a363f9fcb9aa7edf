//! Tables: plain aligned text, and Markdown of the same rows.

use weighbridge::data::Columns;

use crate::inert::markdown;

/// A table: its heads and its rows, each of as many cells.
#[derive(Clone, Debug)]
pub struct Table(Columns);

impl Table {
    /// A table with these columns. A title that ends in `>` makes a column that stands on the right: numbers.
    pub fn new<'a>(titles: impl IntoIterator<Item = &'a str>) -> Self {
        Self(Columns::new(titles))
    }

    /// Adds a row. What an author wrote in a cell is one line and stays in it.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.0.row(cells);
    }

    /// Returns whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As aligned text, two spaces between columns.
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// As a Markdown table.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let heads: Vec<String> = self.0.heads().map(|(head, _)| markdown(head)).collect();
        let rule = self.0.heads().map(|(_, is_right)| if is_right { "---:" } else { "---" }.to_owned());
        let rule: Vec<String> = rule.collect();
        let cells: Vec<String> = self.0.cells().map(markdown).collect();
        [&*heads, &*rule].into_iter().chain(cells.chunks(heads.len())).map(line).collect()
    }
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
