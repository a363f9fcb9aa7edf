//! Plain aligned text, and the medians in it.

/// The median; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Nanoseconds as people read them.
pub fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        below if below < 1e3 => format!("{below:.2} ns"),
        below if below < 1e6 => format!("{:.2} us", below / 1e3),
        below if below < 1e9 => format!("{:.2} ms", below / 1e6),
        rest => format!("{:.2} s", rest / 1e9),
    }
}

/// Prints rows under a header: the first column to the left, figures to the right, a blank line after.
pub fn print(header: &[&str], rows: &[Vec<String>]) {
    let header: Vec<String> = header.iter().copied().map(str::to_owned).collect();
    let all = || std::iter::once(&header).chain(rows);
    let width = |column: usize| all().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    for row in all() {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        println!("{}", cells.collect::<Vec<_>>().join("   ").trim_end());
    }
    println!();
}
