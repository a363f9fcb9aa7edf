//! The parts of the page that stand beside the classes: who took part, how each did it, what it cost, what is
//! missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use weighbridge::Delivery;
use weighbridge::data::names;
use weighbridge::data::{
    Agreement, CaseRecord, CaseStatus, MetricRecord, Ratio, Unit, machine, median, quantity, rank, traces,
};
use weighbridge_python::{PEERS, Peer};

use super::batch_spending::{self, SpentFit, seconds};
use super::field::{ComparedField, FieldGroup, name};
use super::operators;
use weighbridge_xtask::show;
use weighbridge_xtask::table::Table;

const FITS: &str = "a String takes all that is written";

/// Metrics of what lies outside the steady state, in the order in which it comes.
const COSTS: [&str; 7] =
    ["import", "convert", "set_up", "compile", names::FIRST_ITEM, "restart", "tear_down"];

/// Metrics that cases of one scenario are ranked by, in this order, where they have them, and their titles.
const RANKED: [(&str, &str); 7] = [
    (names::THROUGHPUT, names::THROUGHPUT),
    (names::THROUGHPUT_CPU, "per CPU second"),
    (names::WALL_TIME, "batch"),
    (names::LATENCY_P50, "p50"),
    (names::LATENCY_P99, "p99"),
    (names::FIRST_ITEM, "first batch"),
    (names::PEAK_MEMORY, "peak memory"),
];

/// Those of them that the wall clock tells: shown, but no rank, where a scenario is compared by processor
/// time.
const ON_THE_WALL: [&str; 5] =
    [names::THROUGHPUT, names::WALL_TIME, names::LATENCY_P50, names::LATENCY_P99, names::FIRST_ITEM];

/// Returns the section of the traces that were asked for; nothing where none was.
pub(super) fn traced(field: &ComparedField<'_>) -> String {
    let told = traces(field.run, Path::new(""), false);
    if told.is_empty() {
        return String::new();
    }
    // A list, and no block of code: what is special to Markdown is written in a way that a block would show
    // as it is.
    let item = |line: &str| {
        let text = line.trim_start();
        format!("{}- {text}\n", &line[..line.len() - text.len()])
    };
    format!(
        "\n## Traces\n\nEach was made in a repeat of its own, which counts nowhere. \
         Paths are below the folder of the run.\n\n{}",
        told.lines().map(item).collect::<String>()
    )
}

/// Who, against whom, and under which conditions.
pub(super) fn head(field: &ComparedField<'_>) -> String {
    let manifest = &field.run.manifest;
    let planned = &manifest.planned;
    let budget = planned.budget;
    let commit = manifest.environment.software.get("commit").map_or("not known", String::as_str);
    format!(
        "# Comparison of {}: where {} leads and where not\n\n\
         Made by `cargo catalogue report comparison` from run {} of {} and nothing else.\n\n\
         - Adapters: {}; variants: {}; platform: {} (asked for: {}); commit: {commit}\n\
         - All had the same: profile `{}`, {} batches left out and at least {} measured for at least {}, \
         repeats: {}, isolation `{}`, order {}, seed {}\n\
         - A ratio says by what factor {} leads: above 1 it is better. It is the median over all pairs of \
         repeats (Hodges and Lehmann), its interval holds at 95 %, and the best of several rivals is a \
         little lucky. Only work that was verified to be equal is compared.\n{}",
        match field.adapters().len() {
            1 => "one system".to_owned(),
            several => format!("{several} systems"),
        },
        field.subject,
        manifest.id,
        manifest.suite,
        field.adapters().len(),
        field.groups.len(),
        manifest.active_backend,
        manifest.requested_platform,
        manifest.profile,
        budget.warmup,
        budget.batches,
        quantity::show(budget.min_time.as_secs_f64(), &Unit::SECONDS),
        planned.repeats,
        planned.isolation,
        planned.order,
        manifest.seed,
        field.subject,
        clocks(field),
    )
}

/// Lists the scenarios that are compared by another clock than the one on the wall.
fn clocks(field: &ComparedField<'_>) -> String {
    let of = |by_cpu: bool| {
        let groups = field.groups.iter().filter(|group| group.by_cpu() == by_cpu);
        groups.map(FieldGroup::scenario).collect::<BTreeSet<_>>()
    };
    let by_cpu: Vec<&str> = of(true).into_iter().collect();
    if by_cpu.is_empty() {
        return String::new();
    }
    let rest = if of(false).is_empty() { "" } else { "; all others by the wall clock" };
    format!(
        "- Compared by processor time, every system and variant alike, since one of them waited so long for \
         a processor that wall times say more of the machine: {}{rest}\n",
        by_cpu.join(", ")
    )
}

