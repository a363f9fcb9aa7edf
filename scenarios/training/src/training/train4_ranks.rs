//! TRAIN-4: one training on 1, 2, 4 or 8 ranks.

use std::time::Instant;

use serde_json::Value;
use weighbridge::prelude::*;
use weighbridge::{Requirements, WorkReport};
use weighbridge_data::ranks::{AnswerPlace, ClosedTogether, LaunchedRanks, at_once};
use weighbridge_loaders::distribution::{Band, WorkerPool};

use super::preset::Preset;
use super::rank_proof::{TrainingRank, prove_ranks};
use crate::contract::{
    AnsweringTraining, Material, NotedSteps, RemoteTraining, Trainer, draw_epoch, open_material,
    tell_rank_phases,
};
use crate::workload::{Compilation, GradientExchange, Scaling, TrainingRanks, TrainingSpec};

/// The axes of TRAIN-4.
#[derive(Clone, Debug, Sweep)]
struct RanksAxes {
    #[sweep(
        vit5_tiny = Preset::Vit5Tiny,
        gpt_tiny = Preset::GptTiny,
        mlp_tiny = Preset::MlpTiny,
        tiny = Preset::ForTests
    )]
    variant: Preset,
    #[sweep(1, 2, 4, 8)]
    ranks: usize,
    #[sweep(all, eager = Compilation::Eager, compiled = Compilation::Compiled)]
    mode: Compilation,
    #[sweep(implied, strong = Scaling::Strong, weak = Scaling::Weak)]
    scaling: Scaling,
    #[sweep(
        implied,
        apart = GradientExchange::Apart,
        overlapped = GradientExchange::Overlapped,
        sharded = GradientExchange::Sharded
    )]
    communication: GradientExchange,
}

/// Steps of one training on 1, 2, 4 or 8 ranks, whose gradients are averaged in every step.
///
/// What do more ranks bring, and what does their exchange of gradients cost? Each rank has the whole model
/// and a share of every batch; after the way back all ranks average their gradients, and each changes its
/// weights by the mean. `scaling` says what stays the same: the batch of all ranks together (`strong`), or
/// that of each (`weak`). `communication` is `apart`, a call of its own after the way back, so that it is a
/// phase, or `overlapped`, as the system does it by itself; with `sharded` each rank has a shard of weights,
/// gradients and the optimiser's state alone, by the framework's own means (`fully_shard` of `PyTorch`). A
/// rank of a framework is a process with one thread for its numbers; ranks of a trainer in Rust are threads
/// of one process, whose products take all processors, also with one rank.
///
/// Timed: the order to every rank, its step with the exchange, waiting for the last one. Not timed: starting
/// processes, meeting for the first time, building and compiling the model. Then the ranks run steps without
/// orders, and steps phase by phase: `rank/step_time` and `rank/step/PHASE` are told for every rank, and
/// stand for the slowest. Every repeat proves equal work: the settings and the first weights of each rank,
/// the losses and logits of its own share, gradients averaged, and weights after three steps and after the
/// timed ones, which are equal on all ranks bit by bit and agree with a training in one place on whole
/// batches in `f64`.
#[scenario(id = "TRAIN-4", category = "Training", sets = ["ranks"], equivalence = shape,
    ranks = "collective", filter = fits, needs = needs, describe = describe)]
fn ranks(bencher: &mut Bencher, trainer: &mut dyn Trainer, axes: RanksAxes) -> Result<()> {
    let RanksAxes { variant, ranks, mode, scaling, communication } = axes;
    let preset = if bencher.is_smoke() { Preset::ForTests } else { variant };
    let asked = TrainingRanks::new(ranks, communication);
    train_on_ranks(bencher, trainer, mode, asked, &of_all(preset, ranks, scaling))
}

