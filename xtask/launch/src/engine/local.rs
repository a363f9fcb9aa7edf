//! `local`: ranks are processes of this machine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::contract::{Checked, Engine, EngineJob, JobId, on_this_machine, refuse};
use super::own_process::OwnProcess;
use crate::agent::PER_HOST;
use crate::error::Result;
use crate::machine::JobState;

/// Processes of this machine.
#[derive(Debug, Default)]
pub(super) struct Local {
    process: OwnProcess,
}

impl Engine for Local {
    fn render(&self, job: &EngineJob<'_>) -> Result<String> {
        on_this_machine("local", job)?;
        refuse("local", &[("--extra", !job.options.extra.is_empty())])?;
        Ok(job.script(&format!("env {PER_HOST}=1")))
    }

    fn check(&self, file: &Path) -> Result<Checked> {
        shell_check(file)
    }

    fn submit(&mut self, file: &Path, _: Duration) -> Result<JobId> {
        self.process.start(file)
    }

    fn status(&mut self, _: &JobId) -> Result<JobState> {
        self.process.state()
    }

    fn cancel(&mut self, _: &JobId) -> Result<()> {
        self.process.end()
    }

    fn diagnostics(&self, job: &JobId) -> Vec<Command> {
        process_table(job)
    }

    fn pace(&self) -> Duration {
        Duration::from_millis(200)
    }
}

/// A shell reads a script without running it.
pub(super) fn shell_check(file: &Path) -> Result<Checked> {
    let said = crate::ask::ask(Command::new("sh").arg("-n").arg(file), super::contract::LOOK)?;
    if said.is_fine() {
        return Ok(Checked::Taken { by: "sh -n".into(), said: String::new() });
    }
    Err(crate::error::LaunchError::Refused { by: "sh -n".into(), why: said.complaint() })
}

/// The processes of a job's group.
pub(super) fn process_table(job: &JobId) -> Vec<Command> {
    let mut ps = Command::new("ps");
    ps.args(["-o", "pid,pgid,stat,etime,time,args", "-g", &job.0]);
    vec![ps]
}
