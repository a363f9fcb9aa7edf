//! Every point of the gate scenarios, and every tiny one of the others, runs on two batches with every
//! loader, and all loaders do the same work.

mod own;

use std::any::TypeId;
use std::num::NonZero;
use std::sync::Mutex;
use std::{iter, thread};

use weighbridge::__private::{Keep, Point, Registry, ScenarioEntry};
use weighbridge::{
    Bencher, Budget, Content, Equivalence, Error, Moments, Observation, Purpose, Settings, Work,
};
use weighbridge_checkpoints::contract::Checkpointer;
use weighbridge_inference as _; // or the linker drops what it registered
use weighbridge_loaders::prelude::*;
use weighbridge_training::training::OPERATOR;

use self::own::is_own;

const GATE: [&str; 6] = ["CV-1", "IO-1", "NLP-1", "PC-1", "PR-2", "TAB-1"];
const CANONICAL: [&str; 13] = [
    "CV-1", "CV-2", "DIST-1", "IO-1", "IO-2", "NLP-1", "NLP-2", "PC-1", "PC-2", "PR-1", "PR-2", "TAB-1",
    "TAB-2",
];

fn gate(registry: &Registry) -> Vec<&'static ScenarioEntry> {
    registry.scenarios().iter().copied().filter(|scenario| scenario.sets.contains(&"gate")).collect()
}

/// The points of a scenario that is not of the gate: all that its axes have with the variant, or the data,
/// that is tiny. Of the axes that imply their first value, at most one has another: all together would be
/// hundreds of a kind.
fn tiny_points(scenario: &ScenarioEntry) -> Vec<Point> {
    let axes = scenario.axes();
    let mut points = axes.iter().fold(vec![Point::default()], |points, axis| {
        let tiny: Vec<_> = axis.values.iter().filter(|value| value.text == "tiny").collect();
        let values = if tiny.is_empty() { axis.values.iter().collect() } else { tiny };
        let longer = |point: &Point| {
            let with = |value: &_| point.iter().chain([value]).cloned().collect::<Point>();
            values.iter().map(|value| with(*value)).collect::<Vec<_>>()
        };
        points.iter().flat_map(longer).collect()
    });
    points.retain(|point| {
        let others = axes.iter().filter(|axis| {
            axis.implied && point.get(axis.name).is_some_and(|value| value.text != axis.values[0].text)
        });
        let is_tiny = point.iter().any(|value| value.text == "tiny") && !has_many_ranks(point);
        is_tiny
            && others.count() < 2
            && is_of_this_build(point)
            && matches!((scenario.keep)(point), Keep::Yes)
    });
    points
}

/// Returns whether there are more ranks than two, which do what two do.
fn has_many_ranks(point: &Point) -> bool {
    point.get("ranks").is_some_and(|ranks| ranks.text.parse().is_ok_and(|ranks: usize| ranks > 2))
}

/// Returns whether no axis of the point names a framework of Python, which a user may have installed or not:
/// see [`is_own`].
fn is_of_this_build(point: &Point) -> bool {
    point.get("trainer").is_none_or(|trainer| ["ndarray", "reference"].contains(&&*trainer.text))
}

/// All points of a scenario, but for those that take long without optimisation and would show nothing new:
/// `large`, and other variants than the default with workers.
fn points(scenario: &ScenarioEntry) -> Vec<Point> {
    let axes = scenario.axes();
    let mut points = axes.iter().fold(vec![Point::default()], |points, axis| {
        let longer = |point: &Point| {
            let with = |value: &_| point.iter().chain([value]).cloned().collect::<Point>();
            axis.values.iter().map(with).collect::<Vec<_>>()
        };
        points.iter().flat_map(longer).collect()
    });
    points.retain(|point| {
        let text = |axis| &*point.get(axis).expect("every gate scenario has it").text;
        let is_default = text("variant") == axes[0].values[0].text;
        text("variant") != "large" && (is_default || text("workers") == "0")
    });
    points
}

fn is_loader(scenario: &ScenarioEntry) -> bool {
    scenario.contract.as_ref().is_some_and(|contract| (contract.id)() == TypeId::of::<dyn Loader>())
}

fn is_checkpointer(scenario: &ScenarioEntry) -> bool {
    scenario.contract.as_ref().is_some_and(|contract| (contract.id)() == TypeId::of::<dyn Checkpointer>())
}

/// Returns whether it trains a model: by a trainer of its own, or by one that a loader feeds.
fn is_training(scenario: &ScenarioEntry) -> bool {
    scenario.category == "Training"
}

