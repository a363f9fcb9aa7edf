//! Rows of cells in aligned columns that fit a width: the one way in which the table of a run is set.

use std::fmt::Write;

use crate::bencher::visible_in_line;

/// A table that is being filled.
#[derive(Debug, Default)]
pub(super) struct Columns {
    heads: &'static [&'static str],
    /// Columns of figures, which stand to the right; words stand to the left.
    figures: &'static [usize],
    /// Columns that are left out where the table is too wide, the first one first.
    spare: &'static [usize],
    lines: Vec<ColumnLine>,
}

#[derive(Debug)]
enum ColumnLine {
    /// Across all columns: cut where it is too long.
    Title {
        text: String,
        plain: String,
    },
    Cells(Vec<String>),
}

/// Names are cut to no less than this before a column is left out.
const NAME: usize = 24;

/// What stands between two columns, and before the first.
const GAP: usize = 2;

const FITS: &str = "a String takes all that is written";

impl Columns {
    /// The first column holds names.
    pub(super) fn new(
        heads: &'static [&'static str],
        figures: &'static [usize],
        spare: &'static [usize],
    ) -> Self {
        Self { heads, figures, spare, lines: Vec::new() }
    }

    /// A line across all columns; `plain` is the same without paint, for where it must be cut.
    pub(super) fn title(&mut self, text: String, plain: String) {
        self.lines.push(ColumnLine::Title { text, plain });
    }

    /// A row with a cell for each column. A cell is one line, whoever named what is in it.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.heads.len());
        self.lines.push(ColumnLine::Cells(cells.iter().map(|cell| visible_in_line(cell)).collect()));
    }

    /// The text, in lines of so many characters at most where there is a limit; nothing of no rows.
    pub(super) fn to_text(&self, width: Option<usize>) -> String {
        if self.rows().next().is_none() {
            return String::new();
        }
        let (shown, widths) = self.fit(width);
        let mut text = String::new();
        if self.heads.iter().any(|head| !head.is_empty()) {
            let heads: Vec<String> = self.heads.iter().map(|head| (*head).to_owned()).collect();
            writeln!(text, "{}", self.set(&heads, &shown, &widths)).expect(FITS);
        }
        for line in &self.lines {
            match line {
                ColumnLine::Cells(cells) => {
                    writeln!(text, "{}", self.set(cells, &shown, &widths)).expect(FITS);
                }
                ColumnLine::Title { text: title, plain } => match width {
                    Some(width) if plain.chars().count() > width => {
                        let cut: String = plain.chars().take(width.saturating_sub(1)).collect();
                        writeln!(text, "{cut}…").expect(FITS);
                    }
                    _ => writeln!(text, "{title}").expect(FITS),
                },
            }
        }
        text
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<String>> {
        self.lines.iter().filter_map(|line| match line {
            ColumnLine::Cells(cells) => Some(cells),
            ColumnLine::Title { .. } => None,
        })
    }

    /// The columns that are shown, and how wide each column is.
    fn fit(&self, width: Option<usize>) -> (Vec<usize>, Vec<usize>) {
        let length = |text: &str| text.chars().count();
        let is_used = |column: usize| column == 0 || self.rows().any(|cells| !cells[column].is_empty());
        let mut shown: Vec<usize> = (0..self.heads.len()).filter(|column| is_used(*column)).collect();
        let widest = |column: usize| {
            let cells = self.rows().map(|cells| length(&cells[column]));
            cells.chain([length(self.heads[column])]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.heads.len()).map(widest).collect();
        let mut spare = self.spare.iter();
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
        (shown, widths)
    }

    /// One line of cells.
    fn set(&self, cells: &[String], shown: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for column in shown {
            let (cell, width) = (shortened(&cells[*column], widths[*column]), widths[*column]);
            if self.figures.contains(column) {
                write!(line, "  {cell:>width$}").expect(FITS);
            } else {
                write!(line, "  {cell:width$}").expect(FITS);
            }
        }
        line.trim_end().to_owned()
    }
}

/// The text, or its beginning and its end where it is too long.
pub(super) fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(1);
    let end = keep / 2;
    let start: String = text.chars().take(keep - end).collect();
    let rest: String = text.chars().skip(length - end).collect();
    format!("{start}…{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(cells: [&str; 3]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn names_stand_to_the_left_and_figures_to_the_right_below_their_heads() {
        let mut columns = Columns::new(&["case", "median", "change"], &[1], &[]);
        columns.title("a title".to_owned(), "a title".to_owned());
        columns.row(cells(["short", "1 s", ""]));
        columns.row(cells(["much longer", "100 ms", ""]));
        let expected = "  case         median\na title\n  short           1 s\n  much longer  100 ms\n";
        assert_eq!(columns.to_text(None), expected, "an empty column is none");
        assert_eq!(Columns::new(&["case"], &[], &[]).to_text(None), "", "nothing of no rows");
    }

    #[test]
    fn no_line_is_longer_than_its_width_first_the_name_is_cut_then_columns_are_left_out() {
        let mut columns = Columns::new(&["case", "median", "change"], &[1], &[1]);
        columns.title("t".repeat(50), "t".repeat(50));
        columns.row(cells([&"n".repeat(40), "123 ms", "+4 %"]));
        let lines = |width| -> Vec<String> {
            let text = columns.to_text(Some(width));
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
    fn a_text_that_is_cut_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("SORT-1/len=1000", 15), "SORT-1/len=1000");
        assert_eq!(shortened("SORT-1/len=1000", 9), "SORT…1000");
        assert_eq!(shortened("SORT-1/len=1000", 0), "…");
    }
}
