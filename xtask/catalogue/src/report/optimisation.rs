//! The part of `report training` that shows what optimisation brings: a model as it was published, and with
//! every component in the way that a system has for speed; and each component alone.

use weighbridge::data::{CaseRecord, CaseStatus, Ratio, Unit, names, quantity};
use weighbridge_training::training::{COMPILATION, PEAK};

use super::configuration::{STATE, WAYS, axis, value, ways};
use super::field::name;
use weighbridge_xtask::table::Table;

/// Both states, as the axis has them and as the page does.
const STATES: [(&str, &str); 2] = [("original", "before"), ("optimised", "after")];

/// Returns the sections of a variant; nothing where its cases have no states.
pub(super) fn section(variant: &str, cases: &[&CaseRecord]) -> String {
    let cases: Vec<&CaseRecord> =
        cases.iter().copied().filter(|case| axis(case, STATE).is_some() && case.tier != Some(0)).collect();
    [before_and_after(variant, &cases), components(variant, &cases)].concat()
}

/// The same system in the same mode, as it is in another state and with nothing asked for.
fn alone<'a>(cases: &[&'a CaseRecord], like: &CaseRecord, state: &str) -> Option<&'a CaseRecord> {
    cases.iter().copied().find(|case| {
        case.id.adapter == like.id.adapter
            && axis(case, "mode") == axis(like, "mode")
            && axis(case, STATE) == Some(state)
            && ways(case).is_empty()
    })
}

/// By what factor a case is faster than another, with its interval where there is one.
fn faster(case: &CaseRecord, than: &CaseRecord) -> String {
    let [ours, theirs] = [case, than].map(|one| value(one, names::THROUGHPUT).filter(|_| one.ranked()));
    let Some((ours, theirs)) = ours.zip(theirs) else { return String::new() };
    let ratio = || Ratio::between(case.metric(names::THROUGHPUT)?, than.metric(names::THROUGHPUT)?);
    match ratio().and_then(|ratio| ratio.interval) {
        Some((low, high)) => format!("{:.2}x ({low:.2}x to {high:.2}x)", ours / theirs),
        None => format!("{:.2}x", ours / theirs),
    }
}

/// The time of a step, samples a second and MFU; that it crashed, or was not verified.
fn figures(case: &CaseRecord) -> Option<[String; 3]> {
    let shown = |metric, unit: &Unit| {
        value(case, metric).map_or_else(String::new, |value| quantity::show(value, unit))
    };
    match &case.status {
        CaseStatus::Measured if case.ranked() => {
            let share = value(case, names::THROUGHPUT_FLOPS).zip(value(case, PEAK));
            Some([
                shown(names::WALL_TIME, &Unit::SECONDS),
                shown(names::THROUGHPUT, &Unit::other("samples/s")),
                share.map_or_else(String::new, |(flops, peak)| format!("{:.1} %", 100.0 * flops / peak)),
            ])
        }
        CaseStatus::Measured => Some(["not verified".into(), String::new(), String::new()]),
        CaseStatus::Failed(_) => Some(["CRASH".into(), String::new(), String::new()]),
        CaseStatus::Skipped(_) | CaseStatus::Incomplete => None,
    }
}

