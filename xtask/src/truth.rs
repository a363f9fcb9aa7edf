//! `truth`: the page of the rules that can take a rank away, made from their list.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use weighbridge::data::{CAVEATS, CaveatKind, Exit, RULES, Rule};
use weighbridge::gpu::DeviceCaveat;

use crate::cli::TruthArgs;
use crate::place::Place;
use crate::said::Said;

const HEAD: &str = "\
# What is found out, and what is not

Written by `cargo xtask truth` from the list of rules (`runtime/src/verify/rules/mod.rs`); a test fails when it is stale.

A case is ranked only where no rule fails it. Children and workers hand over evidence, and judge nothing. The rules look at the
evidence that is stored with each repeat, so a stored run can be judged again by today's rules: `cargo xtask runs judge RUN`.
What a rule finds is a *finding*. Its severity is `fail` (the case is not ranked, and the run ends with exit code 6) or
`caveat` (it stands beside the figures). [methodology.md](methodology.md) says how the evidence is taken, and which honest
systems the bounds were derived from.
";

const FOOT: &str = "
## What no rule sees

- **A native subject runs in the harness's own process.** It could read the harness's memory, or write to its socket. A worker
  runs in a process of its own and cannot; `--isolation` keeps subjects apart from each other, not from their own harness.
- **A worker's loop is part of the worker.** The harness bounds every number that a worker sends by what passed here, and holds
  its account against its own clock. That the copies are of the batches that were timed rests on the worker's loop: the Python
  worker's is this project's, and its adapters do not see it.
- **What an earlier run has left, in some places.** Each run goes through an epoch of its own number, so that whatever draws
  is other work in each. A pipeline that draws nothing is the same work for ever: an epoch of it that lies in a file is told by
  `files`, and one that another process hands over through a socket is not. Nor is one of a worker's, in the files that it
  brings the data into.
- **A gain that is smaller than a bound.** Each rule says its bound, and a subject may stay below it.
";

pub(crate) fn run(args: &TruthArgs, place: &Place) -> Result<Said> {
    let path = path(place);
    let shown = path.display();
    if !args.check {
        fs::write(&path, page()).with_context(|| format!("failed to write `{shown}`"))?;
        return Ok(Said::fine(format!("{shown} has {} rules\n", RULES.len())));
    }
    if fs::read_to_string(&path).unwrap_or_default() == page() {
        return Ok(Said::fine(format!("{shown} is true ({} rules)\n", RULES.len())));
    }
    let text = format!("{shown} is stale: `cargo xtask truth` writes it anew\n");
    Ok(Said { exit: Exit::NothingToJudge, ..Said::fine(text) })
}

fn path(place: &Place) -> PathBuf {
    place.root.join("docs").join("truth.md")
}

fn page() -> String {
    let rules: String = RULES.iter().map(section).collect();
    format!("{HEAD}{rules}{}{}{FOOT}", of_devices(), of_estimates())
}

/// What estimates say of themselves.
fn of_estimates() -> String {
    let row = |CaveatKind { name, says, remedy }: &CaveatKind| format!("| `{name}` | {says} | {remedy} |\n");
    let rows: String = CAVEATS.iter().map(row).collect();
    format!(
        "\n## What estimates say of themselves\n\n\
         These are caveats too, in the same list of a record's findings. They follow from what was estimated and not from evidence, so \
         they are found where estimates are made (`runtime/src/record/caveat.rs`), and `runs judge` leaves them as they are.\n\n\
         | caveat | what it says | what helps |\n|---|---|---|\n{rows}"
    )
}

/// What the rule `device` may find.
fn of_devices() -> String {
    let names: String = DeviceCaveat::NAMES.iter().map(|name| format!("- `{name}`\n")).collect();
    format!("\n## What `device` may find\n\n[gpu.md](gpu.md) has the bound of each.\n\n{names}")
}

fn section(rule: &Rule) -> String {
    let Rule { name, lie, looks, blind, remedy, test, .. } = rule;
    format!(
        "\n## `{name}`\n\n\
         | | |\n|---|---|\n\
         | the lie | {lie} |\n\
         | where it looks | {looks} |\n\
         | what it cannot see | {blind} |\n\
         | what an honest author does | {remedy} |\n\
         | the test that shows it | `{test}` |\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_rules_says_what_the_list_says() {
        let there = include_str!("../../docs/truth.md");
        assert!(there == page(), "docs/truth.md is stale: `cargo xtask truth` writes it anew");
    }

    #[test]
    fn the_page_of_devices_has_the_bound_of_every_caveat() {
        let page = include_str!("../../docs/gpu.md");
        for name in DeviceCaveat::NAMES {
            assert!(page.contains(&format!("`{name}`")), "docs/gpu.md has no rule of the caveat `{name}`");
        }
    }

    #[test]
    fn a_cell_of_the_page_is_one_cell() {
        for rule in RULES {
            for text in [rule.lie, rule.looks, rule.blind, rule.remedy] {
                assert!(!text.contains('|') && !text.contains('\n') && !text.contains("  "), "{}", rule.name);
            }
        }
    }
}
