//! What runs of a suite of Orbax: the product of its options, inputs and meshes, point by point.

use std::collections::BTreeMap;
use std::fmt;

use weighbridge::suite::{Mistake, Node, Position, SuiteBenchmark, SuiteFile, TableKey, Value, WrittenText};
use weighbridge_checkpoints::workload::{DeviceMesh, State};

use super::options::{CheckpointText, JudgedOptions, OptionSet, OrbaxCase, OrbaxScenario};
use super::read::{OrbaxBenchmark, OrbaxSuite, read};
use super::state_text::StateText;

/// The values on the command line that override those of a suite.
#[derive(Clone, Debug, Default)]
pub(in crate::suite) struct Overrides {
    /// The state that is saved.
    pub(in crate::suite) input: Option<StateText>,
    /// The mesh that it lies on.
    pub(in crate::suite) mesh: Option<DeviceMesh>,
    /// The mesh that it was saved from, where it is loaded onto another.
    pub(in crate::suite) saved_from: Option<DeviceMesh>,
    /// Adapters beside Orbax.
    pub(in crate::suite) beside: Vec<String>,
}

/// The plan of a suite of Orbax.
#[derive(Debug)]
pub(in crate::suite) struct OrbaxPlan {
    /// The suite's name.
    name: String,
    /// The suite that runs; `None` if nothing does.
    pub(in crate::suite) suite: Option<SuiteFile>,
    /// Points that run: options, inputs and meshes. Each is a save and a load, or a load onto another mesh.
    pub(in crate::suite) points: usize,
    /// Reasons for which points are refused: what is missing, and how many points lack it.
    pub(in crate::suite) refused: BTreeMap<String, usize>,
    /// Reasons for which points are skipped, and how many.
    pub(in crate::suite) skipped: BTreeMap<String, usize>,
    /// Points that make no sense by the generator's own rule.
    pub(in crate::suite) dropped: usize,
    /// Planned points of which something is left out that is no part of the work: what, and how many.
    pub(in crate::suite) left_out: BTreeMap<String, usize>,
    /// Keys that nobody knows.
    pub(in crate::suite) ignored: Vec<Mistake>,
}

/// Plans a suite of Orbax. `lenient` ignores keys that nobody knows, as Orbax does.
///
/// # Errors
/// What is wrong in the suite, with its place.
pub(in crate::suite) fn plan(root: &Node, lenient: bool, over: &Overrides) -> Result<OrbaxPlan, Mistake> {
    let mut ignored = Vec::new();
    let suite = read(root, lenient.then_some(&mut ignored))?;
    let mut plan = OrbaxPlan {
        name: suite.name.clone(),
        suite: None,
        points: 0,
        refused: BTreeMap::new(),
        skipped: BTreeMap::new(),
        dropped: 0,
        left_out: BTreeMap::new(),
        ignored,
    };
    let mut benchmarks = Vec::new();
    for benchmark in &suite.benchmarks {
        for point in product(&benchmark.options) {
            let options = OptionSet { point: &point };
            match options.judged(benchmark) {
                JudgedOptions::Dropped => plan.dropped += 1,
                JudgedOptions::Refused(why) => *plan.refused.entry(why).or_default() += places(&suite, over),
                JudgedOptions::Runs(case) => {
                    let before = plan.points;
                    benchmarks.extend(plan.with_inputs(&suite, benchmark, &case, over));
                    if let Some(option) = options.trace().filter(|_| plan.points > before) {
                        let what = format!("a trace of a profiler, for `{option}`");
                        *plan.left_out.entry(what).or_default() += plan.points - before;
                    }
                }
            }
        }
    }
    // A baseline has a name here, and no path: the last part of the path.
    let name = |path: &Option<String>| {
        path.as_ref().map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned())
    };
    plan.suite = (!benchmarks.is_empty()).then(|| SuiteFile {
        name: suite.name.clone(),
        repeats: Some(suite.repeats),
        profile: None,
        baseline: name(&suite.baseline),
        save_baseline: name(&suite.save_baseline),
        benchmarks,
    });
    Ok(plan)
}

/// Returns the number of pairs of an input and a mesh.
fn places(suite: &OrbaxSuite, over: &Overrides) -> usize {
    let inputs = if over.input.is_some() { 1 } else { suite.inputs.len().max(1) };
    let meshes = if over.mesh.is_some() { 1 } else { suite.meshes.len().max(1) };
    inputs * meshes
}