fn before_and_after(variant: &str, cases: &[&CaseRecord]) -> String {
    let mut table =
        Table::new(["state", "configuration", "time/step>", "samples/s>", "MFU>", "beside before>"]);
    for (state, group) in STATES {
        for case in cases.iter().filter(|case| axis(case, STATE) == Some(state) && ways(case).is_empty()) {
            let Some([step, samples, share]) = figures(case) else { continue };
            let before = alone(cases, case, STATES[0].0).filter(|_| state != STATES[0].0);
            let beside = before.map_or_else(String::new, |before| faster(case, before));
            let configuration = format!("{}, {}", name(case), axis(case, "mode").unwrap_or("one mode"));
            table.row([group.to_owned(), configuration, step, samples, share, beside]);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "\n## Before and after: {variant}\n\nBefore: operations one by one, as the model was published. \
         After: every component in the way that the system has for speed. Both are proven to train the same \
         model, and their steps differ by rounding alone. Below are the components one by one.\n\n{}",
        table.markdown()
    )
}

/// Each case of which single components were asked for, beside the one of its state alone.
fn components(variant: &str, cases: &[&CaseRecord]) -> String {
    let mut table = Table::new([
        "configuration",
        "state",
        "component",
        "way",
        "time/step>",
        "samples/s>",
        "beside the state alone>",
        "graph breaks>",
        "recompilations>",
    ]);
    for (state, _) in STATES {
        for case in cases.iter().filter(|case| axis(case, STATE) == Some(state)) {
            let asked = ways(case);
            let Some([step, samples, _]) = figures(case) else { continue };
            let counted = |what: &str| {
                let count = value(case, &format!("{COMPILATION}{what}"));
                count.map_or_else(String::new, |count| format!("{count:.0}"))
            };
            let counts = [counted("graph_breaks"), counted("recompilations")];
            // The state alone stands here for its counts, where something was compiled.
            let compiled = counts.iter().any(|count| !count.is_empty());
            if asked.is_empty() && !compiled {
                continue;
            }
            let beside = alone(cases, case, state)
                .filter(|_| !asked.is_empty())
                .map_or_else(String::new, |base| faster(case, base));
            let (components, chosen) = told(case, &asked);
            let [breaks, recompilations] = counts;
            let configuration = format!("{}, {}", name(case), axis(case, "mode").unwrap_or("one mode"));
            let state = state.to_owned();
            table.row([
                configuration,
                state,
                components,
                chosen,
                step,
                samples,
                beside,
                breaks,
                recompilations,
            ]);
        }
    }
    let asks = |case: &&CaseRecord| !ways(case).is_empty();
    if !cases.iter().any(asks) {
        return String::new();
    }
    format!(
        "\n### Components: {variant}\n\nOne component in another way than its state has it, beside the state \
         alone: above 1x it is faster so. `swapped` is the way of the other state. Graph breaks and \
         recompilations are counted where a mode compiles and the system counts them.\n\n{}",
        table.markdown()
    )
}

/// The components that were asked for, and the way of each, read back from the system where it told it.
fn told(case: &CaseRecord, asked: &[(&str, &str)]) -> (String, String) {
    let read_back = |component: &str| {
        case.work.as_ref().and_then(|work| work.report.environment.get(component)).map(String::as_str)
    };
    let each = asked.iter().map(|&(component, way)| match (component, way) {
        (component, swapped) if component == WAYS[0] => {
            (swapped, read_back(swapped).map_or("swapped", |way| way))
        }
        (component, way) => (component, way),
    });
    let (components, chosen): (Vec<&str>, Vec<&str>) = each.unzip();
    if components.is_empty() {
        return ("the state alone".to_owned(), String::new());
    }
    (components.join(", "), chosen.join(", "))
}

#[cfg(test)]
mod tests {
    use weighbridge::data::{FailureReason, Work, WorkReport};

    use super::*;
    use crate::fixtures::{self, axis as on, metric};

    fn case(mode: &str, state: &str, asked: Option<(&str, &str)>, samples: f64) -> CaseRecord {
        let mut case = fixtures::case("TRAIN-1", "PyTorch", &fixtures::around(1.0));
        case.tier = Some(1);
        case.id.point.0 = vec![on("variant", "vit5_tiny"), on("mode", mode), on(STATE, state)];
        case.id.point.0.extend(asked.map(|(component, way)| on(component, way)));
        case.metrics = vec![
            metric("throughput", Unit::ELEMENTS_PER_SECOND, samples),
            metric("throughput_flops", Unit::FLOPS, samples * 6e7),
            metric("wall_time", Unit::SECONDS, 32.0 / samples),
            metric("peak_flops", Unit::FLOPS, 2e11),
        ];
        case
    }

    fn page(cases: &[CaseRecord]) -> String {
        section("vit5_tiny", &cases.iter().collect::<Vec<_>>())
    }

    #[test]
    fn both_states_have_groups_with_what_the_second_brings_and_a_crash_in_its_place() {
        let mut crashed = case("autotuned", "original", None, 1.0);
        crashed.status = CaseStatus::Failed(FailureReason::Unwritable("no kernel fits".into()));
        let cases = [
            case("eager", "optimised", None, 1_500.0),
            case("eager", "original", None, 1_000.0),
            crashed,
            case("autotuned", "optimised", None, 3_000.0),
        ];
        let page = page(&cases);
        let rows: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| before") || line.starts_with("| after")).collect();
        assert_eq!(rows.len(), 4, "{page}");
        assert!(
            rows[0].starts_with("| before | PyTorch, eager | 32.0 ms | 1.00 k samples/s | 30.0 % |"),
            "{page}"
        );
        assert!(rows[1].starts_with("| before | PyTorch, autotuned | CRASH |"), "{page}");
        assert!(rows[2].contains("| PyTorch, eager | 21.3 ms | 1.50 k samples/s | 45.0 % | 1.50x"), "{page}");
        assert!(rows[3].ends_with("| 90.0 % |  |"), "nothing stands beside a crash: {page}");
        assert!(!page.contains("### Components"), "{page}");
    }

    #[test]
    fn a_component_stands_beside_its_state_alone_with_what_compiling_came_to() {
        let mut cached = case("compiled", "optimised", Some(("rope", "cached")), 1_000.0);
        cached.metrics.push(metric("compile/graph_breaks", Unit::COUNT, 12.0));
        cached.metrics.push(metric("compile/recompilations", Unit::COUNT, 1.0));
        let mut swapped = case("eager", "original", Some(("swapped", "norm")), 1_200.0);
        let environment = [("norm".to_owned(), "fused".to_owned())].into();
        let report = WorkReport { environment, ..WorkReport::default() };
        swapped.work = Some(Work { report, ..Work::default() });
        let cases = [
            case("compiled", "optimised", None, 2_000.0),
            case("eager", "original", None, 1_000.0),
            cached,
            swapped,
        ];
        let page = page(&cases);
        let row = |begin: &str| page.lines().find(|line| line.starts_with(begin)).unwrap_or(&page).to_owned();
        let found =
            row("| PyTorch, compiled | optimised | rope | cached | 32.0 ms | 1.00 k samples/s | 0.50x");
        assert!(found.ends_with("| 12 | 1 |"), "{page}");
        row("| PyTorch, eager | original | norm | fused | 26.7 ms | 1.20 k samples/s | 1.20x");
        assert!(page.contains("| norm | fused | 26.7 ms |"), "{page}");
    }

    #[test]
    fn cases_without_states_have_no_section() {
        let mut plain = case("eager", "original", None, 1.0);
        plain.id.point.0.truncate(2);
        assert_eq!(page(&[plain]), "");
    }
}
