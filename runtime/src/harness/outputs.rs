//! What becomes of a run once it has ended: exports, charts, a tracker's entry, the page. A bench binary
//! stays small: the command of its workspace writes them.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::usage::UsageError;
use super::{Exit, Suite};
use crate::bencher::visible_in_line;
use crate::json;
use crate::plan::nearest;
use crate::record::RunId;
use crate::report::Terminal;
use crate::tool::{INSTALL, tool};

/// Cargo's message about a subcommand that is not installed.
const NO_SUCH: &str = "no such command";

/// The formats that the command writes, but for trackers.
const FORMATS: [&str; 14] = [
    "jsonl",
    "jsonl-samples",
    "csv",
    "csv-samples",
    "criterion",
    "bencher",
    "bmf",
    "smaller-is-better",
    "bigger-is-better",
    "junit",
    "openmetrics",
    "tensorboard",
    "mlperf",
    "calibrax",
];

/// The trackers that it hands runs to.
const TRACKERS: [&str; 2] = ["wandb", "mlflow"];

/// The word for nothing, where the settings say something.
const NONE: &str = "none";

/// The outputs that are asked for, by flags, variables and `[outputs]` of the settings: `None` where a place
/// says nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Outputs {
    pub(super) export: Option<Vec<String>>,
    pub(super) html: Option<bool>,
    pub(super) charts: Option<bool>,
    pub(super) tracker: Option<String>,
    /// The project of the tracker.
    pub(super) project: Option<String>,
    /// The team or user whose project it is.
    pub(super) entity: Option<String>,
    /// The folder below which they are written.
    pub(super) folder: Option<String>,
}

/// The settings file, as far as it concerns outputs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OutputSettings {
    outputs: Outputs,
    #[serde(rename = "gate")]
    _gate: Option<IgnoredAny>,
    #[serde(rename = "profile")]
    _profile: Option<IgnoredAny>,
}

/// The run whose outputs are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputSource<'a> {
    pub(super) suite: &'a Suite,
    pub(super) run: &'a RunId,
    /// The data directory.
    pub(super) data: &'a Path,
}

impl Outputs {
    /// The outputs that a workspace's settings ask for; a folder there is below the workspace.
    ///
    /// # Errors
    /// What is wrong in the text.
    pub(super) fn read(text: &str, workspace: &Path) -> Result<Self, String> {
        let OutputSettings { mut outputs, .. } = json::from_toml(text)?;
        outputs.folder = outputs.folder.map(|folder| workspace.join(folder).display().to_string());
        outputs.check().map_err(|UsageError(why)| format!("outputs: {why}"))?;
        Ok(outputs)
    }

    /// These, and where they say nothing what the settings say.
    pub(super) fn or(self, settings: Self) -> Self {
        Self {
            export: self.export.or(settings.export),
            html: self.html.or(settings.html),
            charts: self.charts.or(settings.charts),
            tracker: self.tracker.or(settings.tracker),
            project: self.project.or(settings.project),
            entity: self.entity.or(settings.entity),
            folder: self.folder.or(settings.folder),
        }
    }

    /// Refuses formats and trackers that nobody writes.
    ///
    /// # Errors
    /// With the nearest that somebody does.
    pub(super) fn check(&self) -> Result<(), UsageError> {
        let unknown = |what: &str, name: &str, known: &[&str]| {
            let near = nearest(name, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Err(UsageError(format!("{what} is {} or {NONE}, not `{name}`{near}", known.join(", "))))
        };
        let of = |names: &[&str], name: &str| name == NONE || names.contains(&name);
        if let Some(name) = self.export.iter().flatten().find(|name| !of(&FORMATS, name)) {
            return unknown("export", name, &FORMATS);
        }
        match &self.tracker {
            Some(name) if !of(&TRACKERS, name) => unknown("tracker", name, &TRACKERS),
            _ => Ok(()),
        }
    }

    /// Tells whether anything is to be written.
    pub(super) fn is_wanted(&self) -> bool {
        !self.formats().is_empty() || self.html == Some(true) || self.charts == Some(true)
    }

    /// The formats, the tracker last.
    fn formats(&self) -> Vec<&str> {
        let all = self.export.iter().flatten().chain(&self.tracker);
        all.map(String::as_str).filter(|name| *name != NONE).collect()
    }

    /// Has exports and charts written, and says where they lie. Returns false if one was not, which it says
    /// as well.
    #[must_use]
    pub(super) fn export(&self, source: OutputSource<'_>, terminal: Terminal) -> bool {
        let folder = self.folder(source);
        let mut is_fine = true;
        let formats = self.formats();
        if !formats.is_empty() {
            let mut words = vec!["export".into(), formats.join(",").into(), source.run.as_str().into()];
            words.extend(["--into".into(), folder.clone().into_os_string()]);
            for (flag, value) in [("--project", &self.project), ("--entity", &self.entity)] {
                words.extend(value.iter().flat_map(|value| [flag.into(), value.into()]));
            }
            is_fine &= ask("export", &words, source, terminal) == AskedOutput::Written;
        }
        if self.charts == Some(true) {
            let out = folder.join("charts").into_os_string();
            let words = ["report".into(), "charts".into(), source.run.as_str().into(), "--out".into(), out];
            is_fine &= ask("charts", &words, source, terminal) != AskedOutput::Missing;
        }
        is_fine
    }

    /// Has the page written, where it is wanted, and says where it lies, or why there is none. The run is
    /// what it is either way.
    pub(super) fn page(&self, source: OutputSource<'_>, terminal: Terminal) {
        if self.html != Some(true) {
            return;
        }
        let mut words = vec!["report".into(), "html".into(), source.run.as_str().into()];
        if self.folder.is_some() {
            words.extend(["--out".into(), self.folder(source).join("report.html").into_os_string()]);
        }
        ask("page", &words, source, terminal);
    }

    /// The folder of one suite: those of several bench targets are apart.
    fn folder(&self, OutputSource { suite, data, .. }: OutputSource<'_>) -> PathBuf {
        let folder = self.folder.as_ref().map_or_else(|| data.join("outputs"), PathBuf::from);
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        folder.join(suite.package).join(suite.target)
    }
}

/// The end of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedOutput {
    Written,
    /// The run has nothing for it.
    Nothing,
    Missing,
}