/// Returns whether it predicts with a model.
fn is_inference(scenario: &ScenarioEntry) -> bool {
    scenario.category == "Inference"
}

fn smoke(scenario: &ScenarioEntry, loader: &mut dyn std::any::Any, point: &Point) -> Result<Work, Error> {
    let mut bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
    (scenario.run)(&mut bencher, Some(loader), point)?;
    let done = bencher.finish()?;
    check_names(scenario, &done.seen);
    // What checkpoints do beside other work has values and no samples, and so has a step that a loader feeds.
    let may_have_none = is_checkpointer(scenario) || is_training(scenario);
    if !(may_have_none && done.seen.samples.is_empty() && !done.seen.custom.is_empty()) {
        assert_eq!(done.seen.samples.len() as u64 * done.seen.iterations_per_sample, 2, "two batches");
    }
    Ok(done.work.expect("`load` hands in a work report"))
}

/// Names of metrics have these parts where another tool gives the rest: a profiler, `TensorStore`, Orbax.
const EXTERNAL: [&str; 3] = [OPERATOR, "/6_tensorstore/", "/9_other/"];

/// Holds every name of a record to one style: words of snake case, groups by a slash.
fn check_names(scenario: &ScenarioEntry, seen: &Observation) {
    let own = seen.custom.iter().map(|metric| &metric.name);
    let of_ranks = seen.ranks.iter().map(|metric| &metric.name);
    let blocks = seen.regions.iter().map(|region| &region.path);
    for name in own.chain(of_ranks).chain(blocks) {
        let is_external = EXTERNAL.iter().any(|part| name.contains(part));
        assert!(is_external || is_snake_case(name), "{}: the metric `{name}` is no snake case", scenario.id);
    }
}

fn is_snake_case(name: &str) -> bool {
    let is_of_word = |letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'_');
    name.split('/').all(|word| !word.is_empty() && word.bytes().all(is_of_word))
}

#[test]
fn a_name_in_prose_is_no_snake_case() {
    assert!(["set_up", "loss_at/64", "blocking/0_basics/time_s"].iter().all(|name| is_snake_case(name)));
    assert!(
        !["set-up", "phase: all", "loss at 64", "Loss", "a//b", ""].iter().any(|name| is_snake_case(name))
    );
}

/// Asserts that the moments of all fields are within this share of the field's scale.
fn near(found: &Content, expected: &Content, share: f64) {
    assert_eq!((found.elements, &found.fields), (expected.elements, &expected.fields));
    for (name, expected) in &expected.moments {
        let found = &found.moments[name];
        let scale = expected.min.abs().max(expected.max.abs());
        let parts = |moments: &Moments| [moments.mean(), moments.deviation(), moments.min, moments.max];
        for (found, expected) in parts(found).into_iter().zip(parts(expected)) {
            assert!((found - expected).abs() <= share * scale, "`{name}`: {found} instead of {expected}");
        }
    }
}

#[test]
fn the_gate_set_is_the_six() {
    let registry = Registry::collect().unwrap();
    let ids: Vec<&str> = gate(&registry).iter().map(|scenario| scenario.id).collect();
    assert_eq!(ids, GATE);
}

#[test]
fn the_canonical_set_is_the_thirteen_and_holds_the_gate_set() {
    let registry = Registry::collect().unwrap();
    let canonical = registry.scenarios().iter().filter(|scenario| scenario.sets.contains(&"canonical"));
    let ids: Vec<&str> = canonical.map(|scenario| scenario.id).collect();
    assert_eq!(ids, CANONICAL);
    assert!(GATE.iter().all(|id| CANONICAL.contains(id)));
}

#[test]
fn every_point_of_the_gate_runs_on_two_batches_and_all_loaders_agree() {
    let registry = Registry::collect().unwrap();
    let seen: usize =
        gate(&registry).into_iter().map(|scenario| agree(&registry, scenario, points(scenario))).sum();
    assert!(seen > 80, "only {seen} points ran");
}

