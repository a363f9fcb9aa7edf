//! What predictors promise, and what becomes of those that do not keep it.

use std::time::Duration;

use weighbridge::{Bencher, Budget, Purpose, RepeatResult, Result, Settings};
use weighbridge_data::Cache;
use weighbridge_training::workload::model::{Activation, Dimensions, Layer, Model, Shape};

use super::prediction_liars::{LyingPredictor, PredictionLie};
use super::{generate, predict, prove_calls};
#[cfg(feature = "candle")]
use crate::adapters::native::CandlePredictor;
use crate::adapters::native::{HandModel, NdarrayPredictor, ReferencePredictor};
use crate::contract::{OpenModel, Predict, Predictor, greatest};
use crate::workload::{
    Generation, ModelInput, NamedModel, PredictionMode, PredictionPrecision, PredictionSpec, drawn_input,
};

fn bencher() -> Bencher {
    let min_time = Duration::from_nanos(1);
    Bencher::new(Settings::new(Purpose::Measure, Budget { warmup: 1, batches: 30, min_time, max_time: None }))
}

fn small() -> PredictionSpec {
    PredictionSpec { cut: Some(40), ..PredictionSpec::new(NamedModel::ForTests, 3) }
}

fn generating(cached: bool) -> PredictionSpec {
    let spec = PredictionSpec::new(NamedModel::DecoderForTests, 2);
    PredictionSpec { cut: Some(8), ..spec.generating(Generation { prompt: 4, tokens: 5, cached }) }
}

/// What the scenarios do without the peak of the machine, which takes a program of tests long.
fn predicted(predictor: &mut dyn Predictor, spec: &PredictionSpec) -> Result<RepeatResult> {
    let bencher = bencher();
    prove_calls(&bencher.predict(predictor, PredictionMode::Eager, spec)?)?;
    bencher.finish()
}

/// A small network of convolutions, with every layer that ResNet-50 has.
fn picture() -> Model {
    let conv = |to, kernel, stride| Layer::Conv { to, kernel, stride };
    let layers = vec![
        conv(4, 3, 2),
        Layer::BatchNorm { epsilon: 1e-5 },
        Layer::Relu,
        Layer::MaxPool { kernel: 3, stride: 2 },
        Layer::Projected { body: vec![conv(6, 1, 1)], around: vec![conv(6, 3, 1)] },
        Layer::MeanPool,
        Layer::Linear { to: 3 },
    ];
    Model { input: Shape::Grid { rows: 9, columns: 7, channels: 3 }, layers }
}

fn native() -> Vec<Box<dyn Predictor>> {
    vec![
        Box::new(ReferencePredictor),
        Box::new(NdarrayPredictor),
        #[cfg(feature = "candle")]
        Box::new(CandlePredictor),
    ]
}

#[test]
fn native_predictors_answer_as_the_reference_does_for_models_of_every_kind() {
    for mut predictor in native() {
        let mlp = Dimensions::Mlp { inputs: 7, hidden: vec![5], activation: Activation::Relu, classes: 3 };
        let decoder = PredictionSpec::new(NamedModel::DecoderForTests, 2);
        let of = |model| PredictionSpec { model, cut: Some(24), ..small() };
        for spec in [small(), of(picture()), of(mlp.model().unwrap()), decoder] {
            predicted(&mut *predictor, &PredictionSpec { cut: Some(24), ..spec }).unwrap();
        }
        predicted(&mut *predictor, &generating(true)).unwrap();
        predicted(&mut *predictor, &generating(false)).unwrap();
    }
}