/// The training of all ranks together.
fn of_all(preset: Preset, ranks: usize, scaling: Scaling) -> TrainingSpec {
    let spec = preset.spec();
    // Eight ranks have no share of the four samples that tests take.
    let batch = if preset == Preset::ForTests { 8 } else { spec.batch };
    let times = if scaling == Scaling::Weak { ranks } else { 1 };
    TrainingSpec { batch: batch * times, ..spec }
}

/// The scenario with a training that need not be one of those here, as [`train`](super::train) is for one
/// rank.
///
/// # Errors
/// What is impossible in the training, declined, or not equal work; a rank that fails, by its number.
pub fn train_on_ranks(
    bencher: &Bencher,
    trainer: &mut dyn Trainer,
    mode: Compilation,
    asked: TrainingRanks,
    spec: &TrainingSpec,
) -> Result<()> {
    asked.check(spec)?;
    let (spec, material) = open_material(bencher, spec)?;
    let (data, weights) = (&material.data, &material.weights);
    let mut launched = LaunchedRanks::meet(bencher, asked.count)?;
    if !launched.is_first() {
        follow(trainer, &mut launched, mode, asked, &spec, &material);
        return data.check_unchanged();
    }
    let place = launched.order(&Value::Null)?;
    let own =
        bencher.open(|| trainer.open_ranks(&spec, mode, TrainingRanks { place, ..asked }, data, weights));
    let ranks = launched.join(own, |line, opened| Ok(Box::new(RemoteTraining::new(line, &opened)?) as _))?;
    let mut ranks = ClosedTogether(ranks);
    let ranks = &mut ranks.0;
    if ranks.len() != asked.count {
        let what = format!("{} ranks were asked for, and the trainer opened {}", asked.count, ranks.len());
        return Err(weighbridge::Error::new(what));
    }
    let report = ranks[0].executed().report(data, ranks[0].entry_point());
    bencher.work(WorkReport { workers: asked.count as u64, ..report });
    bencher.flops(spec.flops()?.computed() * spec.batch as u64);
    let (first, mut notes) = (draw_epoch(), vec![Vec::new(); ranks.len()]);
    std::thread::scope(|scope| {
        let ranks = ranks.iter_mut().zip(&mut notes).map(|(rank, notes)| {
            (Box::new(NotedSteps::from(first, &mut **rank, notes)) as Box<_>, Band::WHOLE)
        });
        bencher.stream(&mut WorkerPool::start(scope, "rank", ranks.collect())?)
    })?;
    let noted = at_once(ranks, |_, rank| rank.noted())?;
    let timed: Vec<_> = noted.into_iter().zip(notes).map(|(noted, notes)| noted.unwrap_or(notes)).collect();
    prove_ranks(ranks, &timed, asked, &spec, &material)?;
    tell(bencher, ranks, &spec)
}

/// Opens this process's own ranks, as rank 0 of the launch asks for it, and answers for them.
fn follow(
    trainer: &mut dyn Trainer,
    launched: &mut LaunchedRanks,
    mode: Compilation,
    asked: TrainingRanks,
    spec: &TrainingSpec,
    material: &Material,
) {
    let rank = launched.rank();
    while let Some(order) = launched.next_order() {
        let asked = TrainingRanks { place: Some(order.place), ..asked };
        let opened = trainer.open_ranks(spec, mode, asked, &material.data, &material.weights);
        let noting = opened.map(|ranks| ranks.into_iter().map(AnsweringTraining::new).collect());
        launched.serve(noting, |index, training, asked| training.answer(AnswerPlace { rank, index }, asked));
    }
}

/// Steps of each rank whose phases are told, after those that find what only phases need.
const PHASED: usize = 16;
const UNSEEN: usize = 2;

