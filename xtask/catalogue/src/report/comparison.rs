//! `report comparison`: a framework beside all others, with intervals, and what to do about the gaps.

use std::fmt::Write;

use anyhow::Result;
use weighbridge::data::{Ratio, RatioClass, RunRecord, STRONGER, Unit, WEAKER, quantity};

use super::advice::advice;
use super::field::{ComparedField, ShownDuel, name};
use super::label::label;
use super::{batch_spending, curves, ledger, operators, sections};
use weighbridge_xtask::table::Table;

const FITS: &str = "a String takes all that is written";

/// A rival that leads by so much is a warning.
const WARNING: f64 = 1.5;
/// A rival that leads by so much asks for something to be done.
const ACTION: f64 = 2.0;

/// The page of a run, and a remark on whom it is about where nobody was named.
pub(super) fn page(
    run: &RunRecord,
    subject: Option<&str>,
    rivals: &[String],
) -> Result<(String, Option<String>)> {
    let field = ComparedField::of(run, subject, rivals)?;
    let duels = field.duels();
    let mut page = sections::head(&field);
    let of = |class: RatioClass| {
        let mut found: Vec<&ShownDuel<'_>> =
            duels.iter().filter(|duel| duel.ratio.class() == class).collect();
        // The largest lead first, and among gaps the largest gap.
        found.sort_by(|a, b| {
            let order = b.ratio.estimate.total_cmp(&a.ratio.estimate);
            let order = if class == RatioClass::Gap { order.reverse() } else { order };
            order.then_with(|| a.group.title.cmp(&b.group.title))
        });
        found
    };
    let (strengths, parity, gaps) = (of(RatioClass::Strength), of(RatioClass::Parity), of(RatioClass::Gap));
    let us = &field.subject;
    section(
        &mut page,
        "Strengths",
        &format!("{us} leads the best rival by more than {STRONGER}x."),
        &strengths,
    );
    section(
        &mut page,
        "Comparable performance",
        "Neither leads by much, or nobody can say who leads: a tie is a ratio whose interval has 1 in it.",
        &parity,
    );
    section(&mut page, "Gaps", &format!("{us} has less than {WEAKER}x of what the best rival has."), &gaps);
    page.push_str(&labels(&gaps, &field));
    page.push_str(&backlog(&gaps, &field));
    page.push_str(&sections::alone(&field));
    page.push_str(&sections::notes(&field));
    page.push_str(&positioning(&field, &duels, [strengths.len(), parity.len(), gaps.len()]));
    for part in [
        sections::scan(&field),
        sections::workers(&field),
        curves::section(&field),
        sections::costs(&field),
        ledger::section(&field),
        sections::work(&field),
        operators::section(&field),
        sections::unequal(&field),
        sections::rankings(&field),
        sections::not_measured(&field),
        sections::traced(&field),
        sections::place(&field),
    ] {
        page.push_str(&part);
    }
    Ok((page, field.remark))
}

