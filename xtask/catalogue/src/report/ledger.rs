//! Where the time of a repeat goes, adapter by adapter.

use weighbridge::data::{CaseRecord, Ledger, median};

use super::field::ComparedField;
use super::{batch_spending, sections};
use weighbridge_xtask::table::Table;

/// The shares of a repeat's life, each the median over the variants of an adapter; nothing where no case has
/// them.
pub(super) fn section(field: &ComparedField<'_>) -> String {
    let names = Ledger::ENTRIES.iter().map(|(_, name)| *name).chain(["unexplained"]);
    let share = |case: &CaseRecord, name: &str| {
        let of = |name: &str| batch_spending::median(case, &format!("time/{name}")).unwrap_or(0.0);
        let whole: f64 = Ledger::ENTRIES.iter().map(|(_, name)| of(name)).sum::<f64>() + of("unexplained");
        (whole > 0.0).then(|| of(name) / whole)
    };
    let shares = |adapter: &str, name: &str| -> Option<f64> {
        let cases = sections::of_adapter(field, adapter);
        let values: Vec<f64> = cases.filter_map(|case| share(case, name)).collect();
        (!values.is_empty()).then(|| median(&values))
    };
    let adapters = field.adapters();
    let used: Vec<&str> = names
        .filter(|name| adapters.iter().any(|adapter| shares(adapter, name).is_some_and(|share| share > 0.0)))
        .collect();
    if used.is_empty() {
        return String::new();
    }
    let titles: Vec<String> = used.iter().map(|name| format!("{}>", name.replace('_', " "))).collect();
    let mut table = Table::new(std::iter::once("adapter").chain(titles.iter().map(String::as_str)));
    for adapter in adapters {
        let cells = used.iter().map(|name| {
            shares(adapter, name).map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share))
        });
        table.row(std::iter::once(adapter.to_owned()).chain(cells));
    }
    format!(
        "\n## Where the time of a repeat went\n\n\
         Shares of its life, medians over the variants of each adapter, by the harness's clock. Rates are of \
         `measured` alone. What nothing explains, or is done outside the window beyond the bounds of the \
         rule `outside`, is a finding.\n\n{}",
        table.markdown()
    )
}