/// Tells the steps of each rank: without orders in between by the clock of this process, and phase by phase
/// by its own.
fn tell(bencher: &Bencher, ranks: &mut [TrainingRank<'_>], spec: &TrainingSpec) -> Result<()> {
    let steps = PHASED.min(spec.steps / 2).max(1);
    let skip = UNSEEN.min(spec.steps - steps);
    at_once(ranks, |_, rank| rank.train(true, skip))?;
    let free = at_once(ranks, |_, rank| {
        let begun = Instant::now();
        rank.train(false, steps)?;
        Ok(begun.elapsed() / steps as u32)
    })?;
    let phases = at_once(ranks, |_, rank| rank.phases(skip, steps))?;
    tell_rank_phases(bencher, &free, &phases)
}

/// Refuses ranks that cannot be the same training, such as those that do not divide the batch, for the plan.
fn fits(axes: &RanksAxes) -> Result<(), String> {
    let RanksAxes { variant, ranks, scaling, communication, .. } = axes;
    let asked = TrainingRanks::new(*ranks, *communication);
    asked.check(&of_all(*variant, *ranks, *scaling)).map_err(|error| error.to_string())
}

/// Returns what a point needs, for the plan: on every rank the model, and all the data.
fn needs(axes: &RanksAxes) -> Requirements {
    let RanksAxes { variant, ranks, scaling, .. } = axes;
    let of_rank = of_all(*variant, 1, *scaling).needs();
    Requirements { memory: of_rank.memory * *ranks as u64, ..of_rank }
}

/// Returns the description of a point, for listings.
fn describe(axes: &RanksAxes) -> String {
    let RanksAxes { variant, ranks, mode, scaling, communication } = axes;
    let spec = of_all(*variant, *ranks, *scaling);
    format!(
        "{}, {mode}, on {ranks} ranks ({scaling} scaling), communication {communication}",
        spec.describe()
    )
}

#[cfg(test)]
mod tests {
    use weighbridge::ErrorKind;
    use weighbridge_loaders::contract::changed_loader::bencher;

    use super::*;
    use crate::adapters::native::{NdarrayTrainer, ReferenceTrainer};
    use crate::training::liars::Other;
    use crate::training::rank_liars::{RankLiar, RankLie};

    fn trained(trainer: &mut dyn Trainer, count: usize) -> Result<weighbridge::RepeatResult> {
        let bencher = bencher();
        let asked = TrainingRanks::new(count, GradientExchange::Apart);
        train_on_ranks(
            &bencher,
            trainer,
            Compilation::Eager,
            asked,
            &of_all(Preset::ForTests, count, Scaling::Strong),
        )?;
        bencher.finish()
    }

    fn refused(lie: RankLie, count: usize) -> String {
        trained(&mut RankLiar(lie), count).unwrap_err().to_string()
    }

    #[test]
    fn honest_ranks_train_one_model_and_each_tells_its_steps_with_communication_as_a_phase() {
        let trainers: [&mut dyn Trainer; 2] = [&mut NdarrayTrainer, &mut ReferenceTrainer];
        for trainer in trainers {
            for count in [1, 2, 4, 8] {
                let done = trained(trainer, count).unwrap();
                assert_eq!(done.work.unwrap().report.workers, count as u64);
                let told: Vec<&str> = done.seen.ranks.iter().map(|metric| metric.name.as_str()).collect();
                let phases = ["data", "forward", "backward", "communication", "optimiser", "all"];
                assert_eq!(told[0], "rank/step_time");
                assert_eq!(told[1..], phases.map(|phase| format!("rank/step/{phase}")));
                for metric in &done.seen.ranks {
                    assert_eq!(metric.values.len(), count, "{}", metric.name);
                    assert!(metric.values.iter().all(Option::is_some), "{metric:?}");
                }
                assert!(done.seen.elements.is_multiple_of(8), "whole batches of all ranks are counted");
            }
        }
    }

    #[test]
    fn a_rank_that_steps_by_its_own_gradients_is_refused_also_where_it_does_so_only_when_it_is_timed() {
        for lie in [RankLie::SkipsTheExchange, RankLie::SkipsTheExchangeWhenTimed] {
            for count in [2, 4] {
                let said = refused(lie, count);
                let due =
                    format!("that were done have left other weights on rank {} than on rank 0", count - 1);
                assert!(said.contains(&due), "{lie:?}: {said}");
            }
        }
        let said = refused(RankLie::AllSkipTheExchange, 2);
        assert!(said.contains("the ranks do not train one model"), "{said}");
    }

    #[test]
    fn ranks_that_take_other_shares_than_their_own_are_refused() {
        let said = refused(RankLie::TheSameShareTwice, 2);
        assert!(
            said.contains("the loss of step 0 of those that were timed is not the reference's"),
            "{said}"
        );
        let said = refused(RankLie::AnothersShare, 4);
        assert!(
            said.starts_with("rank ")
                && said.contains("of 4 (from 0): the logits of its share of the first step is not"),
            "{said}"
        );
        let said = refused(RankLie::TheWholeBatch, 2);
        assert!(said.contains("the logits of its share of the first step has"), "{said}");
    }

    #[test]
    fn ranks_of_another_training_and_fewer_ranks_than_asked_are_refused() {
        let said = refused(RankLie::OtherWeights, 2);
        assert!(said.contains("rank 1 of 2 (from 0): the training begins with other weights"), "{said}");
        let said = refused(RankLie::OneIsMissing, 2);
        assert!(said.contains("2 ranks were asked for, and the trainer opened 1"), "{said}");
        let why = trained(&mut Other(|_| {}), 2).unwrap_err();
        assert!(
            why.is_skip() && why.to_string().contains("ranks 2: it trains in one process alone"),
            "{why}"
        );
    }

    /// One that leaves with the others, or says that it has waited for them in vain.
    struct LeavingRank<'a>(&'a std::sync::Mutex<[usize; 2]>, &'a std::sync::Condvar);

    impl Drop for LeavingRank<'_> {
        fn drop(&mut self) {
            let mut left = self.0.lock().unwrap();
            left[0] += 1;
            self.1.notify_all();
            let patience = std::time::Duration::from_secs(30);
            let (mut left, waited) = self.1.wait_timeout_while(left, patience, |left| left[0] < 3).unwrap();
            left[1] += usize::from(waited.timed_out());
        }
    }

    #[test]
    fn ranks_that_wait_for_each_other_when_they_are_closed_do_not_wait_in_vain() {
        let (left, changed) = (std::sync::Mutex::new([0, 0]), std::sync::Condvar::new());
        drop(ClosedTogether((0..3).map(|_| LeavingRank(&left, &changed)).collect()));
        assert_eq!(*left.lock().unwrap(), [3, 0]);
    }

    #[test]
    fn a_rank_that_hangs_or_dies_in_an_exchange_is_named_and_the_next_training_runs() {
        let ends = [
            (RankLie::Hangs, ErrorKind::Timeout, "it said nothing"),
            (RankLie::Dies, ErrorKind::Exit(9), "the worker exited with code 9"),
        ];
        for (lie, kind, why) in ends {
            let told = trained(&mut RankLiar(lie), 4).unwrap_err();
            assert_eq!(told.kind(), &kind);
            assert!(told.to_string().starts_with(&format!("rank 3 of 4 (from 0): {why}")), "{told}");
        }
        trained(&mut NdarrayTrainer, 4).unwrap();
    }

    #[test]
    fn a_batch_that_the_ranks_do_not_divide_is_refused_in_the_plan() {
        let plan = |ranks| {
            let (scaling, communication) = (Scaling::Strong, GradientExchange::Apart);
            fits(&RanksAxes {
                variant: Preset::Vit5Tiny,
                ranks,
                mode: Compilation::Eager,
                scaling,
                communication,
            })
        };
        assert_eq!(plan(3).unwrap_err(), "`ranks` 3 do not divide `batch` 32");
        assert!(plan(8).is_ok());
        let weak = of_all(Preset::Vit5Tiny, 4, Scaling::Weak);
        assert_eq!((weak.batch, of_all(Preset::Vit5Tiny, 4, Scaling::Strong).batch), (128, 32));
    }
}