/// Has the command do this, and says what it says, or why it does not.
fn ask(what: &str, words: &[OsString], source: OutputSource<'_>, terminal: Terminal) -> AskedOutput {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // This process and the command need not stand in the same folder.
    let data = std::path::absolute(source.data).unwrap_or_else(|_| source.data.to_owned());
    let mut command = Command::new(cargo);
    command.args(tool().split(' ').skip(1)).args(words).arg("--data").arg(data);
    // The first time it is built: what cargo says of that is progress.
    command.current_dir(source.suite.workspace()).stdin(Stdio::null());
    match command.output() {
        Err(error) => terminal.error(&format!("no {what}: failed to start cargo: {error}")),
        Ok(ended) if ended.status.success() => {
            for line in String::from_utf8_lossy(&ended.stdout).lines() {
                terminal.remark(&format!("{what}: {}", visible_in_line(line)));
            }
            return AskedOutput::Written;
        }
        Ok(ended) => {
            terminal.error(&why(what, &String::from_utf8_lossy(&ended.stderr), words));
            if ended.status.code() == Some(Exit::NothingToJudge.code().into()) {
                return AskedOutput::Nothing;
            }
        }
    }
    AskedOutput::Missing
}

/// The reason why something is not there, by what cargo or the command has said.
fn why(what: &str, said: &str, words: &[OsString]) -> String {
    if said.contains(NO_SUCH) {
        return format!("no {what}: it takes a command that is not there: {INSTALL}");
    }
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    // A build says much before it says why.
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    format!("no {what}: `{} {}` failed: {}", tool(), words.join(" "), visible_in_line(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Outputs, String> {
        Outputs::read(text, Path::new("/w"))
    }

    #[test]
    fn a_missing_command_is_told_by_the_line_that_installs_it_and_another_failure_by_its_last_line() {
        let words = ["report".into(), "html".into(), "7".into()];
        let said = why("page", "error: no such command: `weighbridge`\n\nhelp: view all\n", &words);
        assert!(said.ends_with("weighbridge-xtask --bin cargo-weighbridge"), "{said}");
        let said = why("page", "   Compiling x\nerror: there is no run `7`\n\n", &words);
        assert!(said.contains("report html 7` failed: error: there is no run `7`"), "{said}");
        assert!(why("page", "", &words).ends_with("it says nothing"));
    }

    #[test]
    fn what_is_typed_goes_over_the_settings_and_none_takes_away_what_they_ask_for() {
        let settings = read(
            "[outputs]\nexport = [\"junit\"]\nhtml = true\ntracker = \"wandb\"\n\
             project = \"p\"\nfolder = \"ci\"\n[gate]\nwarn = 0.9",
        )
        .unwrap();
        let typed = |export: &[&str], tracker: Option<&str>, html| Outputs {
            export: Some(export.iter().map(|name| (*name).to_owned()).collect())
                .filter(|_| !export.is_empty()),
            tracker: tracker.map(str::to_owned),
            html,
            ..Outputs::default()
        };
        let of = |typed: Outputs| typed.or(settings.clone());
        assert_eq!(of(typed(&[], None, None)).formats(), ["junit", "wandb"]);
        assert_eq!(of(typed(&["csv", "bmf"], Some("none"), None)).formats(), ["csv", "bmf"]);
        let nothing = of(typed(&["none"], Some("none"), Some(false)));
        assert!(!nothing.is_wanted() && settings.is_wanted());
        assert_eq!(nothing.folder.as_deref(), Some("/w/ci"), "below the workspace");
    }

    #[test]
    fn a_format_that_nobody_writes_is_refused_wherever_it_stands() {
        let said = read("[outputs]\nexport = [\"junti\"]").unwrap_err();
        assert!(
            said.starts_with("outputs: export is jsonl, ") && said.ends_with("did you mean `junit`?"),
            "{said}"
        );
        assert!(
            read("[outputs]\ntracker = \"aim\"").unwrap_err().contains("tracker is wandb, mlflow or none")
        );
        assert!(read("[outputs]\nexprt = []").unwrap_err().contains("exprt"));
    }
}
