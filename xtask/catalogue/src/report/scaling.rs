//! `report training`, of one training on several ranks: what each number of ranks brings, and what their
//! exchange of gradients costs.

use std::collections::BTreeMap;
use std::fmt::Write;

use weighbridge::data::names;
use weighbridge::data::{CaseRecord, CaseStatus, OverRanks, RunRecord, Unit, quantity};
use weighbridge_training::training::{RANK_PHASE, RANK_STEP, WHOLE_STEP};

use super::configuration::{axis, row_name, value};
use crate::diagnosis::{EXPLAINS, Experiments, diagnose};
use weighbridge_xtask::show::trouble;
use weighbridge_xtask::table::Table;

/// The scenario whose cases these are.
pub(super) const SCENARIO: &str = "TRAIN-4";

/// Its axis of ranks.
const RANKS: &str = "ranks";

/// The phase in which ranks do nothing but average their gradients.
const COMMUNICATION: &str = "communication";

/// The section of a run; nothing where no training had ranks.
pub(super) fn section(run: &RunRecord) -> String {
    // The reference has one way to compute, whatever mode others are held against it in.
    let again = |case: &&CaseRecord| case.tier == Some(0) && axis(case, "mode") != Some("eager");
    let of_scenario = run.cases.iter().filter(|case| case.id.scenario == SCENARIO && !again(case));
    let mut of: BTreeMap<String, Vec<&CaseRecord>> = BTreeMap::new();
    for case in of_scenario {
        of.entry(training(case)).or_default().push(case);
    }
    let processors = ["allowed cpus", "cores"]
        .iter()
        .find_map(|fact| run.manifest.environment.machine.get(*fact)?.parse::<usize>().ok());
    let tables: String = of.iter().map(|(training, cases)| scaling(training, cases, processors)).collect();
    let lines: String = sentences(run).iter().map(|sentence| format!("- {sentence}\n")).collect();
    if lines.is_empty() { tables } else { format!("{tables}\n{lines}") }
}

/// Returns a sentence for each training on several ranks whose batch is as large as on one: what limits it.
/// The same on one rank is an experiment. Ranks share memory and processors too, so communication is named
/// only if the time that ranks spend in nothing else explains most of what one rank saves.
pub(crate) fn sentences(run: &RunRecord) -> Vec<String> {
    let cases = || run.cases.iter().filter(|case| case.id.scenario == SCENARIO && case.ranked());
    let told = cases().filter(|case| axis(case, "scaling") == Some("weak")).filter_map(|case| {
        let one = cases().find(|one| {
            count(one) == Some(1)
                && one.id.adapter == case.id.adapter
                && training(one) == training(case)
                && axis(one, "mode") == axis(case, "mode")
        })?;
        let ranks = count(case).filter(|ranks| *ranks > 1)?;
        let (whole, alone) = (value(case, names::WALL_TIME)?, value(one, names::WALL_TIME)?);
        let phase = |name: &str| Some(over(case, &format!("{RANK_PHASE}{name}"))?.mean);
        let is_explained = phase(COMMUNICATION)? / phase(WHOLE_STEP)? >= EXPLAINS * (1.0 - alone / whole);
        let took = Experiments {
            of: "step",
            whole,
            cached: whole, // samples are in memory
            stub: whole,
            one_rank: is_explained.then_some(alone),
            ..Experiments::default()
        };
        let nobody = if is_explained {
            "no exchange of gradients holds this training up"
        } else {
            "ranks take longer than one by more than their exchange of gradients: \
             they share processors and memory"
        };
        let found = diagnose(&took).map_or_else(|| nobody.to_owned(), |found| found.to_string());
        Some(format!("{}, {} on {ranks} ranks: {found}", training(case), row_name(case)))
    });
    told.collect()
}

/// Returns the title of a case's table: what all of its rows have in common.
fn training(case: &CaseRecord) -> String {
    let variant = axis(case, "variant").unwrap_or_default();
    let scaling = axis(case, "scaling").unwrap_or("strong");
    let communication = axis(case, "communication").unwrap_or("apart");
    format!("{variant}, {scaling} scaling, communication {communication}")
}

fn count(case: &CaseRecord) -> Option<usize> {
    axis(case, RANKS)?.parse().ok()
}

/// A metric of ranks over all of them.
fn over(case: &CaseRecord, name: &str) -> Option<OverRanks> {
    case.ranks.iter().find(|one| one.name == name)?.over
}

/// Returns the time of communication and its share of a step, where a mode can tell it apart; else those of
/// the phase that it is part of.
fn communication(case: &CaseRecord) -> Option<String> {
    let step = over(case, &format!("{RANK_PHASE}{WHOLE_STEP}"))?.mean;
    let phases = case.ranks.iter().filter_map(|one| Some((one.name.strip_prefix(RANK_PHASE)?, one.over?)));
    let (phase, took) = phases.into_iter().find(|(phase, _)| phase.contains(COMMUNICATION))?;
    let share = format!("{} ({:.0} %)", quantity::show(took.mean, &Unit::SECONDS), 100.0 * took.mean / step);
    Some(if phase == COMMUNICATION { share } else { format!("in {phase}: {share}") })
}

