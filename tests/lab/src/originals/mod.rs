//! `originals`: bench files in criterion's and divan's style give the figures that criterion and divan give.
//!
//! The same bodies are built with each of them and with what stands for it here. A try starts three fresh
//! processes: the original, the compatible one, the original again. So each try holds the compatible median
//! against the original's, and the original's against itself, which tells how far apart two processes are on
//! this machine whoever measures.

mod judge;
mod side;

use anyhow::Result;
use weighbridge::data::Exit;

use crate::cli::Originals;
use crate::output::Output;
use crate::place::Place;
use crate::programs::{build, of_target};
use judge::{OriginalCase, page};
use side::{HarnessStyle, OriginalSide};

/// Runs the command.
///
/// # Errors
/// When a bench target does not build, and when what a process measured cannot be read.
pub(crate) fn run(args: &Originals, place: &Place) -> Result<Output> {
    let build_side = |package: &str, side: &str| {
        let targets = HarnessStyle::ALL.iter().flat_map(|style| ["--bench".to_owned(), style.target(side)]);
        let targets: Vec<String> = targets.collect();
        let line: Vec<&str> =
            ["bench", "--no-run"].into_iter().chain(targets.iter().map(String::as_str)).collect();
        build(&place.lab().join(package), &place.target, &line)
    };
    let (originals, drop_ins) = (build_side("originals", "original")?, build_side("drop-ins", "drop_in")?);
    let mut cases = Vec::new();
    for style in HarnessStyle::ALL {
        let sides = (
            OriginalSide::original(style, of_target(&originals, &style.target("original"))?.path),
            OriginalSide::compatible(of_target(&drop_ins, &style.target("drop_in"))?.path),
        );
        for body in style.bodies() {
            let name = format!("{}/{body}", style.name());
            if args.filters.is_empty() || args.filters.iter().any(|filter| name.contains(filter)) {
                cases.push((name, *body, sides.clone()));
            }
        }
    }
    anyhow::ensure!(!cases.is_empty(), "no case is called so: `originals` without a filter runs all");
    let folder = place.target.join("tmp").join(format!("originals-{}", std::process::id()));
    let mut seen: Vec<OriginalCase> = cases.iter().map(|(name, ..)| OriginalCase::new(name)).collect();
    for number in 1..=args.tries {
        // All cases once, then all again: a neighbour that is busy for a while falls on one try of each.
        for ((_, body, (original, compatible)), case) in cases.iter().zip(&mut seen) {
            let before = original.median(body, &folder)?;
            let between = compatible.median(body, &folder)?;
            case.add(before, between, original.median(body, &folder)?);
        }
        eprintln!("try {number} of {}", args.tries);
    }
    drop(std::fs::remove_dir_all(&folder));
    let exit = if seen.iter().all(OriginalCase::holds) { Exit::Fine } else { Exit::Failed };
    Ok(Output { exit, ..Output::fine(page(&seen)) })
}
