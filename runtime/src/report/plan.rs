//! The plan as people read it: the header of a run, and the whole of it in a dry run.

use std::fmt::Write;

use super::progress::clock;
use super::skips::skip_lines;
use crate::device::Platform;
use crate::plan::{CaseOrder, Isolation, Plan, PlannedCase};

/// Tells whether less than half of the cases have run before.
fn is_guess(plan: &Plan) -> bool {
    let known = plan.cases.iter().filter(|case| case.took.measuring.is_some()).count();
    2 * known < plan.cases.len()
}

/// The lines above a run: what was found, what runs, what was left out and the flag that runs it.
pub fn header(plan: &Plan, scenarios: usize, adapters: usize) -> String {
    let mut text = String::new();
    let budget = plan.budget;
    let (scenarios, adapters) = (counted(scenarios, "scenario"), counted(adapters, "adapter"));
    line(&mut text, &format!("weighbridge: {scenarios} and {adapters} found"));
    line(
        &mut text,
        &format!(
            "profile {}: {}, {} of {} batches after {} of warm-up, at least {:?} each; seed {}; about {}{}",
            plan.profile,
            counted(plan.measured(), "case"),
            counted(plan.repeats as usize, "repeat"),
            budget.batches,
            budget.warmup,
            budget.min_time,
            plan.run.seed,
            clock(plan.estimate()),
            if is_guess(plan) { ", a guess: most of it has not run here before" } else { "" },
        ),
    );
    if let Some(target) = plan.together.target {
        let (target, most) = (target * 100.0, Plan::MOST_REPEATS);
        line(
            &mut text,
            &format!("target: more repeats until the interval is within {target} %, at most {most}"),
        );
    }
    if plan.run.platform != Platform::Cpu {
        let mode = plan
            .run
            .mode
            .map_or_else(String::new, |mode| format!(", mode {mode} for every body that enqueues on it"));
        line(&mut text, &format!("platform: {}{mode}", plan.run.platform));
    }
    if plan.together.isolation != Isolation::Repeat {
        line(&mut text, &format!("isolation: {}", isolation(plan.together.isolation)));
    }
    if plan.together.order == CaseOrder::Declared {
        line(&mut text, "order: as declared, so drift of the machine does not fall on all cases alike");
    }
    for note in &plan.notes {
        line(&mut text, note);
    }
    for (scenario, points, flag) in &plan.left_out {
        line(
            &mut text,
            &format!("left out: {} of {scenario}; {flag} runs them too", counted(*points, "point")),
        );
    }
    for (scenario, points) in &plan.dropped {
        line(&mut text, &format!("dropped by the filter of {scenario}: {}", counted(*points, "point")));
    }
    text
}

/// The cases, the skips with their reasons, and the limits: what a dry run prints below the header.
pub fn details(plan: &Plan) -> String {
    let mut text = String::new();
    for case in &plan.cases {
        let note = if case.measured { "" } else { "  (verified only, as the reference)" };
        let memory =
            case.memory.map_or_else(String::new, |bytes| format!("  {} MiB", bytes.div_ceil(1 << 20)));
        line(&mut text, &format!("  {}{memory}{}{note}", case.id, own_budget(plan, case)));
    }
    text.push_str(&skips(plan));
    let memory = plan.memory >> 20;
    line(&mut text, &format!("limits: {} a repeat, {memory} MiB of memory", clock(plan.timeout())));
    text
}

/// Returns the budget of a case as far as it differs from the plan's, since its scenario states it.
fn own_budget(plan: &Plan, case: &PlannedCase) -> String {
    let mut parts = Vec::new();
    if case.repeats != plan.repeats {
        parts.push(counted(case.repeats as usize, "repeat"));
    }
    if case.budget.batches != plan.budget.batches {
        parts.push(counted(case.budget.batches as usize, "sample"));
    }
    if case.budget.min_time != plan.budget.min_time {
        parts.push(format!("at least {:?}", case.budget.min_time));
    }
    if let Some(max) = case.budget.max_time.filter(|_| case.budget.max_time != plan.budget.max_time) {
        parts.push(format!("at most {max:?}"));
    }
    if parts.is_empty() { String::new() } else { format!("  ({})", parts.join(", ")) }
}

/// The skips with their reasons.
pub fn skips(plan: &Plan) -> String {
    let mut text = String::new();
    for said in skip_lines(plan.skips.iter().map(|skip| (&skip.id, skip.why.to_string()))) {
        line(&mut text, &format!("skipped: {said}"));
    }
    if !plan.absent.is_empty() {
        let names: Vec<&str> = plan.absent.iter().map(|absent| absent.adapter).collect();
        line(&mut text, &format!("not installed: {}; --list says how to install them", names.join(", ")));
    }
    text
}

fn isolation(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Repeat => "a process for each repeat",
        Isolation::Case => "one process for all repeats of a case",
        Isolation::Run => "one process for the whole run",
        Isolation::None => "none: everything runs in this process",
    }
}

/// `1 point`, `2 points`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a String takes all that is written");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bencher::{Budget, RunSettings};
    use crate::plan::Skip;
    use crate::plan::{Absent, CaseId, PlanSettings};
    use crate::registry::Point;

    fn absent(adapter: &'static str) -> Absent {
        Absent { adapter, reason: String::new(), install: String::new() }
    }

    fn plan() -> Plan {
        let id = CaseId {
            scenario: "CV-2".into(),
            point: Point::default(),
            adapter: Some("Google Grain".into()),
            told_apart: false,
        };
        Plan {
            profile: "ci_cpu".into(),
            cases: Vec::new(),
            skips: vec![Skip { id, why: "not installed".into() }],
            absent: ["Datarax", "SPDL"].map(absent).into(),
            dropped: vec![("CV-1".into(), 3)],
            left_out: vec![("PC-1".into(), 6, "--param PC-1.variant=all".into())],
            notes: vec!["a note".into()],
            repeats: 7,
            budget: Budget { warmup: 3, batches: 20, min_time: Duration::from_millis(500), max_time: None },
            memory: 8 << 30,
            run: RunSettings { timeout: Some(Duration::from_mins(5)), ..RunSettings::DEFAULT },
            together: PlanSettings { order: CaseOrder::Declared, isolation: Isolation::Run, target: None },
            smoke: false,
            verify: true,
        }
    }

    #[test]
    fn the_header_says_budget_order_notes_what_is_left_out_and_what_was_dropped() {
        let expected = "\
weighbridge: 1 scenario and 2 adapters found
profile ci_cpu: 0 cases, 7 repeats of 20 batches after 3 of warm-up, at least 500ms each; seed 42; about 0s
isolation: one process for the whole run
order: as declared, so drift of the machine does not fall on all cases alike
a note
left out: 6 points of PC-1; --param PC-1.variant=all runs them too
dropped by the filter of CV-1: 3 points
";
        assert_eq!(header(&plan(), 1, 2), expected);
    }

    #[test]
    fn a_mode_is_of_the_bodies_that_enqueue() {
        let mut plan = plan();
        plan.run.platform = Platform::Gpu;
        plan.run.mode = Some(crate::metric::Mode::Hot);
        let header = header(&plan, 1, 2);
        assert!(
            header.contains("\nplatform: gpu, mode hot for every body that enqueues on it\n"),
            "{header}"
        );
    }

    #[test]
    fn a_dry_run_ends_with_skips_and_limits() {
        let expected = "\
skipped: CV-2/Google Grain: not installed
not installed: Datarax, SPDL; --list says how to install them
limits: 5m00s a repeat, 8192 MiB of memory
";
        assert_eq!(details(&plan()), expected);
    }
}
