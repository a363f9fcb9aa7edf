//! Where the run ran.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::view::View;

pub(super) fn page(view: &View<'_>) -> Markup {
    let manifest = &view.run.manifest;
    let environment = &manifest.environment;
    let planned = &manifest.planned;
    let budget = planned.budget;
    let asked: BTreeMap<String, String> = [
        ("command", manifest.command.join(" ")),
        ("platform", format!("{} (asked for: {})", manifest.active_backend, manifest.requested_platform)),
        ("seed", manifest.seed.to_string()),
        ("repeats", planned.repeats.to_string()),
        (
            "batches",
            format!(
                "{} left out, {} or more measured, for {:?} or more",
                budget.warmup, budget.batches, budget.min_time
            ),
        ),
        ("timeout", format!("{} s a repeat", planned.timeout)),
        ("isolation", planned.isolation.clone()),
        ("order", planned.order.clone()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    html! {
        p.lead { "Machine " (environment.machine_id()) "." }
        (facts("Facts that change timings", &environment.machine))
        (facts("Software", &environment.software))
        (facts("How the run was asked for", &asked))
        (facts("Environment variables", &environment.variables))
        (facts("When the run started", &environment.moment))
        (facts("What could not be read, and why", &environment.absent))
    }
}

fn facts(title: &str, facts: &BTreeMap<String, String>) -> Markup {
    html! {
        @if !facts.is_empty() {
            h3 { (title) }
            dl.pairs { @for (name, value) in facts { dt { (name) } dd { (value) } } }
        }
    }
}
