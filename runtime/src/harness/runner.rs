//! `cargo bench` as a call of this library: the flags as fields, over as many bench targets as there are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, io};

use super::Exit;
use super::call::ends_of;
use super::called_targets::Metadata;
use crate::store::{Layout, Runs};

/// A run of bench targets by cargo, with the flags of the command line as fields. What is left at its default
/// is as on a command line that does not have the flag.
///
/// ```no_run
/// use weighbridge::Runner;
///
/// let ended = Runner {
///     benches: vec!["sorting".into()],
///     filters: vec!["SORT-1".into()],
///     quick: true,
///     export: vec!["junit".into()],
///     ..Runner::default()
/// }
/// .run()?;
/// assert_eq!(ended.exit, 0);
/// println!("stored: {:?}", ended.runs);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Runner {
    /// The folder of the package or the workspace: where cargo is called, and what paths are below. The
    /// current one where it is `None`.
    pub folder: Option<PathBuf>,
    /// The packages whose bench targets run; those that cargo takes by itself where there are none.
    pub packages: Vec<String>,
    /// The bench targets; all where there are none.
    pub benches: Vec<String>,
    /// Features to build them with.
    pub features: Vec<String>,
    /// Parts of names of cases.
    pub filters: Vec<String>,
    /// Ids of scenarios.
    pub scenarios: Vec<String>,
    /// Names of adapters.
    pub adapters: Vec<String>,
    /// Values of axes: `workers=0,2`.
    pub params: Vec<String>,
    /// `cpu`, `gpu` or `tpu`.
    pub platform: Option<String>,
    /// The named budget to run under.
    pub profile: Option<String>,
    /// True for three short repeats within a minute.
    pub quick: bool,
    /// Measured repeats of each case.
    pub repeats: Option<u32>,
    /// The most time that each target may take.
    pub budget: Option<Duration>,
    /// The folder in which runs and baselines are kept.
    pub data: Option<PathBuf>,
    /// The folder in which real data sets lie.
    pub data_root: Option<PathBuf>,
    /// The baseline to judge by.
    pub baseline: Option<String>,
    /// The name under which to keep the runs as baselines.
    pub save_baseline: Option<String>,
    /// Formats to export each run in: `junit`, `csv`.
    pub export: Vec<String>,
    /// True to write the page of each run; the settings decide where it is `None`.
    pub html: Option<bool>,
    /// True to draw charts of each run; the settings decide where it is `None`.
    pub charts: Option<bool>,
    /// The experiment tracker to hand each run to: `wandb`, `mlflow`, or `none`.
    pub tracker: Option<String>,
    /// Its project.
    pub project: Option<String>,
    /// The team or user whose project it is.
    pub entity: Option<String>,
    /// The folder in which all that is written.
    pub outputs: Option<PathBuf>,
    /// More flags of bench targets, as they are typed.
    pub flags: Vec<String>,
    /// Environment variables beside those of this process, for cargo and for what it runs.
    pub variables: Vec<(String, String)>,
}

/// The end of such a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerEnd {
    /// The exit code: 0 where all targets ended well, else the gravest of those that stored a run, as the
    /// page on CI has them; where none of them did, cargo's.
    pub exit: u8,
    /// The folders of the runs that were stored, the oldest first: `run.json`, and a file for each case.
    pub runs: Vec<PathBuf>,
}

impl Runner {
    /// Has cargo build and run the targets, one after the other, each whatever the others come to. What they
    /// say goes where this process says things; where there are several, a table of all of them comes last.
    ///
    /// # Errors
    /// That cargo cannot be started, or does not tell where it builds; those of reading the data directory.
    pub fn run(&self) -> io::Result<RunnerEnd> {
        let layout = Layout::new(self.data_directory()?);
        let runs = Runs::new(layout.clone());
        let ids = || runs.ids().map_err(io::Error::other);
        let before = ids()?;
        let _ = fs::remove_file(layout.call()); // what it says is of another call
        let status = self.command().status()?;
        let mut new: Vec<_> = ids()?.into_iter().filter(|id| !before.contains(id)).collect();
        new.sort();
        let ends = ends_of(&layout.call());
        let known = ends.iter().filter(|_| !status.success()).filter_map(|end| Exit::of_code(end.exit));
        let exit = known.reduce(Exit::or).map(Exit::code).filter(|code| *code != 0);
        let of_cargo = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Ok(RunnerEnd { exit: exit.unwrap_or(of_cargo), runs: new.iter().map(|id| layout.run(id)).collect() })
    }