/// Variants that no rival did: a floor, and no rank.
pub(super) fn alone(field: &ComparedField<'_>) -> String {
    let mut text = String::new();
    for group in &field.groups {
        let Some(ours) = field.ours(group).filter(|_| field.duel(group).is_none()) else { continue };
        let why = if field.rivals.is_empty() {
            "there is no rival in the run"
        } else {
            "no rival was verified on it"
        };
        let shown = show::median(ours.metric(group.metric));
        writeln!(text, "- {}: **no-peer**: {shown}; {why}.", group.title).expect(FITS);
    }
    if text.is_empty() {
        return text;
    }
    format!("\n## Without a peer\n\nFloors to build on, and no ranks.\n\n{text}")
}

/// Returns the section of what is asymmetric, and what the figures are held against.
pub(super) fn notes(field: &ComparedField<'_>) -> String {
    let mut text = "\n## Interpretation\n\n".to_owned();
    let us = &field.subject;
    let clock = field.any_by_cpu();
    match SpentFit::of(field, us, clock) {
        Some(SpentFit { line, beside }) => writeln!(
            text,
            "- Over {} variants a batch of {us} costs {} of {} whatever is in it, and {:.1} times what \
             {beside} needs. The first part is what small batches show.",
            line.points,
            quantity::show(line.fixed, &Unit::SECONDS),
            batch_spending::clock(clock),
            line.factor,
        ),
        None => writeln!(
            text,
            "- Too few variants of different weight were measured to tell the fixed cost of a batch of {us} \
             from the rest."
        ),
    }
    .expect(FITS);
    let mut beside = Vec::new();
    for other in field.adapters() {
        if other == us || field.rivals.iter().any(|rival| rival == other) {
            continue;
        }
        let ratios: Vec<f64> = field.groups.iter().filter_map(|group| versus(field, group, other)).collect();
        if !ratios.is_empty() {
            let lead = 1.0 / median(&ratios);
            beside.push(format!("{other} {lead:.2}x (median of {})", ratios.len()));
        }
    }
    if !beside.is_empty() {
        writeln!(text, "- Beside rivals, {us} is led by what is no rival: {}.", beside.join(", "))
            .expect(FITS);
    }
    let deliveries = |wanted| {
        let is = |adapter: &&str| {
            of_adapter(field, adapter)
                .any(|case| case.work.as_ref().is_some_and(|w| w.report.delivery == wanted))
        };
        field.adapters().into_iter().filter(is).collect::<Vec<_>>()
    };
    let views = deliveries(Delivery::View);
    if !views.is_empty() && !deliveries(Delivery::Owned).is_empty() {
        writeln!(
            text,
            "- Views of memory that the loader keeps, where others hand over buffers: {}. A view costs less \
             where there is nothing to compute.",
            views.join(", ")
        )
        .expect(FITS);
    }
    text
}

fn versus(field: &ComparedField<'_>, group: &FieldGroup<'_>, other: &str) -> Option<f64> {
    let ours = field.ours(group)?.metric(group.metric)?;
    Some(Ratio::between(ours, group.ranked(other)?.metric(group.metric)?)?.estimate)
}

