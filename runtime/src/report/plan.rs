//! The plan as people read it: the header of a run, and the whole of it in a dry run.

use std::fmt::Write;

use super::progress::clock;
use crate::plan::{Isolation, Order, Plan};

/// The lines above a run: what was found, what runs, what was left out and the flag that runs it.
pub fn header(plan: &Plan, scenarios: usize, adapters: usize) -> String {
    let mut text = String::new();
    let limits = plan.limits;
    let (scenarios, adapters) = (counted(scenarios, "scenario"), counted(adapters, "adapter"));
    line(&mut text, &format!("weighbridge: {scenarios} and {adapters} found"));
    line(
        &mut text,
        &format!(
            "profile {}: {}, {} of {} batches after {} of warm-up, at least {:?} each; seed {}; about {}",
            plan.profile,
            counted(plan.measured(), "case"),
            counted(plan.repeats as usize, "repeat"),
            limits.batches,
            limits.warmup,
            limits.min_time,
            plan.seed,
            clock(plan.estimate()),
        ),
    );
    if plan.isolation != Isolation::Repeat {
        line(&mut text, &format!("isolation: {}", isolation(plan.isolation)));
    }
    if plan.order == Order::Declared {
        line(&mut text, "order: as declared, so drift of the machine does not fall on all cases alike");
    }
    for note in &plan.notes {
        line(&mut text, note);
    }
    for (scenario, points, flag) in &plan.left_out {
        line(&mut text, &format!("left out: {} of {scenario}; {flag} runs all", counted(*points, "point")));
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
        line(&mut text, &format!("  {}{note}", case.id));
    }
    text.push_str(&skips(plan));
    let memory = plan.memory >> 20;
    line(&mut text, &format!("limits: {} a repeat, {memory} MiB of memory", clock(plan.timeout)));
    text
}

/// The skips with their reasons.
pub fn skips(plan: &Plan) -> String {
    let mut text = String::new();
    for skip in &plan.skips {
        line(&mut text, &format!("skipped: {}: {}", skip.id, skip.why));
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
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a String takes all that is written");
}
