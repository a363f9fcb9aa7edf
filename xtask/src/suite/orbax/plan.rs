//! What runs of a suite of Orbax: the product of its options, inputs and meshes, point by point.

use std::collections::BTreeMap;
use std::fmt;

use weighbridge::suite::{Mistake, Node, Position, SuiteBenchmark, SuiteFile, TableKey, Value, WrittenText};
use weighbridge_scenarios::workload::{DeviceMesh, State};

use super::generators::Counterpart;
use super::read::{OrbaxBenchmark, OrbaxInput, OrbaxSuite, read};

/// What stands on the command line over a suite.
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

/// A state as CKPT-1 takes it: the name of a variant, or tensors; or the path of a checkpoint, as CKPT-7 takes it.
#[derive(Clone, Debug)]
pub(in crate::suite) struct StateText {
    text: String,
    /// What is known of it: nothing of a checkpoint that lies somewhere.
    state: Option<State>,
}

impl std::str::FromStr for StateText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let variants = [
            ("default", State::MB_268),
            ("tiny", State::MB_16),
            ("large", State::GB_1),
            ("huge", State::GB_4),
        ];
        let named = variants.into_iter().find(|(name, _)| *name == text).map(|(_, state)| state);
        let state = named.map_or_else(|| text.parse(), Ok)?;
        Ok(Self { text: text.to_owned(), state: Some(state) })
    }
}