    /// The command that is run.
    pub fn command(&self) -> Command {
        let mut command = self.cargo();
        command.args(["bench", "--no-fail-fast"]);
        for (flag, values) in
            [("--package", &self.packages), ("--bench", &self.benches), ("--features", &self.features)]
        {
            command.args(values.iter().flat_map(|value| [flag, value]));
        }
        command.arg("--").args(self.words()).args(&self.flags);
        command
    }

    /// The words that stand for the fields.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.filters.iter().map(Into::into).collect();
        let mut many = |flag: &str, values: &[String]| {
            words.extend(values.iter().flat_map(|value| [flag.into(), value.into()]));
        };
        many("--scenario", &self.scenarios);
        many("--adapter", &self.adapters);
        many("--param", &self.params);
        many("--export", &self.export);
        for (flag, value) in [
            ("--platform", &self.platform),
            ("--profile", &self.profile),
            ("--baseline", &self.baseline),
            ("--save-baseline", &self.save_baseline),
            ("--tracker", &self.tracker),
            ("--project", &self.project),
            ("--entity", &self.entity),
        ] {
            many(flag, value.as_slice());
        }
        for (flag, value) in
            [("--data", &self.data), ("--data-root", &self.data_root), ("--outputs", &self.outputs)]
        {
            words.extend(value.iter().flat_map(|value| [flag.into(), value.into()]));
        }
        let number = |flag: &str, value: Option<String>| value.map(|value| [flag.into(), value.into()]);
        words.extend(
            number("--repeats", self.repeats.map(|repeats| repeats.to_string())).into_iter().flatten(),
        );
        let budget = self.budget.map(|budget| budget.as_secs_f64().to_string());
        words.extend(number("--budget", budget).into_iter().flatten());
        let either =
            |value: Option<bool>, yes: &str, no: &str| value.map(|is| if is { yes } else { no }.into());
        words.extend(either(self.html, "--html", "--no-html"));
        words.extend(either(self.charts, "--charts", "--no-charts"));
        words.extend(self.quick.then(|| "--quick".into()));
        words
    }

    fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).current_dir(self.folder.as_deref().unwrap_or(Path::new(".")));
        command
    }

    /// The data directory that the targets will have.
    fn data_directory(&self) -> io::Result<PathBuf> {
        let typed = self.data.clone().or_else(|| env::var_os("WEIGHBRIDGE_DATA").map(PathBuf::from));
        if let Some(data) = typed.filter(|data| !data.as_os_str().is_empty()) {
            return Ok(self.folder.as_deref().unwrap_or(Path::new(".")).join(data));
        }
        let metadata = Metadata::said_by(&mut self.cargo())?;
        Ok(metadata.target_directory.join("weighbridge"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::BenchArgs;
    use super::*;

    #[test]
    fn a_field_is_the_flag_of_its_name_and_a_default_is_none() {
        let some = |text: &str| Some(text.to_owned());
        let one = |text: &str| vec![text.to_owned()];
        let runner = Runner {
            filters: one("small"),
            scenarios: one("SORT-1"),
            adapters: one("std sort"),
            params: one("len=10"),
            platform: some("cpu"),
            profile: some("quick"),
            quick: true,
            repeats: Some(4),
            budget: Some(Duration::from_millis(1500)),
            data: Some("d".into()),
            data_root: Some("r".into()),
            baseline: some("main"),
            save_baseline: some("next"),
            export: vec!["junit".into(), "csv".into()],
            html: Some(true),
            charts: Some(false),
            tracker: some("wandb"),
            project: some("p"),
            entity: some("e"),
            outputs: Some("o".into()),
            ..Runner::default()
        };
        let args = BenchArgs::parse(runner.words(), &|_| None).unwrap();
        let typed = "small --scenario SORT-1 --adapter std_sort --param len=10 --export junit --export csv \
                     --platform cpu --profile quick --baseline main --save-baseline next --tracker wandb \
                     --project p --entity e --data d --data-root r --outputs o --repeats 4 --budget 1.5 \
                     --html --no-charts --quick";
        let line = typed.split_whitespace().map(|word| word.replace('_', " ").into());
        assert_eq!(args, BenchArgs::parse(line.collect(), &|_| None).unwrap());
        assert!(Runner::default().words().is_empty());
    }
}