#[test]
fn every_tiny_point_beyond_the_gate_runs_on_two_batches_and_all_loaders_agree() {
    let registry = Registry::collect().unwrap();
    // Servers are started and asked by tests of their own (`serve_tests.rs`).
    let is_meant = |id: &str| !GATE.contains(&id) && id != "SERVE-1";
    let beyond = registry.scenarios().iter().filter(|scenario| is_meant(scenario.id));
    let left = Mutex::new(beyond);
    let next = || left.lock().expect("whoever takes one does not panic").next();
    let some = || -> usize {
        iter::from_fn(next).map(|scenario| agree(&registry, scenario, tiny_points(scenario))).sum()
    };
    // Most of the time of this program is here: every processor takes the scenario that comes next.
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let seen: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..processors).map(|_| scope.spawn(some)).collect();
        threads.into_iter().map(|thread| thread.join().expect("all loaders agree")).sum::<usize>()
    });
    assert!(seen > 80, "only {seen} points ran");
}

/// Runs these points with every loader that is here, and gives how many times that was.
fn agree(registry: &Registry, scenario: &ScenarioEntry, points: Vec<Point>) -> usize {
    assert!(!points.is_empty(), "{} has no tiny variant", scenario.id);
    let mut seen = 0;
    for point in points {
        let done = |adapter: &weighbridge::__private::AdapterEntry| {
            smoke(scenario, &mut *(adapter.make)().unwrap(), &point)
        };
        let works: Vec<_> =
            registry.adapters_for(scenario).filter(|adapter| is_own(adapter)).map(done).collect();
        // A loader alone agrees with itself; `burn` may be the only other learner, and no part of this build.
        assert!(works.len() > usize::from(is_loader(scenario)), "{} {point}", scenario.id);
        // A checkpointer may not read the format of another.
        let compared = works.iter().find(|work| work.is_ok()).filter(|_| is_checkpointer(scenario));
        let reference = compared.unwrap_or(&works[0]);
        for work in &works {
            match (work, reference) {
                (Ok(work), Ok(reference)) => {
                    let (found, expected) = (&work.content, &reference.content);
                    // Two batches of an epoch in any order are not always the same two.
                    let in_order = !work.report.synchronised.ends_with("any order");
                    match scenario.equivalence() {
                        Equivalence::Approx(share) => near(found, expected, share),
                        // Such scenarios prove the rest themselves.
                        Equivalence::Shape => assert_eq!(
                            (&found.fields, found.elements, found.bytes),
                            (&expected.fields, expected.elements, expected.bytes)
                        ),
                        _ if !in_order => assert_eq!(found.fields, expected.fields),
                        _ => assert_eq!(found, expected, "{} {point}", scenario.id),
                    }
                    assert_eq!(work.report.input, reference.report.input, "{} {point}", scenario.id);
                    assert_eq!(
                        work.report.transforms, reference.report.transforms,
                        "{} {point}",
                        scenario.id
                    );
                    seen += 1;
                }
                // Real data may be absent where this runs.
                (Err(error), _) => assert!(error.is_skip(), "{} {point}: {error}", scenario.id),
                (Ok(_), Err(error)) => panic!("{} {point}: one loader alone says {error}", scenario.id),
            }
        }
    }
    seen
}

#[test]
fn a_tiny_variant_needs_at_most_64_mib() {
    let registry = Registry::collect().unwrap();
    let mut seen = 0;
    // A state and a model say how large they are, and an interpreter beside them is larger.
    let has_a_model = |one: &ScenarioEntry| is_training(one) || is_inference(one);
    for scenario in registry.scenarios().iter().filter(|one| !is_checkpointer(one) && !has_a_model(one)) {
        for point in tiny_points(scenario) {
            let needs = scenario
                .needs
                .and_then(|needs| needs(&point))
                .expect("a loader's scenario says what it needs");
            let workers = point.get("workers").map_or(0, |workers| workers.text.parse().unwrap_or(0));
            if workers == 0 {
                assert!(needs.memory <= 64 << 20, "{} {point}: {} MiB", scenario.id, needs.memory >> 20);
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} tiny points");
}

#[test]
fn a_smoke_run_of_a_default_point_needs_little_memory() {
    let cut = [
        PipelineSpec::images(&Images::new(10_000, 32, 64)).map(Normalize),
        PipelineSpec::table(&VariantTable::new(10_000, 100, 256)).map(Normalize),
        PipelineSpec::new(DataSpec::normal("data", 50_000, vec![64, 64]), 64).map(Normalize),
        PipelineSpec::images(&Images::new(5_000, 64, 64)).map(RandomCrop),
    ];
    for spec in cut {
        let cut = spec.cut_to(2).workers(2);
        assert_eq!(cut.elements().len() as u64, 2 * cut.needs().batch);
        assert!(cut.needs().memory < 256 << 20, "{:?}", cut.needs());
    }
}
