//! What one combination of a generator's options is here: a case of the catalogue, or what is missing for it.

use weighbridge::suite::{Node, Position, Value};
use weighbridge_checkpoints::contract::Retention;
use weighbridge_checkpoints::workload::CutsFile;

use super::generators::Counterpart;
use super::paths::{here, store};
use super::policies;
use super::read::{OrbaxBenchmark, OrbaxInput};
use super::state_text::StateText;

/// The judgement of one combination of options.
pub(super) enum JudgedOptions {
    /// It makes no sense by the generator's own rule.
    Dropped,
    /// A refusal, with what is missing for it.
    Refused(String),
    /// It runs.
    Runs(OrbaxCase),
}

/// The case that one combination of options is here, whatever its input and mesh are.
pub(super) struct OrbaxCase {
    pub(super) scenario: OrbaxScenario,
    /// Values of axes of the scenario.
    pub(super) axes: Vec<(&'static str, String)>,
    /// The checkpoint that the generator brings, where it does not take those of the suite.
    pub(super) checkpoint: Option<CheckpointText>,
}

/// A checkpoint that an option names.
pub(super) struct CheckpointText {
    path: String,
    /// The file that says how its tensors are cut.
    cuts: Option<String>,
    /// `true` if it can be loaded from where it lies; else a state has to stand in.
    loads: bool,
    /// The use of its digests, `capture` or `check`, the option that asks for it, and the place of the
    /// digests.
    digests: Option<(&'static str, &'static str, String)>,
}

impl CheckpointText {
    /// One that a state is taken from.
    fn of([path, cuts]: [&str; 2]) -> Self {
        Self { path: path.to_owned(), cuts: Some(cuts.to_owned()), loads: false, digests: None }
    }

    /// The option that names digests to check.
    pub(super) fn checks(&self) -> Option<&'static str> {
        self.digests.as_ref().filter(|(what, ..)| *what == "check").map(|(_, option, _)| *option)
    }

    /// It as CKPT-7 takes it, or the one thing that is not at hand.
    pub(super) fn text(&self) -> Result<StateText, String> {
        let Self { path, cuts, .. } = self;
        if !self.loads || path.contains("://") {
            return StateText::of(&OrbaxInput::Path { path: path.clone(), cuts: cuts.clone() });
        }
        if !here(path).exists() {
            return Err(format!("a checkpoint at {path}: nothing is there (`--input` saves another state)"));
        }
        let mut text = format!("path:{}", here(path).display());
        let mut mesh = None;
        if let Some(cuts) = cuts {
            if cuts.contains("://") {
                return Err(format!("cuts on {}: {cuts}, for `sharding_config_path`", store(cuts)));
            }
            mesh = Some(CutsFile::read(&here(cuts))?.mesh().clone());
            text += &format!(" cuts={}", here(cuts).display());
        }
        if let Some((what, option, directory)) = &self.digests {
            if directory.contains("://") {
                return Err(format!("digests on {}: {directory}, for `{option}`", store(directory)));
            }
            if *what == "check" && !here(directory).exists() {
                return Err(format!("digests at {directory}, for `{option}`: nothing is there"));
            }
            text += &format!(" {what}={}", here(directory).display());
        }
        Ok(StateText { text, state: None, mesh })
    }
}

/// A scenario that does the work of a generator.
pub(super) enum OrbaxScenario {
    RoundTrip,
    Reshard,
    Load,
    Broadcast,
    Cancel,
    /// With what is timed.
    Manage(Vec<&'static str>),
    Arrays,
    Replicas,
}

const REPLICA_PARALLEL: &str = "use_replica_parallel";
const SEPARATE_FOLDER: &str = "enable_replica_parallel_separate_folder";

/// One combination of options.
pub(super) struct OptionSet<'a> {
    pub(super) point: &'a [(&'a str, &'a Value)],
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

