//! The arguments of a bench target, as they were typed.

use std::path::Path;
use std::time::Duration;

use super::outputs::Outputs;
use super::usage::ListFormat;
use crate::bencher::RunSettings;
use crate::plan::{Param, PlanSettings};
use crate::process::TraceKind;

/// The command line as it was typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BenchArgs {
    pub(super) filters: Vec<String>,
    /// The names of flags on the command line itself.
    pub(super) typed: Vec<&'static str>,
    pub(super) scenarios: Vec<String>,
    pub(super) adapters: Vec<String>,
    pub(super) set: Option<String>,
    pub(super) suite: Option<String>,
    pub(super) skip: Vec<String>,
    pub(super) exact: bool,
    pub(super) params: Vec<Param>,
    pub(super) profile: Option<String>,
    pub(super) quick: bool,
    /// Settings of every repeat: handed on as they are.
    pub(super) run: RunSettings,
    /// Settings of all repeats together: handed on as they are.
    pub(super) together: PlanSettings,
    pub(super) warmup: Option<u64>,
    pub(super) show_output: bool,
    pub(super) allow_debug: bool,
    pub(super) profile_time: Option<Duration>,
    pub(super) traces: Vec<TraceKind>,
    pub(super) budget: Option<Duration>,
    pub(super) python: Option<String>,
    pub(super) data: Option<String>,
    pub(super) data_root: Option<String>,
    pub(super) data_cache: Option<String>,
    pub(super) data_cache_cap: Option<String>,
    pub(super) ranks: Option<u64>,
    pub(super) rank_patience: Option<Duration>,
    pub(super) no_lock: bool,
    pub(super) no_samples: bool,
    pub(super) resume: Option<String>,
    pub(super) anyway: bool,
    pub(super) dry_run: bool,
    pub(super) save_baseline: Option<String>,
    pub(super) baseline: Option<String>,
    pub(super) baseline_lenient: Option<String>,
    pub(super) versus: Option<String>,
    pub(super) versus_adapter: Option<String>,
    pub(super) versus_param: Option<String>,
    pub(super) inject: Option<f64>,
    pub(super) comparison: Option<String>,
    pub(super) accepted: Option<String>,
    pub(super) gate: Option<Vec<String>>,
    pub(super) threshold: Option<f64>,
    pub(super) inconclusive_passes: Option<bool>,
    pub(super) allow_different_machine: bool,
    pub(super) list: bool,
    pub(super) list_metrics: bool,
    pub(super) format: ListFormat,
    pub(super) color: Option<bool>,
    pub(super) outputs: Outputs,
    pub(super) quiet: bool,
    pub(super) verbose: bool,
    pub(super) help: bool,
    pub(super) version: bool,
    pub(super) bench: bool,
    pub(super) test: bool,
    pub(super) ignored: bool,
    pub(super) bencher_lines: bool,
}

impl BenchArgs {
    /// Tells whether two sides are measured in turns.
    pub(super) fn is_duel(&self) -> bool {
        self.versus.is_some() || self.versus_adapter.is_some() || self.versus_param.is_some()
    }

    /// The variables that scenarios find in their environment, each with what was typed for it.
    pub(super) fn for_children(&self) -> [(&'static str, Option<&String>); 3] {
        [
            ("WEIGHBRIDGE_DATA_ROOT", self.data_root.as_ref()),
            ("WEIGHBRIDGE_DATA_CACHE", self.data_cache.as_ref()),
            ("WEIGHBRIDGE_DATA_CACHE_CAP", self.data_cache_cap.as_ref()),
        ]
    }

    /// The same, with what it names of files below the folder of the user, who called cargo there: a bench
    /// runs in its package's.
    pub(super) fn below(mut self, folder: &Path) -> Self {
        let paths = [
            &mut self.data,
            &mut self.data_root,
            &mut self.data_cache,
            &mut self.versus,
            &mut self.comparison,
            &mut self.accepted,
            &mut self.outputs.folder,
        ];
        for path in paths.into_iter().flatten().filter(|path| !path.is_empty()) {
            *path = folder.join(&*path).display().to_string();
        }
        self
    }

    /// Tells whether a part of the suite is selected.
    pub(super) fn selects(&self) -> bool {
        !self.listing_flags().is_empty()
    }

    /// The flags that select what another program of the same suite is to list.
    pub(super) fn listing_flags(&self) -> Vec<String> {
        let mut flags = self.filters.clone();
        let mut many = |name: &str, values: &[String]| {
            flags.extend(values.iter().map(|value| format!("--{name}={value}")));
        };
        many("scenario", &self.scenarios);
        many("adapter", &self.adapters);
        many("skip", &self.skip);
        many("set", &self.set.iter().cloned().collect::<Vec<_>>());
        many("suite", &self.suite.iter().cloned().collect::<Vec<_>>());
        many("param", &self.params.iter().map(ToString::to_string).collect::<Vec<_>>());
        flags.extend(self.exact.then(|| "--exact".to_owned()));
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_where_the_user_is() {
        let some = |text: &str| Some(text.to_owned());
        let args = BenchArgs { data: some("data"), versus: some("/old/bench"), ..BenchArgs::default() };
        let args = args.below(Path::new("/w"));
        assert_eq!((args.data, args.versus), (some("/w/data"), some("/old/bench")));
        assert_eq!(args.comparison, None);
    }
}
