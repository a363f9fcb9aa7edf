//! Where the life of each repeat went.

use weighbridge::data::{CaseRecord, Ledger, Outcome, Purpose, Unit, quantity};

use crate::table::Table;

/// The ledger of every measured repeat, side by side; nothing where no repeat has one.
pub(super) fn story(case: &CaseRecord) -> String {
    let repeats: Vec<(u32, u64, Ledger)> = case
        .repeats
        .iter()
        .filter(|repeat| repeat.purpose == Purpose::Measure)
        .filter_map(|repeat| match &repeat.outcome {
            Outcome::Measured { seen, .. } if seen.ledger != Ledger::default() => {
                Some((repeat.number, repeat.slot, seen.ledger))
            }
            _ => None,
        })
        .collect();
    if repeats.is_empty() {
        return String::new();
    }
    let used = Ledger::ENTRIES
        .into_iter()
        .filter(|(entry, _)| repeats.iter().any(|(_, _, ledger)| ledger.get(*entry) > 0));
    let used: Vec<_> = used.collect();
    let names = used.iter().map(|(_, name)| *name);
    let titles: Vec<String> = ["repeat"]
        .into_iter()
        .chain(names)
        .chain(["unexplained", "all"])
        .map(|name| format!("{}>", name.replace('_', " ")))
        .collect();
    let mut table = Table::new(titles.iter().map(String::as_str));
    let time = |nanoseconds: u64| quantity::show(nanoseconds as f64 * 1e-9, &Unit::SECONDS);
    for (number, slot, ledger) in &repeats {
        let entries = used.iter().map(|(entry, _)| time(ledger.get(*entry)));
        let rest = [slot.saturating_sub(ledger.sum()), (*slot).max(ledger.sum())].map(time);
        table.row(std::iter::once(number.to_string()).chain(entries).chain(rest));
    }
    format!(
        "where the time of each repeat went; the clock of the samples ran in `measured` alone\n{}{}\n",
        table.text(),
        unstopped(case)
    )
}

/// The epoch without a stop that each repeat begins with; nothing where there is none.
fn unstopped(case: &CaseRecord) -> String {
    let epochs = case.repeats.iter().filter_map(|repeat| match &repeat.outcome {
        Outcome::Measured { evidence, .. } => evidence.unstopped,
        _ => None,
    });
    let time = |nanoseconds: u64| quantity::show(nanoseconds as f64 * 1e-9, &Unit::SECONDS);
    let said: Vec<String> = epochs
        .map(|epoch| {
            let (wall, copied) = (time(epoch.wall), time(epoch.copied));
            format!("{wall} for {} elements, {copied} of it for copies", epoch.elements)
        })
        .collect();
    if said.is_empty() { String::new() } else { format!("epochs without a stop: {}\n", said.join("; ")) }
}