impl OrbaxPlan {
    /// A benchmark for each input and mesh that fit each other.
    fn with_inputs(
        &mut self,
        suite: &OrbaxSuite,
        benchmark: &OrbaxBenchmark,
        case: &OrbaxCase,
        over: &Overrides,
    ) -> Vec<SuiteBenchmark> {
        let inputs: Vec<Result<StateText, String>> = match &over.input {
            Some(_) if let Some(option) = case.checkpoint.as_ref().and_then(CheckpointText::checks) => {
                vec![Err(format!(
                    "digests of the state that stands in: `{option}` has those of another checkpoint"
                ))]
            }
            Some(input) => vec![Ok(input.clone())],
            None if let Some(checkpoint) = &case.checkpoint => vec![checkpoint.text()],
            None if suite.inputs.is_empty() => vec![Err("a state to save: none is given".to_owned())],
            None => suite.inputs.iter().map(StateText::of).collect(),
        };
        // A file of cuts says what they are of.
        let meshes = |input: &Result<StateText, String>| -> Vec<Result<DeviceMesh, String>> {
            let of_cuts = input.as_ref().ok().and_then(|input| input.mesh.as_ref());
            match over.mesh.as_ref().or(of_cuts) {
                Some(mesh) => vec![Ok(mesh.clone())],
                None if suite.meshes.is_empty() => vec![Ok(DeviceMesh::NONE)],
                None => suite.meshes.iter().map(|mesh| mesh.0.parse()).collect(),
            }
        };
        let from = over.saved_from.clone().unwrap_or(DeviceMesh::NONE);
        let mut found = Vec::new();
        for input in &inputs {
            for mesh in &meshes(input) {
                let (input, mesh) = match (input, mesh) {
                    (Err(why), _) | (_, Err(why)) => {
                        *self.refused.entry(why.clone()).or_default() += 1;
                        continue;
                    }
                    (Ok(input), Ok(mesh)) => (input, mesh),
                };
                let place = benchmark.place;
                let text = mesh.to_string();
                let (scenario, saved_from, lies) = match &case.scenario {
                    OrbaxScenario::RoundTrip => {
                        let operations = option("operation", &["save", "load"], place);
                        ("CKPT-1", mesh, vec![option("mesh", &[&text], place), operations])
                    }
                    OrbaxScenario::Arrays => {
                        let operations = option("operation", &["save", "metadata", "load"], place);
                        ("CKPT-8", mesh, vec![option("mesh", &[&text], place), operations])
                    }
                    OrbaxScenario::Cancel => ("CKPT-6", mesh, vec![option("mesh", &[&text], place)]),
                    OrbaxScenario::Manage(operations) => {
                        let operations = option("operation", operations, place);
                        ("CKPT-5", mesh, vec![option("mesh", &[&text], place), operations])
                    }
                    of @ (OrbaxScenario::Broadcast | OrbaxScenario::Replicas) => match mesh.axes() {
                        [(replica, replicas), (model, devices)]
                            if replica == "replica" && model == "model" =>
                        {
                            let [replicas, devices] = [replicas, devices].map(usize::to_string);
                            let axes = [("replicas", &*replicas), ("model", &*devices)];
                            let axes = axes.map(|(axis, value)| option(axis, &[value], place)).to_vec();
                            let is_load = matches!(of, OrbaxScenario::Broadcast);
                            (if is_load { "CKPT-3" } else { "CKPT-4" }, mesh, axes)
                        }
                        _ => {
                            let why = format!(
                                "a mesh of the axes replica and model, as the generator asks for: \
                                 it is {mesh}"
                            );
                            *self.refused.entry(why).or_default() += 1;
                            continue;
                        }
                    },
                    OrbaxScenario::Load => ("CKPT-7", mesh, vec![option("onto", &[&text], place)]),
                    OrbaxScenario::Reshard => {
                        let from_mesh = option("mesh", &[&from.to_string()], place);
                        ("CKPT-2", &from, vec![from_mesh, option("onto", &[&text], place)])
                    }
                };
                // What lies somewhere says itself what it has, when it is opened.
                let nothing = State::Tensors { tensors: Vec::new(), seed: 0 };
                let state = input.state.as_ref().unwrap_or(&nothing);
                if let Err(why) = mesh.holds(state).and_then(|()| saved_from.holds(state)) {
                    *self.skipped.entry(why).or_default() += 1;
                    continue;
                }
                self.points += 1;
                let mut options = vec![option("variant", &[&input.text], place)];
                options.extend(lies);
                options.extend(case.axes.iter().map(|(axis, value)| option(axis, &[value], place)));
                let adapters = std::iter::once("Orbax").chain(over.beside.iter().map(String::as_str));
                found.push(SuiteBenchmark {
                    scenario: WrittenText { text: scenario.to_owned(), place },
                    adapters: adapters.map(|name| WrittenText { text: name.to_owned(), place }).collect(),
                    options,
                });
            }
        }
        found
    }
}

fn option(axis: &str, values: &[&str], place: Position) -> (TableKey, Vec<WrittenText>) {
    let values = values.iter().map(|text| WrittenText { text: (*text).to_owned(), place }).collect();
    (TableKey { name: axis.to_owned(), place }, values)
}

/// Every combination of the values of the options.
fn product(options: &[(TableKey, Vec<Node>)]) -> Vec<Vec<(&str, &Value)>> {
    let mut points = vec![Vec::new()];
    for (key, values) in options {
        let longer = |point: &Vec<_>| -> Vec<Vec<(&str, &Value)>> {
            values.iter().map(|value| [&point[..], &[(key.name.as_str(), &value.value)]].concat()).collect()
        };
        points = points.iter().flat_map(longer).collect();
    }
    points
}

impl fmt::Display for OrbaxPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
        let (planned, refused, skipped) = (self.points, sum(&self.refused), sum(&self.skipped));
        writeln!(
            f,
            "`{}`: {planned} points planned, {refused} refused, {skipped} skipped, {} dropped",
            self.name, self.dropped
        )?;
        for (why, count) in &self.refused {
            writeln!(f, "  refused {count}: there is not yet, or not here: {why}")?;
        }
        for (why, count) in &self.skipped {
            writeln!(f, "  skipped {count}: {why}")?;
        }
        if self.dropped > 0 {
            writeln!(f, "  dropped {}: the generator takes no such combination of options", self.dropped)?;
        }
        for (what, count) in &self.left_out {
            writeln!(f, "  left out of {count}: {what}")?;
        }
        for key in &self.ignored {
            writeln!(f, "  ignored: {key}")?;
        }
        Ok(())
    }
}