fn scaling(training: &str, cases: &[&CaseRecord], processors: Option<usize>) -> String {
    let mut table = Table::new([
        "configuration",
        "ranks>",
        "steps/s>",
        "step>",
        "samples/s>",
        "speed-up>",
        "ideal>",
        "efficiency>",
        "communication>",
        "slowest rank>",
    ]);
    let mut lines: BTreeMap<String, Vec<&CaseRecord>> = BTreeMap::new();
    let mut trouble_of = String::new();
    for case in cases {
        if case.ranked() {
            lines.entry(row_name(case)).or_default().push(case);
        } else if let Some(what) = trouble(case).filter(|_| !matches!(case.status, CaseStatus::Skipped(_))) {
            let what = what.lines().next().unwrap_or_default().to_owned();
            let ranks = axis(case, RANKS).unwrap_or_default();
            writeln!(trouble_of, "- {}, {ranks} ranks: {what}", row_name(case))
                .expect("a String takes all that is written");
        }
    }
    let mut crowded = false;
    for (name, mut line) in lines {
        line.sort_by_key(|case| count(case));
        // Of a line that does not begin with one rank nothing is known of one.
        let first = line.first().and_then(|case| Some((count(case)?, value(case, names::THROUGHPUT)?)));
        for case in line {
            let (Some(ranks), Some(rate), Some(step)) =
                (count(case), value(case, names::THROUGHPUT), value(case, names::WALL_TIME))
            else {
                continue;
            };
            let too_many = processors.is_some_and(|processors| ranks > processors);
            crowded |= too_many;
            let brought = first.map(|(of, least)| (rate / least, ranks as f64 / of as f64));
            let shown = |text: Option<String>| text.unwrap_or_default();
            table.row([
                name.clone(),
                format!("{ranks}{}", if too_many { " in turns" } else { "" }),
                format!("{:.1}", 1.0 / step),
                quantity::show(step, &Unit::SECONDS),
                quantity::show(rate, &Unit::other("samples/s")),
                shown(brought.map(|(speed_up, _)| format!("{speed_up:.2}x"))),
                shown(brought.map(|(_, ideal)| format!("{ideal:.0}x"))),
                shown(brought.map(|(speed_up, ideal)| format!("{:.0} %", 100.0 * speed_up / ideal))),
                shown(communication(case)),
                shown(over(case, RANK_STEP).map(|over| format!("{} of {ranks}", over.max_rank))),
            ]);
        }
    }
    let crowd = match processors.filter(|_| crowded) {
        None => String::new(),
        Some(processors) => format!(
            " Ranks `in turns` are more than the {processors} processors of this machine, and take turns on \
             them: such a figure shows what the exchange and the turns cost, \
             never what a machine with that many processors would do."
        ),
    };
    let trouble_of = if trouble_of.is_empty() { trouble_of } else { format!("\n{trouble_of}") };
    format!(
        "\n## Scaling: {training}\n\nA step of all ranks ends when the last one has ended it. Speed-up is of \
         the samples a second over the first row of a configuration, and efficiency the share of the ideal \
         line that it is. Communication is the mean over ranks, of a step done phase by phase, and its share \
         of that step; waiting for a slower rank is part of it. Where a mode cannot tell it apart, the phase \
         that it is part of stands there. The slowest rank is counted from 0.{crowd}\n\n{}{trouble_of}",
        table.markdown()
    )
}

#[cfg(test)]
mod tests {
    use weighbridge::data::{Direction, RankAggregate, Unit};

    use super::*;
    use crate::fixtures::{self, around, axis, metric};
    use weighbridge::data::FailureReason;

    fn phase(name: &str, values: &[f64]) -> RankAggregate {
        let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
        RankAggregate {
            name: name.into(),
            unit: Unit::SECONDS,
            direction: Direction::Lower,
            ranks: values.len(),
            over: OverRanks::of(&values),
            hosts: None,
            missing: Vec::new(),
        }
    }

    fn case(ranks: usize, samples: f64, together: bool) -> CaseRecord {
        let mut case = fixtures::case(SCENARIO, "PyTorch", &around(1.0));
        case.tier = Some(1);
        case.id.point.0 =
            vec![axis("variant", "vit5_tiny"), axis("ranks", &ranks.to_string()), axis("mode", "eager")];
        let step = 32.0 / samples;
        case.metrics = vec![
            metric("throughput", Unit::ELEMENTS_PER_SECOND, samples),
            metric("wall_time", Unit::SECONDS, step),
        ];
        let each = |share: f64| vec![share * step; ranks];
        let mut steps = each(1.0);
        steps[ranks - 1] *= 1.5;
        case.ranks = vec![phase("rank/step_time", &steps), phase("rank/step/forward", &each(0.75))];
        let name = if together { "rank/step/backward_communication" } else { "rank/step/communication" };
        case.ranks.push(phase(name, &each(0.25)));
        case.ranks.push(phase("rank/step/all", &each(1.0)));
        case
    }

