//! `report training`, of steps that a loader feeds: the three experiments side by side, and what limits each
//! training.

use std::collections::BTreeMap;

use weighbridge::data::{CaseRecord, CaseStatus, RunRecord, Unit, quantity};
use weighbridge_training::training::{
    BOTH_AT_ONCE, DATA_WAIT, EFFICIENCY, EXPOSED_LOADING, FULL_STEP, LOADER_ALONE, STEP_ALONE,
};

use super::configuration::{axis, value};
use super::field::name;
use crate::diagnosis::{Experiments, diagnose};
use weighbridge_xtask::table::Table;

/// The scenario whose cases these are.
const SCENARIO: &str = "TRAIN-3";

/// Its axis of models.
const VARIANT: &str = "variant";

/// Its axis of workers.
const WORKERS: &str = "workers";

/// Its axis of where rows lie; a point without it has them in memory.
const STORAGE: &str = "storage";

/// The section of a run; nothing where no loader has fed a step.
pub(super) fn section(run: &RunRecord) -> String {
    let cases: Vec<&CaseRecord> = run.cases.iter().filter(|case| case.id.scenario == SCENARIO).collect();
    if cases.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        "point",
        "loader",
        "both_at_once>",
        "loader_alone>",
        "step_alone>",
        "efficiency>",
        "exposed_loading>",
        "data_wait>",
    ]);
    for case in &cases {
        let point = point(case);
        if !matches!(case.status, CaseStatus::Measured) || !case.ranked() {
            let mut cells: [String; 8] = std::array::from_fn(|_| String::new());
            let why =
                if matches!(case.status, CaseStatus::Measured) { "not verified" } else { "not measured" };
            (cells[0], cells[1], cells[2]) = (point, name(case).to_owned(), why.to_owned());
            table.row(cells);
            continue;
        }
        let shown = |metric: &str, unit: &Unit| {
            value(case, metric).map_or_else(String::new, |value| quantity::show(value, unit))
        };
        let rate = Unit::other("samples/s");
        table.row([
            point,
            name(case).to_owned(),
            shown(BOTH_AT_ONCE, &rate),
            shown(LOADER_ALONE, &rate),
            shown(STEP_ALONE, &rate),
            shown(EFFICIENCY, &Unit::RATIO),
            shown(EXPOSED_LOADING, &Unit::SECONDS),
            value(case, DATA_WAIT).map_or_else(String::new, |share| format!("{share:.0} %")),
        ]);
    }
    let lines: String = sentences(run).iter().map(|sentence| format!("- {sentence}\n")).collect();
    format!(
        "\n## Loader and step\n\nSamples a second of both at once, and of each alone. `efficiency` is both \
         at once as a share of the slower one alone. A step waits for its batch in the time of \
         `exposed_loading`.\n\n{}\n{lines}{}",
        table.markdown(),
        pipelines(&cases)
    )
}