/// Iterator mode beside whole epochs in one compiled call, where an adapter has both.
pub(super) fn scan(field: &ComparedField<'_>) -> String {
    let mut table =
        Table::new(["variant", "iterator>", "scan>", "speed-up>", "interval", "compile>", "worth it after>"]);
    for base in field.adapters() {
        let scan = format!("{base}-scan");
        for group in &field.groups {
            let Some((one, other)) = group.ranked(base).zip(group.ranked(&scan)) else { continue };
            let Some((slow, fast)) = one.metric(group.metric).zip(other.metric(group.metric)) else {
                continue;
            };
            let Some(ratio) = Ratio::between(fast, slow) else { continue };
            let compile = batch_spending::median(other, "compile");
            let tie = if ratio.is_tie() { ", a tie" } else { "" };
            table.row([
                format!("{} ({base})", group.title),
                show::median(Some(slow)),
                show::median(Some(fast)),
                format!("{:.2}x", ratio.estimate),
                ratio.interval.map_or_else(
                    || "too few repeats".to_owned(),
                    |(low, high)| format!("{low:.2} .. {high:.2}{tie}"),
                ),
                compile.map_or_else(String::new, seconds),
                compile.and_then(|compile| worth(compile, slow, fast)).unwrap_or_default(),
            ]);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "\n## Iterator against scan\n\nThe same loader batch by batch, and a whole epoch in one compiled \
         call. Compiling is never inside the timed region; the last column says how many elements pay for \
         it.\n\n{}",
        table.markdown()
    )
}

/// After how many elements the faster mode has earned what compiling it took.
fn worth(compile: f64, slow: &MetricRecord, fast: &MetricRecord) -> Option<String> {
    let rate = |metric: &MetricRecord| metric.estimate.map(|estimate| estimate.median);
    let (slow, fast) = (rate(slow)?, rate(fast)?);
    let saved = 1.0 / slow - 1.0 / fast;
    Some(if saved > 0.0 { quantity::show(compile / saved, &Unit::other("elem")) } else { "never".to_owned() })
}

/// The default setting of workers beside the best one.
pub(super) fn workers(field: &ComparedField<'_>) -> String {
    let mut settings: BTreeMap<(String, &str), Vec<(&str, &CaseRecord)>> = BTreeMap::new();
    for group in &field.groups {
        for case in group.cases.iter().filter(|case| case.ranked()) {
            let Some(workers) = case.id.point.iter().find(|value| value.axis == "workers") else { continue };
            let rest = case.id.point.iter().filter(|value| value.axis != "workers");
            let rest = rest.map(|value| {
                if value.labelled { value.text.clone() } else { format!("{}={}", value.axis, value.text) }
            });
            let title = std::iter::once(case.id.scenario.clone()).chain(rest).collect::<Vec<_>>().join("/");
            settings.entry((title, name(case))).or_default().push((&workers.text, case));
        }
    }
    let mut table =
        Table::new(["variant", "adapter", "default", "throughput>", "best", "throughput>", "best leads by>"]);
    for ((title, adapter), settings) in settings.iter().filter(|(_, settings)| settings.len() > 1) {
        let (default, first) = settings[0];
        let metric = field.metric(&first.id.scenario);
        let cases: Vec<&CaseRecord> = settings.iter().map(|(_, case)| *case).collect();
        let places = rank(&cases, metric);
        let Some((place, slow)) = places.first().zip(first.metric(metric)) else { continue };
        let best = settings.iter().find(|(_, case)| case.id == place.case.id).map_or("", |(text, _)| text);
        let lead = match Ratio::between(place.metric, slow) {
            _ if best == default => "the default is best".to_owned(),
            Some(ratio) if ratio.is_tie() => "a tie".to_owned(),
            Some(ratio) => format!("{:.2}x", ratio.estimate),
            None => String::new(),
        };
        let (slow, fast) = (show::median(Some(slow)), show::median(Some(place.metric)));
        table.row([title.as_str(), *adapter, default, &slow, best, &fast, &lead]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "\n## Workers\n\nThe setting that a plain run takes, and the best of those that were measured.\n\n{}",
        table.markdown()
    )
}

/// Returns the section of what lies outside the steady state: medians over the cases of each adapter.
pub(super) fn costs(field: &ComparedField<'_>) -> String {
    let titles = COSTS.map(|metric| format!("{metric}>"));
    let mut table = Table::new(
        ["adapter"].into_iter().chain(titles.iter().map(String::as_str)).chain(["peak memory>", "waited>"]),
    );
    for adapter in field.adapters() {
        let over = |metric: &str| {
            let values: Vec<f64> =
                of_adapter(field, adapter).filter_map(|case| batch_spending::median(case, metric)).collect();
            (!values.is_empty()).then(|| median(&values))
        };
        let costs = COSTS.iter().map(|metric| over(metric).map_or_else(String::new, seconds));
        let memory =
            of_adapter(field, adapter).filter_map(|case| batch_spending::median(case, names::PEAK_MEMORY));
        let memory = memory.reduce(f64::max).map(|bytes| quantity::show(bytes, &Unit::BYTES));
        let waited = over(names::RUN_QUEUE_SHARE).map(|share| format!("{:.0} %", 100.0 * share));
        let last = [memory.unwrap_or_default(), waited.unwrap_or_default()];
        table.row(std::iter::once(adapter.to_owned()).chain(costs).chain(last));
    }
    format!(
        "\n## What else it costs\n\nMedians over the variants of each adapter; of memory the most, over all \
         its processes. None of it is in a rate.\n\n{}",
        table.markdown()
    )
}

/// Returns the section of where and how each did its work, by its work reports.
pub(super) fn work(field: &ComparedField<'_>) -> String {
    let mut table =
        Table::new(["adapter", "tier>", "version", "ran on", "waited for a batch", "hands over", "workers"]);
    for adapter in field.adapters() {
        let cases: Vec<&CaseRecord> = of_adapter(field, adapter).collect();
        let said = |word: fn(&weighbridge::data::WorkReport) -> String| {
            let mut words: Vec<String> =
                cases.iter().filter_map(|case| Some(word(&case.work.as_ref()?.report))).collect();
            words.sort();
            words.dedup();
            words.join(", ")
        };
        let first = cases.first();
        table.row([
            adapter.to_owned(),
            first.and_then(|case| case.tier).map_or_else(String::new, |tier| tier.to_string()),
            first.and_then(|case| case.version.clone()).unwrap_or_default(),
            said(|report| report.ran_on.clone()),
            said(|report| report.synchronised.clone()),
            said(|report| match report.delivery {
                Delivery::Owned => "buffers".to_owned(),
                Delivery::View => "views".to_owned(),
                Delivery::Device => "buffers on the device".to_owned(),
            }),
            said(|report| report.workers.to_string()),
        ]);
    }
    format!("\n## How each did it\n\n{}", table.markdown())
}

/// Returns the section of what was measured and did other work: never ranked.
pub(super) fn unequal(field: &ComparedField<'_>) -> String {
    let mut text = String::new();
    for case in &field.run.cases {
        let why = match (&case.status, &case.agreement) {
            (CaseStatus::Measured, Agreement::Differs(what)) => what.join("; "),
            (CaseStatus::Measured, Agreement::Declared(why)) => format!("as it says itself: {why}"),
            (CaseStatus::Measured, Agreement::Unverified(why)) => format!("not verified: {why}"),
            _ => continue,
        };
        writeln!(text, "- {}: {}", case.id, one_line(&why)).expect(FITS);
    }
    if text.is_empty() {
        return text;
    }
    format!("\n## Other work\n\nMeasured, and never ranked: what it did is not what was asked.\n\n{text}")
}

/// Every scenario with all its systems, by each metric.
pub(super) fn rankings(field: &ComparedField<'_>) -> String {
    let mut text =
        "\n## Rankings\n\nPlace, value, and how far behind the best. Whoever cannot be told from the best is \
         first as well: its interval has 1 in it, or, with fewer than four repeats, neither leads by much.\n"
            .to_owned();
    for group in &field.groups {
        let ranked: Vec<_> = RANKED
            .iter()
            .filter(|(metric, _)| *metric != names::LATENCY_P50 || !is_told_by_batch(&group.cases))
            .map(|(metric, title)| (*title, rank(&group.cases, metric), ON_THE_WALL.contains(metric)))
            .filter(|(_, places, _)| !places.is_empty())
            .collect();
        let mut order: Vec<&str> =
            rank(&group.cases, group.metric).iter().map(|place| name(place.case)).collect();
        for case in group.cases.iter().filter(|case| case.ranked()) {
            if !order.contains(&name(case)) {
                order.push(name(case));
            }
        }
        if order.is_empty() {
            continue;
        }
        let titles: Vec<String> = ranked.iter().map(|(title, ..)| format!("{title}>")).collect();
        let by = |adapter: &str| {
            group.cases.iter().find(|case| name(case) == adapter).map(|case| operators::word(case))
        };
        let told = order.iter().any(|adapter| by(adapter).is_some_and(|word| !word.is_empty()));
        let head = ["adapter"].into_iter().chain(told.then_some("operators"));
        let mut table = Table::new(head.chain(titles.iter().map(String::as_str)));
        for adapter in order {
            let cells = ranked.iter().map(|(_, places, on_the_wall)| {
                let place = places.iter().find(|place| name(place.case) == adapter);
                place.map_or_else(String::new, |place| {
                    let shown = show::median(Some(place.metric));
                    if *on_the_wall && group.by_cpu() {
                        return shown;
                    }
                    let behind = 100.0 * (1.0 / place.ratio.estimate - 1.0);
                    match (place.rank, behind) {
                        (1, behind) if behind.abs() < 0.5 => format!("{shown} (1)"),
                        (rank, behind) => format!("{shown} ({rank}, {behind:+.0} %)"),
                    }
                })
            });
            let operators = told.then(|| by(adapter).unwrap_or_default());
            table.row(std::iter::once(adapter.to_owned()).chain(operators).chain(cells));
        }
        let by = if group.metric == names::THROUGHPUT {
            String::new()
        } else {
            format!(" (ordered by `{}`)", group.metric)
        };
        writeln!(text, "\n### {}{by}\n\n{}", group.title, table.markdown().trim_end()).expect(FITS);
    }
    text
}

/// Returns whether the column `batch` has all that `p50` would tell: the time of a stream's item is the
/// median of its latencies.
fn is_told_by_batch(cases: &[&CaseRecord]) -> bool {
    let values = |case: &CaseRecord, name| case.metric(name).map(|metric| metric.values.clone());
    cases.iter().all(|case| {
        values(case, names::LATENCY_P50)
            .is_none_or(|p50| values(case, names::WALL_TIME).is_some_and(|batch| batch == p50))
    })
}

/// Returns the section of what has no figure, and why.
pub(super) fn not_measured(field: &ComparedField<'_>) -> String {
    let mut reasons: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for case in &field.run.cases {
        let why = match &case.status {
            CaseStatus::Measured => continue,
            CaseStatus::Failed(why) => format!("failed: {}", one_line(&why.to_string())),
            CaseStatus::Skipped(why) => one_line(&why.to_string()),
            CaseStatus::Incomplete => case.unfinished().unwrap_or_default().to_string(),
        };
        let title = weighbridge::data::CaseId { adapter: None, ..case.id.clone() }.to_string();
        reasons.entry((name(case), why)).or_default().push(title);
    }
    let mut text = "\n## Not measured\n\n".to_owned();
    if reasons.is_empty() {
        text.push_str("- All that was planned was measured.\n");
    }
    let took_part = |peer: &&Peer| field.run.cases.iter().any(|case| name(case) == peer.name);
    // A run of checkpointers has none of those that feed batches, and nobody misses them.
    let contracts: BTreeSet<&str> = PEERS.iter().filter(took_part).map(|peer| peer.contract).collect();
    let is_missed =
        |peer: &&Peer| !took_part(peer) && (contracts.is_empty() || contracts.contains(peer.contract));
    let away: Vec<&str> = PEERS.iter().filter(is_missed).map(|peer| peer.name).collect();
    if !away.is_empty() {
        writeln!(text, "- Not in this run, installed or not: {}.", away.join(", ")).expect(FITS);
    }
    for ((adapter, why), titles) in reasons {
        let adapter = if adapter.is_empty() { "all" } else { adapter };
        let shown = titles.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
        let more = titles.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        writeln!(text, "- {adapter}: {} ({shown}{more})", why.replace('<', "&lt;")).expect(FITS);
    }
    text
}

/// Variants that are named for one reason.
const MOST: usize = 8;

/// Returns the section of the machine that it was measured on.
pub(super) fn place(field: &ComparedField<'_>) -> String {
    let manifest = &field.run.manifest;
    let mut text = format!("\n## The machine\n\n- {}\n", machine(&manifest.environment));
    for (what, facts) in
        [("software", &manifest.environment.software), ("variables", &manifest.environment.variables)]
    {
        let facts: Vec<String> =
            facts.iter().map(|(name, value)| format!("{name} {}", one_line(value))).collect();
        if !facts.is_empty() {
            writeln!(text, "- {what}: {}", facts.join(", ")).expect(FITS);
        }
    }
    if let Some(load) = manifest.load_at_end {
        writeln!(text, "- load average at the end: {load:.2}").expect(FITS);
    }
    text
}

/// The measured cases of an adapter.
pub(super) fn of_adapter<'b>(
    field: &'b ComparedField<'_>,
    adapter: &'b str,
) -> impl Iterator<Item = &'b CaseRecord> {
    field.run.cases.iter().filter(move |case| case.status == CaseStatus::Measured && name(case) == adapter)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
