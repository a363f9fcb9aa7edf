//! What tries say of a case.

use weighbridge::data::{Unit, median, quantity};

use weighbridge::data::Columns;

/// Medians that are no further apart are the same figure.
const APART: f64 = 0.05;

/// So many tries of ten at least give the same figure.
const OF_TEN: usize = 9;

/// A body, and what was measured of it, in seconds.
#[derive(Debug)]
pub(super) struct OriginalCase {
    name: String,
    original: Vec<f64>,
    compatible: Vec<f64>,
    /// The compatible median as a multiple of the original's beside it, try by try.
    ratios: Vec<f64>,
    /// The second of two medians of the original as a multiple of the first.
    own: Vec<f64>,
}

impl OriginalCase {
    pub(super) fn new(name: &str) -> Self {
        let none = Vec::new;
        Self { name: name.to_owned(), original: none(), compatible: none(), ratios: none(), own: none() }
    }

    /// Takes in a try: medians of three processes, one after the other. The compatible one, which stands in
    /// the middle, is held against the mean of its neighbours.
    pub(super) fn add(&mut self, before: f64, compatible: f64, after: f64) {
        self.original.extend([before, after]);
        self.compatible.push(compatible);
        self.ratios.push(compatible / f64::midpoint(before, after));
        self.own.push(after / before);
    }

    /// Whether nine of ten tries gave the same figure.
    pub(super) fn holds(&self) -> bool {
        within(&self.ratios) * 10 >= OF_TEN * self.ratios.len()
    }
}

fn within(ratios: &[f64]) -> usize {
    ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= APART).count()
}

/// A table of all cases, and what it says.
pub(super) fn page(cases: &[OriginalCase]) -> String {
    let mut table = Columns::new([
        "case",
        "original>",
        "compatible>",
        "ratio>",
        "lowest>",
        "highest>",
        "within 5 %>",
        "original with itself>",
    ]);
    for case in cases {
        let tries = case.ratios.len();
        let time = |values: &[f64]| quantity::show(median(values), &Unit::SECONDS);
        let ratio = |value: f64| format!("{value:.3}");
        let least = case.ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = case.ratios.iter().copied().fold(0.0, f64::max);
        table.row([
            case.name.clone(),
            time(&case.original),
            time(&case.compatible),
            ratio(median(&case.ratios)),
            ratio(least),
            ratio(most),
            format!("{} of {tries}", within(&case.ratios)),
            format!("{} of {tries}", within(&case.own)),
        ]);
    }
    let holding = cases.iter().filter(|case| case.holds()).count();
    format!(
        "{}\n{holding} of {} cases give the same figure in nine of ten tries: \
         medians of fresh, alternating processes within 5 %\n",
        table.text(),
        cases.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(compatible: &[f64]) -> OriginalCase {
        let mut case = OriginalCase::new("divan/sum");
        for median in compatible {
            case.add(0.9e-6, median * 1e-6, 1.1e-6);
        }
        case
    }

    #[test]
    fn one_try_of_ten_may_be_off_and_two_may_not() {
        let mut medians = [1.0; 10];
        medians[3] = 1.2;
        assert!(case(&medians).holds());
        medians[7] = 0.9;
        assert!(!case(&medians).holds());
    }

    #[test]
    fn the_table_tells_the_ratio_and_how_far_the_original_is_from_itself() {
        let page = page(&[case(&[1.0, 1.04, 1.2])]);
        let row = page.lines().nth(1).unwrap();
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let expected = ["divan/sum", "1.00 µs", "1.04 µs", "1.040", "1.000", "1.200", "2 of 3", "0 of 3"];
        assert_eq!(cells, expected, "{page}");
        assert!(page.contains("0 of 1 cases give the same figure"), "{page}");
    }
}
