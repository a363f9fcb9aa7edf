//! What every engine must do, and what they share.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::agent::{ATTEMPT, LAUNCH_FOLDER};
use crate::ask::quoted;
use crate::error::{LaunchError, Result};
use crate::folder::LaunchFolder;
use crate::machine::JobState;
use crate::spec::LaunchSpec;

/// The longest that a command of an engine may take that only looks.
pub(crate) const LOOK: Duration = Duration::from_mins(1);

/// The engine's own name of a job: what it is asked and ended by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobId(pub(crate) String);

/// The wishes that only engines know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngineOptions {
    pub(crate) account: Option<String>,
    pub(crate) partition: Option<String>,
    /// Minutes.
    pub(crate) minutes: Option<u64>,
    pub(crate) exclude: Vec<String>,
    pub(crate) extra: Vec<String>,
    pub(crate) image: Option<String>,
    pub(crate) claim: Option<String>,
    pub(crate) infra: Option<String>,
    pub(crate) spot: bool,
}

/// A job as an engine is to start it.
pub(crate) struct EngineJob<'a> {
    pub(crate) spec: &'a LaunchSpec,
    pub(crate) folder: &'a LaunchFolder,
    pub(crate) options: &'a EngineOptions,
    /// Attempts that left files before.
    pub(crate) attempt: u32,
}

impl EngineJob<'_> {
    /// The variables that make a process of this tool a rank.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let own = [
            (LAUNCH_FOLDER.to_owned(), self.folder.root().display().to_string()),
            (ATTEMPT.to_owned(), self.attempt.to_string()),
        ];
        let asked = self.spec.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        own.into_iter().chain(asked).collect()
    }

    /// The same as lines of a shell.
    pub(super) fn exports(&self) -> String {
        let lines = self.variables();
        lines.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect()
    }

    /// This tool, as a word of a shell.
    pub(super) fn tool(&self) -> String {
        quoted(&self.folder.tool().display().to_string())
    }

    /// The name of the job, which no other launch has.
    pub(super) fn name(&self) -> String {
        format!("weighbridge-{}", self.spec.launch)
    }

    /// A script that becomes this command line, with the engine's own lines among its words.
    pub(super) fn script(&self, start: &str) -> String {
        let extra: String = self.options.extra.iter().map(|line| format!("{line} ")).collect();
        format!("#!/bin/sh\nset -eu\n{}exec {start} {extra}{}\n", self.exports(), self.tool())
    }
}

/// The word of an engine's own checker on a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It takes it: the checker, and what it says.
    Taken { by: String, said: String },
    /// There is none here, or it cannot look: why.
    Unchecked(String),
}

/// Something that starts a job on hosts, and ends it by its id.
pub(crate) trait Engine {
    /// The job file's name.
    fn file_name(&self) -> &'static str {
        "job.sh"
    }

    /// The job file.
    ///
    /// # Errors
    /// When this engine has no word for something that is asked for.
    fn render(&self, job: &EngineJob<'_>) -> Result<String>;

    /// Lets the engine's own checker look at the job file.
    ///
    /// # Errors
    /// When it refuses it.
    fn check(&self, file: &Path) -> Result<Checked>;

    /// Hands the job over, and returns the id that the engine gave it.
    ///
    /// # Errors
    /// When it does not take it, or says no id.
    fn submit(&mut self, file: &Path, limit: Duration) -> Result<JobId>;

    /// Asks for the job.
    ///
    /// # Errors
    /// When there is no answer.
    fn status(&mut self, job: &JobId) -> Result<JobState>;

    /// Starts a job once more that is late, where it is. Most keep it in their queue.
    ///
    /// # Errors
    /// When it cannot.
    fn retry(&mut self, _job: &JobId, _file: &Path) -> Result<()> {
        Ok(())
    }

    /// Ends the job, by its id alone.
    ///
    /// # Errors
    /// When the engine says no.
    fn cancel(&mut self, job: &JobId) -> Result<()>;

    /// Fetches what ranks wrote, where hosts do not share the folder.
    ///
    /// # Errors
    /// When it cannot be fetched.
    fn collect(&mut self, _job: &JobId, _folder: &LaunchFolder) -> Result<()> {
        Ok(())
    }

    /// Gives hosts back that the launch alone took. `job` is `None` where the engine named none.
    ///
    /// # Errors
    /// When it cannot.
    fn tear_down(&mut self, _job: Option<&JobId>) -> Result<()> {
        Ok(())
    }

    /// Commands that say what is wrong with a job that is late or silent.
    fn diagnostics(&self, job: &JobId) -> Vec<Command>;

    /// Looks for a job that was handed over without an answer.
    fn find(&mut self, _name: &str) -> Option<JobId> {
        None
    }

    /// True if there are hosts that may be taken away again.
    fn has_spot(&self) -> bool {
        false
    }

    /// True if hosts and this machine see the same folder while the job runs.
    fn shares_folder(&self) -> bool {
        true
    }

    /// The time between two looks at a job.
    fn pace(&self) -> Duration {
        Duration::from_secs(2)
    }
}

/// Refuses wishes that an engine has no word for: nothing that is asked for is left out without a word.
pub(super) fn refuse(engine: &str, wishes: &[(&str, bool)]) -> Result<()> {
    let refused: Vec<&str> = wishes.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| *flag).collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(LaunchError::Usage(format!("the engine {engine} has no word for {}", refused.join(", "))))
}

/// The wishes that only a queue of hosts has words for.
pub(super) fn of_a_queue(options: &EngineOptions) -> Vec<(&'static str, bool)> {
    vec![
        ("--account", options.account.is_some()),
        ("--partition", options.partition.is_some()),
        ("--exclude", !options.exclude.is_empty()),
    ]
}

/// The wishes that only a cloud or a cluster of containers has words for.
pub(super) fn of_a_cloud(options: &EngineOptions) -> Vec<(&'static str, bool)> {
    vec![
        ("--image", options.image.is_some()),
        ("--claim", options.claim.is_some()),
        ("--infra", options.infra.is_some()),
        ("--spot", options.spot),
    ]
}

/// The rules of an engine whose processes are of this machine.
pub(super) fn on_this_machine(engine: &str, job: &EngineJob<'_>) -> Result<()> {
    let time = [("--time", job.options.minutes.is_some())];
    refuse(engine, &[of_a_queue(job.options), of_a_cloud(job.options), time.to_vec()].concat())?;
    if job.spec.nodes != 1 {
        return Err(LaunchError::Usage(format!(
            "the engine {engine} starts ranks on this machine: leave --nodes out"
        )));
    }
    Ok(())
}
