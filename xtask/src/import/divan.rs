//! divan's table, as it prints it: of each benchmark the fastest, the slowest, the median and the mean of its samples.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use weighbridge::data::{Direction, ImportedProcess, Unit};

use super::{Benchmark, FileContent, Import, case, text};

/// The columns, in their order, with the figures' names.
const COLUMNS: [&str; 6] = ["fastest", "slowest", "median", "mean", "samples", "iters"];

/// The letters that a level of the tree takes.
const LEVEL: usize = 3;

/// A place in the tree, from its root to the row that was read last.
struct Branch {
    name: String,
    /// Whether a brother is still to come.
    open: bool,
}

/// A table that is being read.
struct DivanTable {
    program: String,
    /// The letter at which the first figure begins.
    figures: usize,
    places: Vec<Branch>,
    /// Whether the last row was of a group, whose benchmarks are still to come.
    empty: bool,
}

pub(super) fn read(file: &Path, _: &Import) -> Result<FileContent> {
    let text = text(file)?;
    let mut found = FileContent::default();
    let mut table: Option<DivanTable> = None;
    for (number, line) in text.lines().enumerate() {
        let at = || format!("line {}", number + 1);
        if let Some(next) = DivanTable::at(line) {
            if let Some(before) = table.replace(next) {
                before.end().with_context(at)?;
            }
        } else if let Some(reading) = &mut table {
            if line.trim().is_empty() {
                reading.end().with_context(at)?;
                table = None;
            } else {
                reading.row(line, &mut found).with_context(at)?;
            }
        }
    }
    if let Some(table) = table {
        table.end().context("the last line")?;
    }
    Ok(found)
}

impl DivanTable {
    /// The table that this line is the head of.
    fn at(line: &str) -> Option<Self> {
        if !COLUMNS.iter().all(|column| line.contains(column)) || line.starts_with(['├', '╰', '│']) {
            return None;
        }
        let (program, _) = line.split_once(COLUMNS[0])?;
        let figures = program.chars().count();
        Some(Self { program: program.trim().to_owned(), figures, places: Vec::new(), empty: true })
    }

    fn row(&mut self, line: &str, found: &mut FileContent) -> Result<()> {
        let letters: Vec<char> = line.chars().collect();
        let (tree, figures) = letters.split_at(letters.len().min(self.figures));
        let (tree, figures): (String, String) = (tree.iter().collect(), figures.iter().collect());
        let name = tree.trim_start_matches(['│', '├', '╰', '─', ' ']);
        let depth = (tree.chars().count() - name.chars().count()) / LEVEL;
        if name.trim().is_empty() {
            return Ok(()); // what the row above counts besides its time
        }
        let branch = depth.checked_sub(1).and_then(|above| tree.chars().nth(above * LEVEL));
        let open = match branch {
            Some('├') => true,
            Some('╰') => false,
            _ => bail!("`{}` is no row of divan's tree", line.trim()),
        };
        ensure!(depth <= self.places.len() + 1, "a row of the tree is missing above it");
        ensure!(
            self.places.iter().skip(depth).all(|place| !place.open),
            "rows of the tree are missing above it"
        );
        self.places.truncate(depth - 1);
        self.places.push(Branch { name: name.trim().to_owned(), open });

        let path = self.places.iter().map(|place| place.name.as_str());
        let path: Vec<&str> = [self.program.as_str()].into_iter().chain(path).collect();
        let path = path.join("/");
        let cells: Vec<&str> = figures.split('│').map(str::trim).collect();
        self.empty = cells.iter().all(|cell| cell.is_empty());
        if cells[0] == "(ignored)" {
            found.remarks.push(format!("note: divan left out `{path}`"));
        } else if !self.empty {
            ensure!(
                cells.len() == COLUMNS.len(),
                "`{path}` has {} of {} columns",
                cells.len(),
                COLUMNS.len()
            );
            let mut process = ImportedProcess::default();
            for (column, cell) in COLUMNS.into_iter().zip(cells) {
                process.figures.push(figure(column, cell).with_context(|| format!("{column} of `{path}`"))?);
            }
            let id = case(&path, &[], None)?;
            found.benchmarks.push(Benchmark { id, primary_metric: Some("median"), processes: vec![process] });
        }
        Ok(())
    }

    /// # Errors
    /// When the table was cut.
    fn end(&self) -> Result<()> {
        let whole = !self.empty && self.places.iter().all(|place| !place.open);
        ensure!(whole, "the table of `{}` breaks off above it", self.program);
        Ok(())
    }
}

fn figure(column: &str, cell: &str) -> Result<(String, f64, Unit, Direction)> {
    let (value, unit, direction) = match column {
        "samples" | "iters" => (cell.parse().ok(), Unit::COUNT, Direction::Information),
        _ => (seconds(cell), Unit::SECONDS, Direction::Lower),
    };
    let value = value.with_context(|| format!("`{cell}` is no figure of divan's"))?;
    Ok((column.to_owned(), value, unit, direction))
}

/// `45.74 ns` in seconds.
fn seconds(cell: &str) -> Option<f64> {
    let (number, unit) = cell.split_once(' ')?;
    let scale = match unit {
        "ps" => 1e-12,
        "ns" => 1e-9,
        "µs" | "μs" | "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * scale)
}
