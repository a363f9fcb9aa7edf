//! `mpirun` of Open MPI or MPICH, on this machine or on the hosts that its own lines name.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::contract::{Checked, Engine, EngineJob, JobId, of_a_cloud, of_a_queue, refuse};
use super::local::{process_table, shell_check};
use super::own_process::OwnProcess;
use crate::agent::{ATTEMPT, LAUNCH_FOLDER};
use crate::error::Result;
use crate::machine::JobState;

/// mpirun, from this machine.
#[derive(Debug, Default)]
pub(super) struct Mpirun {
    process: OwnProcess,
}

impl Engine for Mpirun {
    fn render(&self, job: &EngineJob<'_>) -> Result<String> {
        let time = [("--time", job.options.minutes.is_some())];
        refuse("mpirun", &[of_a_queue(job.options), of_a_cloud(job.options), time.to_vec()].concat())?;
        let (ranks, names) = (job.spec.ranks, job.spec.env.keys());
        // Open MPI hands named variables on to other hosts; MPICH hands all on, and knows no `-x`.
        let own = [LAUNCH_FOLDER, ATTEMPT].into_iter().chain(names.map(String::as_str));
        let own = own.filter(|_| job.spec.nodes > 1);
        let exported: String = own.map(|name| format!(" -x {name}")).collect();
        Ok(job.script(&format!("mpirun -n {ranks}{exported}")))
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
