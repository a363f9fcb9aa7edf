//! Rows of cells in aligned columns: the one way in which a table of text is set.

use std::borrow::Cow;

use crate::bencher::visible_in_line;

/// A table that is being filled: its heads and its rows, each of as many cells, with titles between rows.
#[derive(Clone, Debug)]
pub struct Columns {
    heads: Vec<Head>,
    /// All cells, row by row, in one text: a listing has a million.
    cells: String,
    /// The place where each cell ends in it.
    ends: Vec<usize>,
    titles: Vec<Title>,
}

/// The head of a column, and on which side its cells stand.
#[derive(Clone, Debug)]
struct Head {
    text: String,
    is_right: bool,
}

/// A line across all columns, cut where it is too long.
#[derive(Clone, Debug)]
struct Title {
    /// The number of the row that it stands before.
    before: usize,
    text: String,
    plain: String,
}

/// The columns that are shown, and how wide each column is.
struct ColumnLayout {
    shown: Vec<usize>,
    widths: Vec<usize>,
}

/// Names are cut to no less than this before a column is left out.
const NAME: usize = 24;

/// Spaces between two columns.
const GAP: usize = 2;

impl Columns {
    /// A table with these columns. A head that ends in `>` makes a column that stands on the right: numbers.
    pub fn new<'a>(heads: impl IntoIterator<Item = &'a str>) -> Self {
        let head = |head: &str| match head.strip_suffix('>') {
            Some(head) => Head { text: head.to_owned(), is_right: true },
            None => Head { text: head.to_owned(), is_right: false },
        };
        let heads = heads.into_iter().map(head).collect();
        Self { heads, cells: String::new(), ends: Vec::new(), titles: Vec::new() }
    }

    /// A line across all columns; `plain` is the same without paint, for where it must be cut.
    pub(super) fn title(&mut self, text: String, plain: String) {
        self.titles.push(Title { before: self.ends.len() / self.heads.len(), text, plain });
    }

    /// Adds a row. A cell is one line, whoever named what is in it.
    ///
    /// # Panics
    /// When it has not a cell for each column.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let before = self.ends.len();
        for cell in cells {
            self.cells.push_str(&visible_in_line(cell.as_ref()));
            self.ends.push(self.cells.len());
        }
        assert_eq!(self.ends.len() - before, self.heads.len(), "a row has a cell for every column");
    }

    /// Tells whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The head of each column, and whether its cells stand on the right.
    pub fn heads(&self) -> impl Iterator<Item = (&str, bool)> {
        self.heads.iter().map(|head| (&*head.text, head.is_right))
    }

    /// The cells of all rows, row by row.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|at| self.cell(at))
    }

    fn cell(&self, at: usize) -> &str {
        &self.cells[at.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[at]]
    }

    /// The text: every column, under its head.
    pub fn text(&self) -> String {
        let shown = (0..self.heads.len()).collect();
        self.set(&ColumnLayout { shown, widths: self.widths() }, 0, None)
    }

    /// The text for a terminal, set in by two spaces, in lines of so many characters at most where there is a
    /// limit. The first column holds names, which are cut. A column without content is left out, and those in
    /// `spare` are where the table is too wide, the first one first. Nothing of no rows.
    pub(super) fn fitted(&self, width: Option<usize>, spare: &[usize]) -> String {
        if self.is_empty() { String::new() } else { self.set(&self.fit(width, spare), GAP, width) }
    }

    fn set(&self, layout: &ColumnLayout, indent: usize, width: Option<usize>) -> String {
        let mut text = String::with_capacity(self.cells.len() * 2);
        if self.heads.iter().any(|head| !head.text.is_empty()) {
            self.line(&mut text, layout, indent, |column| &self.heads[column].text);
        }
        let columns = self.heads.len();
        let mut titles = self.titles.iter().peekable();
        for row in 0..self.ends.len() / columns {
            while let Some(title) = titles.next_if(|title| title.before <= row) {
                title.set(&mut text, width);
            }
            self.line(&mut text, layout, indent, |column| self.cell(row * columns + column));
        }
        text
    }

    fn line<'a>(
        &self,
        text: &mut String,
        layout: &ColumnLayout,
        indent: usize,
        cell: impl Fn(usize) -> &'a str,
    ) {
        pad(text, indent);
        for (place, column) in layout.shown.iter().enumerate() {
            let (cell, width) = (shortened(cell(*column), layout.widths[*column]), layout.widths[*column]);
            let space = width - letters(&cell);
            let (before, after) = if self.heads[*column].is_right { (space, 0) } else { (0, space) };
            pad(text, before + if place > 0 { GAP } else { 0 });
            text.push_str(&cell);
            pad(text, after);
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }

    /// The width of the widest cell of each column.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| letters(&head.text)).collect();
        let columns = widths.len();
        for (at, cell) in self.cells().enumerate() {
            let width = &mut widths[at % columns];
            *width = letters(cell).max(*width);
        }
        widths
    }

    fn fit(&self, width: Option<usize>, spare: &[usize]) -> ColumnLayout {
        let columns = self.heads.len();
        let is_used = |column: usize| {
            column == 0 || self.cells().skip(column).step_by(columns).any(|cell| !cell.is_empty())
        };
        let mut shown: Vec<usize> = (0..columns).filter(|column| is_used(*column)).collect();
        let mut widths = self.widths();
        let mut spare = spare.iter();
        while let Some(width) = width {
            let all: usize = shown.iter().map(|column| widths[*column] + GAP).sum();
            if all <= width {
                break;
            }
            if widths[0] > NAME {
                widths[0] = widths[0].saturating_sub(all - width).max(NAME);
            } else if let Some(column) = spare.next() {
                shown.retain(|shown| shown != column);
            } else {
                widths[0] = widths[0].saturating_sub(all - width).max(1);
                break;
            }
        }
        ColumnLayout { shown, widths }
    }
}