    pub(super) fn judged(&self, benchmark: &OrbaxBenchmark) -> JudgedOptions {
        let separate = self.is_on(SEPARATE_FOLDER);
        let shared = self.is_on(REPLICA_PARALLEL) && self.switch("use_ocdbt", true) == Some(true);
        if separate && !shared {
            return JudgedOptions::Dropped;
        }
        let mut checkpoint = None;
        // Only said of the load of a state that stands in here.
        let mut beside: &[&str] = &[];
        let (scenario, zarr3) = match benchmark.generator.does {
            Counterpart::Missing(what) => {
                return JudgedOptions::Refused(format!("{what}, for {}", benchmark.generator.class));
            }
            Counterpart::RoundTrip { zarr3 } => (OrbaxScenario::RoundTrip, zarr3),
            Counterpart::Reshard => {
                let Some(path) = self.reference() else { return JudgedOptions::Dropped };
                checkpoint = Some(CheckpointText::of(path));
                (OrbaxScenario::Reshard, true)
            }
            Counterpart::Replicas => {
                let Some(path) = self.reference() else { return JudgedOptions::Dropped };
                checkpoint = Some(CheckpointText::of(path));
                beside = &["use_load_and_broadcast"];
                (OrbaxScenario::Replicas, true)
            }
            Counterpart::Broadcast => return self.broadcast(),
            Counterpart::Load { format } => return self.loaded(format),
            Counterpart::Manage { beside, train_steps } => return self.managed(beside, train_steps),
            Counterpart::Policies => return self.with_policies(benchmark.place),
            Counterpart::Cancel => return self.cancelled(),
            Counterpart::Arrays => return self.arrays(),
        };
        if let Some(why) = self.missing_but(beside) {
            return JudgedOptions::Refused(why);
        }
        if !matches!(self.get("save_device_host_concurrent_gb"), None | Some(Value::Nothing)) {
            let what = "a limit of what is copied from devices, for `save_device_host_concurrent_gb`";
            return JudgedOptions::Refused(what.to_owned());
        }
        let mut axes = Vec::new();
        match self.switch("async_enabled", true) {
            // Where nothing is saved that is measured, it does not matter.
            Some(is_async) if matches!(scenario, OrbaxScenario::RoundTrip | OrbaxScenario::Replicas) => {
                axes.push(("saving", if is_async { "background" } else { "blocking" }.to_owned()));
            }
            Some(_) => {}
            None => {
                return JudgedOptions::Refused(
                    "a value of `async_enabled` that is neither on nor off".to_owned(),
                );
            }
        }
        // Where several replicas save, an axis of the scenario says who of them does.
        let of_replicas = match (&scenario, separate, self.is_on(REPLICA_PARALLEL)) {
            (OrbaxScenario::Replicas, false, false) => Ok(vec![("writers", "first".to_owned())]),
            (OrbaxScenario::Replicas, false, true) => Ok(vec![("writers", "shared".to_owned())]),
            (OrbaxScenario::Replicas, true, _) => Ok(vec![("writers", "shared_apart".to_owned())]),
            _ => self.switches(&[(REPLICA_PARALLEL, false), (SEPARATE_FOLDER, false)]),
        };
        let files = self.switches(&[("use_ocdbt", true), ("use_zarr3", zarr3), ("use_compression", true)]);
        let counts = self.counts(&["save_concurrent_gb", "restore_concurrent_gb", "chunk_byte_size"]);
        for more in [files, of_replicas, counts] {
            match more {
                Ok(more) => axes.extend(more),
                Err(why) => return JudgedOptions::Refused(why),
            }
        }
        JudgedOptions::Runs(OrbaxCase { scenario, axes, checkpoint })
    }

    /// The checkpoint that a generator takes, and the file of its cuts, where both are named.
    fn reference(&self) -> Option<[&str; 2]> {
        Some([self.text("reference_checkpoint_path")?, self.text("reference_sharding_path")?])
    }

    /// A load for one replica, which others get a copy of, or of each. The options of saves say nothing of
    /// it.
    fn broadcast(&self) -> JudgedOptions {
        let Some(path) = self.reference() else { return JudgedOptions::Dropped };
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
        let named = [("capture", "capture_digests_path"), ("check", "reference_digests_path")];
        let digests =
            named.into_iter().find_map(|(what, option)| Some((what, option, self.text(option)?.to_owned())));
        // Without a file of cuts each device has all. Of a checkpoint that is not at hand its mesh tells
        // them.
        let cuts = self.text("sharding_config_path").map(str::to_owned);
        let replicated = cuts.is_none();
        let mut axes = vec![("format", format.to_owned())];
        axes.extend(replicated.then(|| ("cut", "replicated".to_owned())));
        match self.counts(&["restore_concurrent_gb", "safetensors_read_chunk_mb"]) {
            Ok(counts) => axes.extend(counts),
            Err(why) => return JudgedOptions::Refused(why),
        }
        let ratio = "safetensors_max_over_read_ratio";
        match self.get(ratio) {
            None | Some(Value::Nothing) => {}
            Some(Value::Number(number)) => axes.push((ratio, number.to_string())),
            Some(Value::Whole(number)) => axes.push((ratio, number.to_string())),
            Some(_) => return JudgedOptions::Refused(format!("a value of `{ratio}` that is no number")),
        }
        let checkpoint = Some(CheckpointText { path: path.to_owned(), cuts, loads: true, digests });
        JudgedOptions::Runs(OrbaxCase { scenario: OrbaxScenario::Load, axes, checkpoint })
    }