#[test]
fn calls_say_what_the_first_one_and_the_warm_up_take_beside_memory_operations_and_a_peak() {
    let bencher = bencher();
    predict(&bencher, &mut NdarrayPredictor, PredictionMode::Eager, &small()).unwrap();
    let done = bencher.finish().unwrap();
    let names: Vec<&str> = done.seen.custom.iter().map(|metric| metric.name.as_str()).collect();
    let due = [
        "first_call",
        "warm_up",
        "warm_up_calls",
        "memory/peak",
        "memory/model",
        "memory/call",
        "call_p50",
        "call_p90",
        "call_p99",
        "call_p999",
        "operations_per_prediction",
        "peak_flops",
        "peak_share",
    ];
    // Whether calls are so many that they bear a p99.9 out is the machine's.
    assert!(due.iter().all(|name| *name == "call_p999" || names.contains(name)), "{names:?}");
    let bencher = self::bencher();
    generate(&bencher, &mut NdarrayPredictor, PredictionMode::Eager, &generating(true)).unwrap();
    let generated = bencher.finish().unwrap();
    let names: Vec<&str> = generated.seen.custom.iter().map(|metric| metric.name.as_str()).collect();
    for name in ["time_to_first_token", "time_per_token", "ties"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(done.seen.flops > 0);
}

#[test]
fn prompts_of_their_own_lead_to_ids_of_their_own() {
    for (model, prompt) in [(NamedModel::DecoderForTests, 4), (NamedModel::GptTiny, 32)] {
        let generation = Generation { prompt, tokens: 1, cached: true };
        let spec = PredictionSpec::new(model, 8).generating(generation);
        let weights = Cache::from_env().open(spec.weights().unwrap().data()).unwrap();
        let mut reference = HandModel::<f64>::open(&spec, &weights).unwrap();
        let ModelInput::Ids(prompts) = drawn_input(spec.input(), 8, 5, 0) else { panic!("they are ids") };
        let logits = reference.prefill(&prompts, 8).unwrap();
        let mut ids: Vec<i32> = logits.chunks(logits.len() / 8).map(greatest).collect();
        ids.sort_unstable();
        ids.dedup();
        assert!(ids.len() >= 3, "{model}: 8 prompts lead to {ids:?} alone");
    }
}

#[test]
fn what_a_system_in_rust_has_not_is_declined_by_name() {
    for (mode, precision, named) in [
        (PredictionMode::Compiled, PredictionPrecision::F32, "mode compiled"),
        (PredictionMode::Eager, PredictionPrecision::Bf16, "precision bf16"),
    ] {
        let spec = PredictionSpec { precision, ..small() };
        for mut predictor in native().split_off(1) {
            let why = predict(&bencher(), &mut *predictor, mode, &spec).unwrap_err();
            assert!(why.is_skip() && why.to_string().contains(named), "{why}");
        }
    }
}

#[test]
fn answers_from_memory_of_zeros_or_of_a_part_of_the_batch_are_refused_and_an_honest_twin_is_not() {
    predicted(&mut LyingPredictor(PredictionLie::Honest), &small()).unwrap();
    for lie in [
        PredictionLie::TellsTheLastAnswer,
        PredictionLie::RemembersAfter(20),
        PredictionLie::Zeros,
        PredictionLie::OneOfTheBatch,
    ] {
        let said = predicted(&mut LyingPredictor(lie), &small()).unwrap_err().to_string();
        assert!(said.contains("of those that were timed is not the reference's"), "{lie:?}: {said}");
    }
}

#[test]
fn calls_that_were_left_out_are_found_among_those_that_were_noted() {
    let spec = PredictionSpec { cut: Some(200), ..small() };
    let said = predicted(&mut LyingPredictor(PredictionLie::LeavesOutTheFourth), &spec);
    let said = said.unwrap_err().to_string();
    assert!(said.contains("of those that were timed is not the reference's"), "{said}");
}

#[test]
fn another_precision_than_was_asked_for_is_refused_with_both() {
    let said = predicted(&mut LyingPredictor(PredictionLie::OtherPrecision), &small());
    let said = said.unwrap_err().to_string();
    assert!(said.contains("`precision` is bf16 where f32 is asked for"), "{said}");
}

#[test]
fn ids_that_are_not_those_of_the_greatest_logit_are_refused() {
    let honest = &mut LyingPredictor(PredictionLie::Honest);
    predicted(honest, &generating(true)).unwrap();
    let said = predicted(&mut LyingPredictor(PredictionLie::CountsOn), &generating(true));
    let said = said.unwrap_err().to_string();
    assert!(said.contains("of those that were timed is not the reference's"), "{said}");
}