impl Title {
    fn set(&self, text: &mut String, width: Option<usize>) {
        match width {
            Some(width) if letters(&self.plain) > width => {
                text.extend(self.plain.chars().take(width.saturating_sub(1)));
                text.push('…');
            }
            _ => text.push_str(&self.text),
        }
        text.push('\n');
    }
}

fn pad(text: &mut String, spaces: usize) {
    text.extend(std::iter::repeat_n(' ', spaces));
}

/// The width of a text, in letters.
fn letters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The text, or its beginning and its end where it is too long.
fn shortened(text: &str, width: usize) -> Cow<'_, str> {
    let length = letters(text);
    if length <= width {
        return Cow::Borrowed(text);
    }
    let keep = width.saturating_sub(1);
    let end = keep / 2;
    let start: String = text.chars().take(keep - end).collect();
    let rest: String = text.chars().skip(length - end).collect();
    Cow::Owned(format!("{start}…{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_to_the_left_and_figures_to_the_right_below_their_heads() {
        let mut columns = Columns::new(["case", "median>", "change"]);
        columns.title("a title".to_owned(), "a title".to_owned());
        columns.row(["short", "1 s", ""]);
        columns.row(["much longer", "100 ms", ""]);
        let expected = "  case         median\na title\n  short           1 s\n  much longer  100 ms\n";
        assert_eq!(columns.fitted(None, &[]), expected, "an empty column is none");
        assert_eq!(Columns::new(["case"]).fitted(None, &[]), "", "nothing of no rows");
    }

    #[test]
    fn no_line_is_longer_than_its_width_first_the_name_is_cut_then_columns_are_left_out() {
        let mut columns = Columns::new(["case", "median>", "change"]);
        columns.title("t".repeat(50), "t".repeat(50));
        columns.row([&*"n".repeat(40), "123 ms", "+4 %"]);
        let lines = |width| -> Vec<String> {
            let text = columns.fitted(Some(width), &[1]);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            text.lines().map(str::to_owned).collect()
        };
        assert!(lines(56)[2].ends_with("nnn…nnnnnnnnnnnnnnnnnn  123 ms  +4 %"), "{:?}", lines(56));
        assert!(
            lines(36)[2].ends_with("…nnnnnnnnnnn  +4 %") && lines(36)[1].ends_with('…'),
            "{:?}",
            lines(36)
        );
        assert_eq!(lines(12)[2], "  n…  +4 %", "the name goes last");
    }

    #[test]
    fn a_table_that_need_not_fit_has_every_column_and_its_heads_without_rows_too() {
        let mut columns = Columns::new(["case", "median>", "change"]);
        assert_eq!(columns.text(), "case  median  change\n");
        columns.row(["a µ\n", "12 µs", ""]);
        assert_eq!(columns.text(), "case   median  change\na µ\\n   12 µs\n");
    }

    #[test]
    fn a_text_that_is_cut_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("SORT-1/len=1000", 15), "SORT-1/len=1000");
        assert_eq!(shortened("SORT-1/len=1000", 9), "SORT…1000");
        assert_eq!(shortened("SORT-1/len=1000", 0), "…");
    }
}