fn section(page: &mut String, title: &str, what: &str, duels: &[&ShownDuel<'_>]) {
    writeln!(page, "\n## {title}\n\n{what}\n").expect(FITS);
    if duels.is_empty() {
        page.push_str("None.\n");
        return;
    }
    let mut table =
        Table::new(["variant", "ours>", "best rival", "theirs>", "ratio>", "interval", "what it says"]);
    for duel in duels {
        let shown = |case| batch_spending::median(case, duel.group.metric).map(|value| show(value, duel));
        let equals = if duel.equals.is_empty() {
            String::new()
        } else {
            format!(" (a tie with {})", duel.equals.join(", "))
        };
        table.row([
            duel.group.title.clone(),
            shown(duel.ours).unwrap_or_default(),
            format!("{}{equals}", name(duel.rival)),
            shown(duel.rival).unwrap_or_default(),
            factor(duel.ratio.estimate),
            interval(&duel.ratio),
            says(&duel.ratio),
        ]);
    }
    page.push_str(&table.markdown());
}

fn show(value: f64, duel: &ShownDuel<'_>) -> String {
    let unit = duel.ours.metric(duel.group.metric).map_or(Unit::COUNT, |metric| metric.unit.clone());
    quantity::show(value, &unit)
}

fn factor(value: f64) -> String {
    quantity::show(value, &Unit::RATIO)
}

fn interval(ratio: &Ratio) -> String {
    ratio.interval.map_or_else(String::new, |(low, high)| quantity::range(low, high, &Unit::RATIO))
}

fn says(ratio: &Ratio) -> String {
    let bound = if ratio.estimate > 1.0 { STRONGER } else { WEAKER };
    match ratio {
        _ if ratio.is_tie() => "a tie".to_owned(),
        _ if ratio.is_certain() => "certain".to_owned(),
        Ratio { interval: Some(_), .. } => format!("its interval reaches over {bound}x"),
        Ratio { interval: None, .. } => "too few repeats for an interval".to_owned(),
    }
}

/// Lists the kind of each gap, with its evidence.
fn labels(gaps: &[&ShownDuel<'_>], field: &ComparedField<'_>) -> String {
    if gaps.is_empty() {
        return String::new();
    }
    let mut text = "\nWhat each gap is, by what was measured:\n\n".to_owned();
    for duel in gaps {
        let label = label(duel, field);
        writeln!(text, "- {}: **{}**: {}.", duel.group.title, label.kind.name(), label.evidence).expect(FITS);
    }
    text
}

/// Returns the section of what should be done, the largest gap first: the order of `gaps`.
fn backlog(gaps: &[&ShownDuel<'_>], field: &ComparedField<'_>) -> String {
    let mut text = format!(
        "\n## Backlog\n\nGaps in which the best rival leads by {WARNING}x (warning) or {ACTION}x (action), \
         the largest first. The advice is read off the phases and counters of the run.\n\n"
    );
    let mut table = Table::new(["severity", "variant", "gap>", "interval", "rival", "label", "advice"]);
    for duel in gaps {
        let gap = 1.0 / duel.ratio.estimate;
        let severity = match gap {
            ACTION.. => "action",
            WARNING.. => "warning",
            _ => continue,
        };
        let label = label(duel, field);
        let inverse = |(low, high): (f64, f64)| quantity::range(1.0 / high, 1.0 / low, &Unit::RATIO);
        let bounds = duel.ratio.interval.map(inverse);
        table.row([
            severity.to_owned(),
            duel.group.title.clone(),
            factor(gap),
            bounds.unwrap_or_default(),
            name(duel.rival).to_owned(),
            label.kind.name().to_owned(),
            advice(duel, &label, field).join("; "),
        ]);
    }
    text.push_str(&if table.is_empty() { "Nothing.\n".to_owned() } else { table.markdown() });
    text
}

/// Returns the section of the number of variants of each kind.
fn positioning(field: &ComparedField<'_>, duels: &[ShownDuel<'_>], counts: [usize; 3]) -> String {
    let ties = duels.iter().filter(|duel| duel.ratio.is_tie()).count();
    let ours = field.groups.iter().filter(|group| field.ours(group).is_some()).count();
    let alone = ours - duels.len();
    let [strengths, parity, gaps] = counts;
    let mut table = Table::new(["category", "variants>", "share>"]);
    let rows = [
        ("strength", strengths),
        ("parity, ties left out", parity - ties),
        ("tie", ties),
        ("gap", gaps),
        ("without a peer", alone),
    ];
    for (category, count) in rows {
        let share = if ours == 0 { 0.0 } else { 100.0 * count as f64 / ours as f64 };
        table.row([category.to_owned(), count.to_string(), format!("{share:.0} %")]);
    }
    format!("\n## Positioning\n\n{}", table.markdown())
}
