//! The plan as people read it: the header of a run, and the whole of it in a dry run.

use std::fmt::Write;
use std::time::Duration;

use super::progress::clock;
use super::skips::skip_lines;
use crate::bencher::visible_in_line;
use crate::device::Platform;
use crate::plan::{CaseOrder, Isolation, Plan, PlannedCase};

/// Tells whether less than half of the cases have run before.
fn is_guess(plan: &Plan) -> bool {
    let known = plan.cases.iter().filter(|case| case.took.measuring.is_some()).count();
    2 * known < plan.cases.len()
}

/// The lines above a run: what was found, what runs, what was left out and the flag that runs it.
///
/// `share` is the time that a run has in which what does not fit is left out.
pub fn header(plan: &Plan, scenarios: usize, adapters: usize, share: Option<Duration>) -> String {
    let mut text = String::new();
    let whole = plan.estimate();
    let time = format!(
        "about {}{}{}",
        clock(whole),
        if is_guess(plan) { ", a guess: most of it has not run here before" } else { "" },
        share.filter(|share| whole > *share).map_or_else(String::new, over),
    );
    if plan.cases.iter().any(|case| case.id.adapter.is_some()) {
        text.push_str(&of_systems(plan, scenarios, adapters, &time));
    } else {
        line(&mut text, &of_bodies(plan, scenarios, &time));
    }
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

/// The words on a run that may take longer than it has.
fn over(share: Duration) -> String {
    format!("; it has {}, and what does not fit is left out: --budget SECS gives it more", clock(share))
}

/// The lines on a run of systems side by side: batches and warm-up are for what streams.
fn of_systems(plan: &Plan, scenarios: usize, adapters: usize, time: &str) -> String {
    let budget = plan.budget;
    let found = format!("{} and {}", counted(scenarios, "scenario"), counted(adapters, "adapter"));
    format!(
        "weighbridge: {found} found\nprofile {}: {}, {} of {} batches after {} of warm-up, at least {:?} \
         each; seed {}; {time}\n",
        plan.profile,
        counted(plan.measured(), "case"),
        counted(plan.repeats as usize, "repeat"),
        budget.batches,
        budget.warmup,
        budget.min_time,
        plan.run.seed,
    )
}

/// The line on a run of bodies of one's own.
fn of_bodies(plan: &Plan, scenarios: usize, time: &str) -> String {
    let place = match plan.together.isolation {
        Isolation::Repeat => " in a process of its own",
        _ => "",
    };
    let times = match plan.repeats {
        1 => "once".to_owned(),
        repeats => format!("{repeats} times"),
    };
    let profile = match &*plan.profile {
        "ci_cpu" => String::new(),
        other => format!(" (profile {other})"),
    };
    format!(
        "weighbridge: {} of {}, each {times}{place} for at least {:?}{profile}; {time}",
        counted(plan.measured(), "case"),
        counted(scenarios, "scenario"),
        plan.budget.min_time,
    )
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

/// Adds a line. What others wrote into it stays in it.
fn line(text: &mut String, line: &str) {
    writeln!(text, "{}", visible_in_line(line)).expect("a String takes all that is written");
}

#[cfg(test)]
mod tests {
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
    fn a_run_of_bodies_is_told_in_one_line_and_without_batches() {
        let mut plan = crate::plan::fixtures::plan(&["SORT-1"], 7, CaseOrder::Shuffled);
        let told = |plan: &Plan| header(plan, 3, 2, None).lines().next().unwrap_or_default().to_owned();
        plan.cases[0].id.adapter = None;
        let each = format!("for at least {:?}", plan.budget.min_time);
        let of = format!("weighbridge: 1 case of 3 scenarios, each 7 times in a process of its own {each}");
        (plan.profile, plan.together.isolation) = ("ci_cpu".into(), Isolation::Repeat);
        assert!(told(&plan).starts_with(&format!("{of}; about ")), "{}", told(&plan));
        (plan.repeats, plan.profile) = (1, "quick".into());
        plan.together.isolation = Isolation::None;
        let of = format!("weighbridge: 1 case of 3 scenarios, each once {each} (profile quick); about ");
        assert!(told(&plan).starts_with(&of), "{}", told(&plan));
    }

    #[test]
    fn a_run_that_may_take_longer_than_it_has_is_told_so_beforehand() {
        let mut plan = crate::plan::fixtures::plan(&["SORT-1"], 3, CaseOrder::Shuffled);
        plan.cases[0].took.measuring = Some(Duration::from_secs(50));
        let told = |minutes| header(&plan, 1, 0, Some(Duration::from_mins(minutes)));
        let share =
            "about 2m30s; it has 1m00s, and what does not fit is left out: --budget SECS gives it more\n";
        assert!(told(1).contains(share), "{}", told(1));
        assert!(told(3).contains("about 2m30s\n"), "{}", told(3));
    }

    #[test]
    fn the_header_says_budget_order_notes_what_is_left_out_and_what_was_dropped() {
        let expected = "\
weighbridge: 1 scenario and 2 adapters found
profile ci_cpu: 1 case, 7 repeats of 20 batches after 3 of warm-up, at least 500ms each; seed 42; about 0s
isolation: one process for the whole run
order: as declared, so drift of the machine does not fall on all cases alike
a note
left out: 6 points of PC-1; --param PC-1.variant=all runs them too
dropped by the filter of CV-1: 3 points
";
        let case = &crate::plan::fixtures::plan(&["CV-1"], 7, CaseOrder::Shuffled).cases[0];
        let mut id = case.id.clone();
        id.adapter = Some("Reference".into());
        let plan = Plan { cases: vec![PlannedCase { id, ..case.clone() }], ..plan() };
        let header = header(&plan, 1, 2, None);
        let about = header.find("about ").map_or("", |at| header[at..].lines().next().unwrap_or_default());
        assert_eq!(header.replace(about, "about 0s"), expected);
    }

    #[test]
    fn a_mode_is_of_the_bodies_that_enqueue() {
        let mut plan = plan();
        plan.run.platform = Platform::Gpu;
        plan.run.mode = Some(crate::metric::Mode::Hot);
        let header = header(&plan, 1, 2, None);
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