/// One pipeline beside another for each model: what a full step takes, and what a pipeline brings over the
/// plain one. A pipeline whose batches or weights are not the reference's has no row.
fn pipelines(cases: &[&CaseRecord]) -> String {
    let mut table =
        Table::new(["model", "point", "pipeline", "full_step>", "samples/s>", "beside the plain one>"]);
    let mut of_model: BTreeMap<(&str, String), Vec<(f64, &CaseRecord)>> = BTreeMap::new();
    for case in cases.iter().filter(|case| matches!(case.status, CaseStatus::Measured) && case.ranked()) {
        let Some(rate) = value(case, BOTH_AT_ONCE) else { continue };
        let model = axis(case, VARIANT).unwrap_or_default();
        of_model.entry((model, rest(case, VARIANT).join("/"))).or_default().push((rate, case));
    }
    for ((model, point), mut rows) in of_model {
        rows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let is_plain = |(_, case): &&(f64, &CaseRecord)| case.tier == Some(0);
        let plain = rows.iter().find(is_plain).map(|(rate, _)| *rate);
        for (rate, case) in rows {
            table.row([
                model.to_owned(),
                point.clone(),
                name(case).to_owned(),
                value(case, FULL_STEP).map_or_else(String::new, |step| quantity::show(step, &Unit::SECONDS)),
                quantity::show(rate, &Unit::other("samples/s")),
                plain.map_or_else(String::new, |plain| format!("{:+.0} %", 100.0 * (rate / plain - 1.0))),
            ]);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "\n### Pipelines by model\n\nA full step is from one step to the next with loader and step at once. \
         The plain pipeline is the reference's; a row is here only if its batches and the weights after its \
         steps are those of the reference.\n\n{}",
        table.markdown()
    )
}

/// Returns a sentence for each training of a run that a loader feeds: what limits it.
pub(crate) fn sentences(run: &RunRecord) -> Vec<String> {
    let cases: Vec<&CaseRecord> = run.cases.iter().filter(|case| case.id.scenario == SCENARIO).collect();
    let ranked = cases.iter().filter(|case| matches!(case.status, CaseStatus::Measured) && case.ranked());
    let told = ranked.filter_map(|case| {
        let found = diagnose(&experiments(case, &cases)?);
        let found =
            found.map_or_else(|| "no loader holds this training up".to_owned(), |found| found.to_string());
        Some(format!("{}, {}: {found}", point(case), name(case)))
    });
    told.collect()
}

/// The point of a case, without its scenario and its loader.
fn point(case: &CaseRecord) -> String {
    axis(case, VARIANT)
        .map(str::to_owned)
        .into_iter()
        .chain(rest(case, VARIANT))
        .collect::<Vec<_>>()
        .join("/")
}

/// The values of a point but for those of one axis.
fn rest(case: &CaseRecord, but: &str) -> Vec<String> {
    let values = case.id.point.iter().filter(|value| value.axis != but);
    values.map(|value| format!("{}={}", value.axis, value.text)).collect()
}

/// Returns the experiments on a case, in seconds of a sample: its own, and those that other cases of its
/// loader are.
fn experiments(case: &CaseRecord, all: &[&CaseRecord]) -> Option<Experiments> {
    let took = |case: &CaseRecord, metric: &str| Some(1.0 / value(case, metric)?);
    // A case that is another point of one axis alone is an experiment on that axis.
    let other = |of: &str, is_it: &dyn Fn(Option<&str>) -> bool| {
        let alike = |one: &CaseRecord| one.id.adapter == case.id.adapter && rest(one, of) == rest(case, of);
        let found = all.iter().find(|one| one.ranked() && alike(one) && is_it(axis(one, of)));
        found.and_then(|one| took(one, BOTH_AT_ONCE))
    };
    let workers = axis(case, WORKERS).and_then(|count| count.parse::<usize>().ok());
    let is_more = |text: Option<&str>| text.and_then(|text| text.parse::<usize>().ok()) > workers;
    Some(Experiments {
        of: "sample",
        whole: took(case, BOTH_AT_ONCE)?,
        cached: took(case, STEP_ALONE)?,
        stub: took(case, LOADER_ALONE)?,
        more_workers: other(WORKERS, &is_more),
        waited: value(case, DATA_WAIT).map(|percent| percent / 100.0),
        in_memory: axis(case, STORAGE).and_then(|_| other(STORAGE, &|place| place.is_none())),
        ..Experiments::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{around, case as case_of, fed, metric, run};
    use weighbridge::data::FailureReason;

    /// The same of a step that hardly waits for its batch.
    fn never_waited_for(adapter: &str, point: &[(&str, &str)], rates: [f64; 3]) -> CaseRecord {
        let mut case = fed(adapter, point, rates);
        case.metrics.retain(|metric| metric.name != DATA_WAIT);
        case.metrics.push(metric(DATA_WAIT, Unit::other("%"), 1.0));
        case
    }

    #[test]
    fn a_training_that_waits_for_its_loader_is_told_what_limits_it_by_the_experiments_that_were_made() {
        let one = [("variant", "tiny"), ("workers", "0")];
        let cases = vec![
            fed("Slow", &one, [100.0, 105.0, 400.0]),
            fed("Slow", &[one[0], ("workers", "2")], [200.0, 210.0, 400.0]),
            fed("Quick", &one, [380.0, 9_000.0, 400.0]),
            fed("Disk", &[one[0], one[1], (STORAGE, "local")], [50.0, 52.0, 400.0]),
            fed("Disk", &one, [390.0, 5_000.0, 400.0]),
            never_waited_for("Shares", &one, [100.0, 150.0, 160.0]),
        ];
        let page = section(&run(1_000, cases));
        let told = |start: &str| page.lines().find(|line| line.starts_with(start)).expect(start).to_owned();
        assert_eq!(
            told("- tiny/workers=0, Slow: "),
            "- tiny/workers=0, Slow: the loader limits a sample: it takes 10.0 ms, and 2.50 ms on cached \
             batches. To do: add workers, until the loader alone is faster than the step. Expected: \
             4.00 times as fast."
        );
        assert!(told("- tiny/workers=0, Shares: ").contains("the processor limits a sample"), "{page}");
        assert!(told("- tiny/workers=0, Quick: ").ends_with("no loader holds this training up"), "{page}");
        assert!(
            told("- tiny/workers=0/storage=local, Disk: ").contains("the disk limits a sample"),
            "{page}"
        );
        assert!(told("| tiny/workers=0 | Slow |").contains("| 40 % |"), "{page}");
    }

    #[test]
    fn a_pipeline_stands_beside_the_plain_one_for_each_size_of_model() {
        let plain = |model, rate| {
            let mut case = fed("Reference", &[(VARIANT, model), ("workers", "0")], [rate, rate, rate]);
            case.tier = Some(0);
            case
        };
        let fused = |model, rate| fed("Fused", &[(VARIANT, model), ("workers", "0")], [rate, rate, rate]);
        let mut broken = fused("small", 900.0);
        broken.status = CaseStatus::Failed(FailureReason::Unwritable("other batches".into()));
        let cases = vec![
            plain("base", 100.0),
            fused("base", 109.0),
            plain("small", 200.0),
            fused("small", 230.0),
            broken,
        ];
        let page = section(&run(1_000, cases));
        for due in [
            "| base | workers=0 | Reference | 320 ms | 100 samples/s | +0 % |",
            "| base | workers=0 | Fused | 294 ms | 109 samples/s | +9 % |",
            "| small | workers=0 | Fused | 139 ms | 230 samples/s | +15 % |",
        ] {
            assert!(page.contains(due), "{page}");
        }
        assert!(!page.contains("+350 %"), "{page}");
    }

    #[test]
    fn a_run_without_such_a_training_has_no_section() {
        assert_eq!(section(&run(1_000, vec![case_of("CV-1", "Reference", &around(1.0))])), "");
    }
}
