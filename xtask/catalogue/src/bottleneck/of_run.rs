//! What limits the loaders and trainings of a run, by the experiments that it has made.

use anyhow::Result;
use weighbridge::data::{CaseRecord, CaseStatus, RunRecord, visible_in_line};
use weighbridge_loaders::contract::Experiment;

use crate::diagnosis::{LoaderExperiments, diagnose_loader};
use crate::report::{feeding, scaling};
use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;
use weighbridge_xtask::{pick, stop};

/// The sentences of a run, or of the latest of every suite: a line for each loader and training that
/// experiments were made on.
///
/// # Errors
/// A run that is not there or cannot be read; runs without experiments.
pub(super) fn sentences(typed: Option<&str>, place: &Place) -> Result<CommandOutput> {
    let picked = pick::runs(place, typed, None)?;
    let mut text = String::new();
    for manifest in &picked.runs {
        let run = place.runs().load(&manifest.id)?;
        let of_trainings = feeding::sentences(&run).into_iter().chain(scaling::sentences(&run));
        for sentence in of_loaders(&run).into_iter().chain(of_trainings) {
            text += &format!("{}\n", visible_in_line(&sentence));
        }
    }
    if text.is_empty() {
        return Err(stop::nothing(
            "no experiments were made: `WEIGHBRIDGE_EXPERIMENTS=1 cargo bench -- CV-1` makes them on the \
             loaders of a scenario, and `cargo bench -- --set loader-and-step` on loaders beside a training, \
             and `cargo bench -- --set ranks --param TRAIN-4.scaling=weak` on ranks",
        ));
    }
    Ok(CommandOutput { remarks: picked.remarks, ..CommandOutput::fine(text) })
}

/// Returns a sentence for each loader that experiments were made on: what limits it.
fn of_loaders(run: &RunRecord) -> Vec<String> {
    let measured = run.cases.iter().filter(|case| matches!(case.status, CaseStatus::Measured));
    let told = measured.filter_map(|case| {
        let took = experiments(case)?;
        let found = diagnose_loader(&took).map_or_else(|| none(&took), |found| found.to_string());
        Some(format!("{}: {found}", case.id))
    });
    told.collect()
}

fn none(took: &LoaderExperiments) -> String {
    let made = [took.in_memory, took.more_workers, took.without_transforms].iter().flatten().count();
    format!(
        "none of {made} experiments makes an epoch a tenth faster; \
         what is left is to fetch rows and to hand them over"
    )
}

fn experiments(case: &CaseRecord) -> Option<LoaderExperiments> {
    let took = |experiment: Experiment| Some(case.metric(&experiment.metric())?.estimate.as_ref()?.median);
    Some(LoaderExperiments {
        whole: took(Experiment::AsItIs)?,
        without_transforms: took(Experiment::WithoutTransforms),
        more_workers: took(Experiment::MoreWorkers),
        in_memory: took(Experiment::InMemory),
    })
}

#[cfg(test)]
mod tests {
    use weighbridge::data::Unit;

    use super::*;
    use crate::fixtures::{around, case, home, metric, run};

    fn tried(adapter: &str, took: &[(Experiment, f64)]) -> CaseRecord {
        let mut case = case("CV-1", adapter, &around(1.0));
        case.metrics.extend(took.iter().map(|(of, value)| metric(&of.metric(), Unit::SECONDS, *value)));
        case
    }

    #[test]
    fn each_loader_that_was_tried_has_a_sentence_and_others_have_none() {
        use Experiment::{AsItIs, InMemory, MoreWorkers, WithoutTransforms};
        let cases = vec![
            tried("Alone", &[(AsItIs, 0.01), (MoreWorkers, 0.006), (WithoutTransforms, 0.002)]),
            tried("Disk", &[(AsItIs, 0.01), (MoreWorkers, 0.006), (InMemory, 0.001)]),
            tried("Even", &[(AsItIs, 0.01), (MoreWorkers, 0.02)]),
            tried("Untried", &[]),
        ];
        let home = home();
        home.store(&run(1_000, cases));
        let said = sentences(None, &home.place).expect("a run with experiments").text;
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 3, "{said}");
        assert!(
            lines[0].contains(
                "Alone: the loader limits an epoch: it takes 10.0 ms, and 6.00 ms with more workers."
            ),
            "{said}"
        );
        assert!(
            lines[0]
                .ends_with("To do: add workers, until an epoch takes no less. Expected: 1.67 times as fast."),
            "{said}"
        );
        assert!(lines[1].contains("Disk: the disk limits an epoch"), "{said}");
        assert!(lines[2].contains("Even: none of 1 experiments"), "{said}");
    }

    #[test]
    fn a_run_without_experiments_says_how_they_are_made() {
        let home = home();
        home.store(&run(1_000, vec![case("CV-1", "Plain", &around(1.0))]));
        let said = sentences(None, &home.place).map(drop).unwrap_err().to_string();
        assert!(said.contains("WEIGHBRIDGE_EXPERIMENTS=1 cargo bench -- CV-1"), "{said}");
    }
}