/// What becomes of a suite of Orbax.
#[derive(Debug)]
pub(in crate::suite) struct OrbaxPlan {
    /// The suite's name.
    name: String,
    /// What runs; `None` if nothing does.
    pub(in crate::suite) suite: Option<SuiteFile>,
    /// Points that run: options, inputs and meshes. Each is a save and a load, or a load onto another mesh.
    pub(in crate::suite) points: usize,
    /// Why points are refused: what is missing, and how many points lack it.
    pub(in crate::suite) refused: BTreeMap<String, usize>,
    /// Why points are skipped, and how many.
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

/// How many pairs of an input and a mesh there are.
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
            None => suite.inputs.iter().map(state).collect(),
        };
        let meshes: Vec<Result<DeviceMesh, String>> = match &over.mesh {
            Some(mesh) => vec![Ok(mesh.clone())],
            None if suite.meshes.is_empty() => vec![Ok(DeviceMesh::NONE)],
            None => suite.meshes.iter().map(|mesh| mesh.0.parse()).collect(),
        };
        let from = over.saved_from.clone().unwrap_or(DeviceMesh::NONE);
        let mut found = Vec::new();
        for input in &inputs {
            for mesh in &meshes {
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
                    OrbaxScenario::Cancel => ("CKPT-6", mesh, vec![option("mesh", &[&text], place)]),
                    OrbaxScenario::Manage(operations) => {
                        let operations = option("operation", operations, place);
                        ("CKPT-5", mesh, vec![option("mesh", &[&text], place), operations])
                    }
                    OrbaxScenario::Broadcast => match mesh.axes() {
                        [(replica, replicas), (model, devices)]
                            if replica == "replica" && model == "model" =>
                        {
                            let [replicas, devices] = [replicas, devices].map(usize::to_string);
                            let axes = [("replicas", &*replicas), ("model", &*devices)];
                            ("CKPT-3", mesh, axes.map(|(axis, value)| option(axis, &[value], place)).to_vec())
                        }
                        _ => {
                            let why = format!(
                                "a mesh of the axes replica and model, as the generator asks for: it is {mesh}"
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

/// The state of an input, or what is missing for it.
fn state(input: &OrbaxInput) -> Result<StateText, String> {
    match input {
        OrbaxInput::Spec(text) => text.parse(),
        OrbaxInput::Path(path) => {
            Err(format!("a checkpoint on {}: {path} (`--input` saves another state)", store(path)))
        }
        OrbaxInput::Empty => Err("a state to save: its spec is empty".to_owned()),
        OrbaxInput::Other(what) => Err(format!("a state with more than arrays: {what}")),
    }
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

/// What becomes of one combination of options.
enum JudgedOptions {
    /// It makes no sense by the generator's own rule.
    Dropped,
    /// What is missing for it.
    Refused(String),
    /// It runs.
    Runs(OrbaxCase),
}

/// What one combination of options is here, whatever its input and mesh are.
struct OrbaxCase {
    scenario: OrbaxScenario,
    /// Values of axes of the scenario.
    axes: Vec<(&'static str, String)>,
    /// The checkpoint that the generator brings, where it does not take those of the suite.
    checkpoint: Option<CheckpointText>,
}

/// A checkpoint that an option names.
struct CheckpointText {
    path: String,
    /// Whether it can be loaded from where it lies; else a state has to stand in.
    loads: bool,
    /// What is done with its digests, `capture` or `check`, by which option, and where they lie.
    digests: Option<(&'static str, &'static str, String)>,
}

impl CheckpointText {
    /// One that only says what a state must be like that stands in.
    fn of(path: &str) -> Self {
        Self { path: path.to_owned(), loads: false, digests: None }
    }

    /// The option that names digests to check.
    fn checks(&self) -> Option<&'static str> {
        self.digests.as_ref().filter(|(what, ..)| *what == "check").map(|(_, option, _)| *option)
    }

    /// It as CKPT-7 takes it, or the one thing that is not at hand.
    fn text(&self) -> Result<StateText, String> {
        let path = &self.path;
        if !self.loads || path.contains("://") {
            return state(&OrbaxInput::Path(path.clone()));
        }
        let here = |path: &str| std::path::absolute(path).unwrap_or_else(|_| path.into());
        if !here(path).exists() {
            return Err(format!("a checkpoint at {path}: nothing is there (`--input` saves another state)"));
        }
        let mut text = format!("path:{}", here(path).display());
        if let Some((what, option, directory)) = &self.digests {
            if directory.contains("://") {
                return Err(format!("digests on {}: {directory}, for `{option}`", store(directory)));
            }
            if *what == "check" && !here(directory).exists() {
                return Err(format!("digests at {directory}, for `{option}`: nothing is there"));
            }
            text += &format!(" {what}={}", here(directory).display());
        }
        Ok(StateText { text, state: None })
    }
}

/// What a path is of.
fn store(path: &str) -> &'static str {
    match path.split_once("://") {
        None => "a file system",
        Some(("gs", _)) => "Google Cloud Storage",
        Some(_) => "an object store",
    }
}

/// A scenario that does the work of a generator.
enum OrbaxScenario {
    RoundTrip,
    Reshard,
    Load,
    Broadcast,
    Cancel,
    /// With what is timed.
    Manage(Vec<&'static str>),
}

/// One combination of options.
struct OptionSet<'a> {
    point: &'a [(&'a str, &'a Value)],
}

impl OptionSet<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.point.iter().find(|(option, _)| *option == name).map(|(_, value)| *value)
    }

    fn is_on(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Flag(true))
    }

    /// A text; `None` where there is none.
    fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A switch that is on or off; `None` where it is neither.
    fn switch(&self, name: &str, default: bool) -> Option<bool> {
        match self.get(name) {
            None => Some(default),
            Some(Value::Flag(flag)) => Some(*flag),
            Some(_) => None,
        }
    }

    fn judged(&self, benchmark: &OrbaxBenchmark) -> JudgedOptions {
        let separate = self.is_on("enable_replica_parallel_separate_folder");
        let shared = self.is_on("use_replica_parallel") && self.switch("use_ocdbt", true) == Some(true);
        if separate && !shared {
            return JudgedOptions::Dropped;
        }
        let mut checkpoint = None;
        let (scenario, zarr3) = match benchmark.generator.does {
            Counterpart::Missing(what) => {
                return JudgedOptions::Refused(format!("{what}, for {}", benchmark.generator.class));
            }
            Counterpart::RoundTrip { zarr3 } => (OrbaxScenario::RoundTrip, zarr3),
            Counterpart::Reshard => {
                let paths =
                    ["reference_checkpoint_path", "reference_sharding_path"].map(|option| self.text(option));
                let [Some(path), Some(_)] = paths else { return JudgedOptions::Dropped };
                checkpoint = Some(CheckpointText::of(path));
                (OrbaxScenario::Reshard, true)
            }
            Counterpart::Broadcast => return self.broadcast(),
            Counterpart::Load { format } => return self.loaded(format),
            Counterpart::Manage { beside, train_steps } => return self.managed(beside, train_steps),
            Counterpart::Cancel => return self.cancelled(),
        };
        if let Some(why) = self.missing() {
            return JudgedOptions::Refused(why);
        }
        if !matches!(self.get("save_device_host_concurrent_gb"), None | Some(Value::Nothing)) {
            let what = "a limit of what is copied from devices, for `save_device_host_concurrent_gb`";
            return JudgedOptions::Refused(what.to_owned());
        }
        let mut axes = Vec::new();
        match self.switch("async_enabled", true) {
            // Where nothing is saved that is measured, it does not matter.
            Some(is_async) if matches!(scenario, OrbaxScenario::RoundTrip) => {
                axes.push(("saving", if is_async { "background" } else { "blocking" }.to_owned()));
            }
            Some(_) => {}
            None => {
                return JudgedOptions::Refused(
                    "a value of `async_enabled` that is neither on nor off".to_owned(),
                );
            }
        }
        for (option, default) in [("use_ocdbt", true), ("use_zarr3", zarr3), ("use_compression", true)] {
            match self.switch(option, default) {
                Some(flag) => axes.push((option, flag.to_string())),
                None => {
                    return JudgedOptions::Refused(format!(
                        "a value of `{option}` that is neither on nor off"
                    ));
                }
            }
        }
        for option in ["save_concurrent_gb", "restore_concurrent_gb", "chunk_byte_size"] {
            match self.count(option) {
                Ok(number) => axes.extend(number.map(|number| (option, number))),
                Err(why) => return JudgedOptions::Refused(why),
            }
        }
        JudgedOptions::Runs(OrbaxCase { scenario, axes, checkpoint })
    }

    /// A load for one replica, which others get a copy of, or of each. The options of saves say nothing of it.
    fn broadcast(&self) -> JudgedOptions {
        let paths = ["reference_checkpoint_path", "reference_sharding_path"].map(|option| self.text(option));
        let [Some(path), Some(_)] = paths else { return JudgedOptions::Dropped };
        let missing = self.missing_but(&["use_load_and_broadcast"]);
        if let Some(why) = missing {
            return JudgedOptions::Refused(why);
        }
        let Some(once) = self.switch("use_load_and_broadcast", true) else {
            let what = "a value of `use_load_and_broadcast` that is neither on nor off";
            return JudgedOptions::Refused(what.to_owned());
        };
        let axes = vec![("sharing", if once { "broadcast" } else { "each" }.to_owned())];
        let checkpoint = Some(CheckpointText::of(path));
        JudgedOptions::Runs(OrbaxCase { scenario: OrbaxScenario::Broadcast, axes, checkpoint })
    }

    /// A load of a checkpoint that an option names.
    fn loaded(&self, format: &'static str) -> JudgedOptions {
        let Some(path) = self.text("checkpoint_path") else { return JudgedOptions::Dropped };
        if let Some(why) = self.missing() {
            return JudgedOptions::Refused(why);
        }
        let local = !path.contains("://");
        // Of a checkpoint that is not at hand the cuts are told by its mesh alone.
        if let Some(config) = self.text("sharding_config_path").filter(|_| local) {
            return JudgedOptions::Refused(format!(
                "cuts that a file names: {config}, for `sharding_config_path`"
            ));
        }
        let named = [("capture", "capture_digests_path"), ("check", "reference_digests_path")];
        let digests =
            named.into_iter().find_map(|(what, option)| Some((what, option, self.text(option)?.to_owned())));
        let replicated = self.text("sharding_config_path").is_none();
        let mut axes = vec![("format", format.to_owned())];
        axes.extend(replicated.then(|| ("cut", "replicated".to_owned())));
        for option in ["restore_concurrent_gb", "safetensors_read_chunk_mb"] {
            match self.count(option) {
                Ok(number) => axes.extend(number.map(|number| (option, number))),
                Err(why) => return JudgedOptions::Refused(why),
            }
        }
        let ratio = "safetensors_max_over_read_ratio";
        match self.get(ratio) {
            None | Some(Value::Nothing) => {}
            Some(Value::Number(number)) => axes.push((ratio, number.to_string())),
            Some(Value::Whole(number)) => axes.push((ratio, number.to_string())),
            Some(_) => return JudgedOptions::Refused(format!("a value of `{ratio}` that is no number")),
        }
        let checkpoint = Some(CheckpointText { path: path.to_owned(), loads: true, digests });
        JudgedOptions::Runs(OrbaxCase { scenario: OrbaxScenario::Load, axes, checkpoint })
    }

    /// What an option asks for that is not here.
    fn missing(&self) -> Option<String> {
        self.missing_but(&[])
    }

    /// The same, but for options that are here.
    fn missing_but(&self, here: &[&str]) -> Option<String> {
        let missing = [
            ("use_colocated_python", "a backend of Pathways"),
            (
                "use_load_and_broadcast",
                "a broadcast over a mesh whose first axis is not said to be of replicas",
            ),
            ("use_replica_parallel", "a save that replicas share (CKPT-4)"),
            ("metric_tracemalloc_enabled", "Python's allocations as a metric"),
        ];
        let (option, what) =
            missing.into_iter().find(|(option, _)| self.is_on(option) && !here.contains(option))?;
        Some(format!("{what}, for `{option}`"))
    }

    /// The option that asks for a trace.
    fn trace(&self) -> Option<&'static str> {
        ["enable_trace", "trace_every_repeat", "enable_xprof"].into_iter().find(|option| self.is_on(option))
    }

    /// A whole number above 0; `None` where there is none.
    fn count(&self, option: &str) -> Result<Option<String>, String> {
        match self.get(option) {
            None | Some(Value::Nothing) => Ok(None),
            Some(Value::Whole(number)) if *number > 0 => Ok(Some(number.to_string())),
            Some(_) => Err(format!("a value of `{option}` that is no whole number above 0")),
        }
    }

    /// A save that is cancelled, or not.
    fn cancelled(&self) -> JudgedOptions {
        let delay = match self.get("cancel_delay_secs") {
            None => "2".to_owned(),
            Some(Value::Whole(seconds)) if (0..=60).contains(seconds) => seconds.to_string(),
            Some(Value::Number(seconds)) if (0.0..=60.0).contains(seconds) => seconds.to_string(),
            Some(_) => {
                let what = "a value of `cancel_delay_secs` that is no number of seconds from 0 to 60";
                return JudgedOptions::Refused(what.to_owned());
            }
        };
        match self.switch("perform_cancellation", true) {
            Some(true) => {
                let axes = vec![("cancel_delay_secs", delay)];
                JudgedOptions::Runs(OrbaxCase { scenario: OrbaxScenario::Cancel, axes, checkpoint: None })
            }
            Some(false) => {
                let axes = vec![("saving", "background".to_owned())];
                JudgedOptions::Runs(OrbaxCase { scenario: OrbaxScenario::RoundTrip, axes, checkpoint: None })
            }
            None => JudgedOptions::Refused(
                "a value of `perform_cancellation` that is neither on nor off".to_owned(),
            ),
        }
    }

    /// A training whose checkpoints a manager keeps.
    fn managed(&self, beside: &'static str, train_steps: &'static str) -> JudgedOptions {
        if let Some(why) = self.missing() {
            return JudgedOptions::Refused(why);
        }
        let own = [
            ("save_interval_steps", "1"),
            ("max_to_keep", "1"),
            ("train_steps", train_steps),
            ("num_deletion_threads", "1"),
        ];
        let mut axes = Vec::new();
        for (option, default) in own {
            match self.count(option) {
                Ok(number) => axes.push((option, number.unwrap_or_else(|| default.to_owned()))),
                Err(why) => return JudgedOptions::Refused(why),
            }
        }
        let scenario = OrbaxScenario::Manage(vec!["save", beside]);
        JudgedOptions::Runs(OrbaxCase { scenario, axes, checkpoint: None })
    }
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