    /// Returns what an option asks for that is not here.
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
            ("metric_tracemalloc_enabled", "Python's allocations as a metric"),
        ];
        let (option, what) =
            missing.into_iter().find(|(option, _)| self.is_on(option) && !here.contains(option))?;
        Some(format!("{what}, for `{option}`"))
    }

    /// The option that asks for a trace.
    pub(super) fn trace(&self) -> Option<&'static str> {
        ["enable_trace", "trace_every_repeat", "enable_xprof"].into_iter().find(|option| self.is_on(option))
    }

    /// Switches as axes of these names, each with what it is where it is not said.
    fn switches(&self, options: &[(&'static str, bool)]) -> Result<Vec<(&'static str, String)>, String> {
        let axis = |(option, default): &(&'static str, bool)| {
            let flag = self.switch(option, *default);
            let flag = flag.ok_or_else(|| format!("a value of `{option}` that is neither on nor off"))?;
            Ok((*option, flag.to_string()))
        };
        options.iter().map(axis).collect()
    }

    /// Whole numbers above 0 as axes of these names, where they are said.
    fn counts(&self, options: &[&'static str]) -> Result<Vec<(&'static str, String)>, String> {
        let axis = |option: &&'static str| Ok(self.count(option)?.map(|number| (*option, number)));
        options.iter().filter_map(|option| axis(option).transpose()).collect()
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

    /// Arrays without the layers above them: the copies of a save are in what blocks, the rest and the merge
    /// after it.
    fn arrays(&self) -> JudgedOptions {
        if let Some(why) = self.missing() {
            return JudgedOptions::Refused(why);
        }
        let mut axes = vec![("saving", "background".to_owned())];
        let options =
            [("use_ocdbt", true), ("use_zarr3", false), (REPLICA_PARALLEL, false), (SEPARATE_FOLDER, false)];
        match self.switches(&options) {
            Ok(switches) => axes.extend(switches),
            Err(why) => return JudgedOptions::Refused(why),
        }
        let layer = match self.switch("use_metadata_store", false) {
            Some(true) => "arrays_with_metadata",
            Some(false) => "arrays",
            None => {
                let what = "a value of `use_metadata_store` that is neither on nor off";
                return JudgedOptions::Refused(what.to_owned());
            }
        };
        axes.push(("layer", layer.to_owned()));
        JudgedOptions::Runs(OrbaxCase { scenario: OrbaxScenario::Arrays, axes, checkpoint: None })
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

impl OptionSet<'_> {
    /// A training whose checkpoints policies save and keep.
    fn with_policies(&self, place: Position) -> JudgedOptions {
        if let Some(why) = self.missing() {
            return JudgedOptions::Refused(why);
        }
        let train_steps = match self.count("num_checkpoints") {
            Ok(number) => number.unwrap_or_else(|| "1000".to_owned()),
            Err(why) => return JudgedOptions::Refused(why),
        };
        let Some(value) = self.get(policies::OPTION) else { return JudgedOptions::Dropped };
        let policies = match policies::policies(&Node { value: value.clone(), place }) {
            Ok(policies) => policies,
            Err(mistake) => return JudgedOptions::Refused(mistake.to_string()),
        };
        let retention = Retention {
            save_policies: policies.save.clone(),
            keep_policies: policies.keep.clone(),
            ..Retention::newest(1, 1, 1)
        };
        let Some(steps) = train_steps.parse().ok().filter(|steps| *steps <= Retention::MOST_STEPS) else {
            let most = Retention::MOST_STEPS;
            return JudgedOptions::Refused(format!("a training of over {most} steps, for `num_checkpoints`"));
        };
        let kept = retention.at_once(steps).0;
        let lost: Vec<u64> = policies.expected.into_iter().filter(|step| !kept.contains(step)).collect();
        if !lost.is_empty() {
            return JudgedOptions::Refused(format!(
                "checkpoints that the policies do not keep: {lost:?}, for `expected_preserve_checkpoints`"
            ));
        }
        let axes = vec![
            ("train_steps", train_steps),
            ("save_decision_policy", policies.save.to_string()),
            ("preservation_policy", policies.keep.to_string()),
        ];
        let scenario = OrbaxScenario::Manage(vec!["save"]);
        JudgedOptions::Runs(OrbaxCase { scenario, axes, checkpoint: None })
    }
}
