//! `torchrun`: its agent starts the ranks of this machine and sets their variables.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::contract::{Checked, Engine, EngineJob, JobId, on_this_machine};
use super::local::{process_table, shell_check};
use super::own_process::OwnProcess;
use crate::error::Result;
use crate::machine::JobState;

/// torchrun on this machine.
#[derive(Debug, Default)]
pub(super) struct Torchrun {
    process: OwnProcess,
}

impl Engine for Torchrun {
    fn render(&self, job: &EngineJob<'_>) -> Result<String> {
        on_this_machine("torchrun", job)?;
        let ranks = job.spec.ranks;
        Ok(job.script(&format!("torchrun --standalone --nnodes=1 --nproc-per-node={ranks} --no-python")))
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
        Duration::from_millis(500)
    }
}