    fn page(cases: Vec<CaseRecord>) -> String {
        let mut run = fixtures::run(1, cases);
        run.manifest.environment.machine.insert("allowed cpus".into(), "2".into());
        super::super::training::page(&run).unwrap()
    }

    #[test]
    fn speed_up_is_over_the_first_row_and_efficiency_of_the_ideal_line_with_communication_beside() {
        let page = page(vec![case(4, 1_000.0, false), case(1, 1_000.0, false), case(2, 1_500.0, false)]);
        assert!(page.contains("## Scaling: vit5_tiny, strong scaling, communication apart"), "{page}");
        for row in [
            "| PyTorch, eager | 1 | 31.2 | 32.0 ms | 1.00 k samples/s | 1.00x | 1x | 100 % | 8.00 ms (25 %) \
             | 0 of 1 |",
            "| PyTorch, eager | 2 | 46.9 | 21.3 ms | 1.50 k samples/s | 1.50x | 2x | 75 % | 5.33 ms (25 %) \
             | 1 of 2 |",
            "| PyTorch, eager | 4 in turns | 31.2 | 32.0 ms | 1.00 k samples/s | 1.00x | 4x | 25 % \
             | 8.00 ms (25 %) | 3 of 4 |",
        ] {
            assert!(page.contains(row), "{row}\n{page}");
        }
        assert!(page.contains("more than the 2 processors of this machine"), "{page}");
    }

    #[test]
    fn communication_limits_ranks_where_one_rank_is_faster_by_what_they_spend_in_it() {
        // Of as many samples on each rank: a step takes 32 ms on one, and a quarter of it is the exchange.
        let weak = |ranks: usize, step: f64, share: f64| {
            let mut case = case(ranks, 32.0 / step, false);
            case.id.point.0.push(axis("scaling", "weak"));
            case.ranks.retain(|one| one.name != "rank/step/communication");
            case.ranks.push(phase("rank/step/communication", &vec![share * step; ranks]));
            case
        };
        let told = |ranks, step, share| {
            let run = fixtures::run(1, vec![weak(1, 0.024, 0.0), weak(ranks, step, share)]);
            super::sentences(&run).join(";")
        };
        assert_eq!(
            told(2, 0.032, 0.25),
            "vit5_tiny, weak scaling, communication apart, PyTorch, eager on 2 ranks: the communication \
             limits a step: it takes 32.0 ms, and 24.0 ms on one rank. To do: let communication overlap with \
             the backward pass, or send less. Expected: 1.33 times as fast."
        );
        assert!(
            told(2, 0.032, 0.05).contains("they share processors and memory"),
            "{}",
            told(2, 0.032, 0.05)
        );
        assert!(told(2, 0.025, 0.04).contains("no exchange of gradients holds"), "{}", told(2, 0.025, 0.04));
        let strong = fixtures::run(1, vec![case(1, 1_000.0, false), case(2, 900.0, false)]);
        assert!(super::sentences(&strong).is_empty(), "the same batch in parts is no such experiment");
    }

    #[test]
    fn what_a_mode_cannot_tell_apart_is_named_as_it_is_and_no_crowd_is_told_where_there_is_none() {
        let page = page(vec![case(1, 1_000.0, true), case(2, 1_500.0, true)]);
        assert!(page.contains("| in backward_communication: 5.33 ms (25 %) |"), "{page}");
        assert!(!page.contains("in turns"), "{page}");
    }

    #[test]
    fn a_case_that_failed_or_misses_a_rank_stands_below_with_its_reason() {
        let mut failed = case(4, 1_000.0, false);
        failed.status = CaseStatus::Failed(FailureReason::Unwritable(
            "repeat 1 failed: rank 3 of 4 (from 0): it exited".into(),
        ));
        let mut missing = case(2, 1_000.0, false);
        missing.status = CaseStatus::Incomplete;
        missing.ranks[0].missing = vec![1];
        let page = page(vec![case(1, 1_000.0, false), failed, missing]);
        assert!(
            page.contains("- PyTorch, eager, 4 ranks: failed: repeat 1 failed: rank 3 of 4 (from 0)"),
            "{page}"
        );
        let told =
            "- PyTorch, eager, 2 ranks: incomplete: rank 1 of 2 (from 0) did not tell `rank/step_time`";
        assert!(page.contains(told), "{page}");
    }
}
