//! `ray`: a job of a Ray cluster, whose driver starts one task for each rank.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::contract::{Checked, Engine, EngineJob, JobId, LOOK, of_a_cloud, of_a_queue, refuse};
use crate::ask::{ask, is_there};
use crate::error::{LaunchError, Result};
use crate::machine::JobState;

/// A Ray cluster, at the address that `RAY_ADDRESS` names.
#[derive(Debug)]
pub(super) struct Ray;

/// The driver: tasks that are spread over the hosts, with a place among those of their host.
const DRIVER: &str = r#"
import os, subprocess, sys
import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

ray.init(address="auto", log_to_driver=True)
per_node = -(-JOB["ranks"] // JOB["nodes"])
ranks = [min(per_node, JOB["ranks"] - node * per_node) for node in range(JOB["nodes"])]
bundles = [{"CPU": count, "GPU": JOB["gpus"]} for count in ranks]
group = placement_group(bundles, strategy="STRICT_SPREAD")
ray.get(group.ready())

@ray.remote(num_cpus=1, max_retries=0)
def rank(number):
    variables = dict(os.environ, **JOB["env"])
    variables["WEIGHBRIDGE_RANK"], variables["WEIGHBRIDGE_RANKS"] = str(number), str(JOB["ranks"])
    variables["WEIGHBRIDGE_LOCAL_RANK"] = str(number % per_node)
    return subprocess.run([JOB["tool"]], env=variables).returncode

def placed(number):
    return PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=number // per_node)

started = [rank.options(scheduling_strategy=placed(number)).remote(number) for number in range(JOB["ranks"])]
sys.exit(max(abs(code) for code in ray.get(started)))
"#;

impl Engine for Ray {
    fn file_name(&self) -> &'static str {
        "job.py"
    }

    fn render(&self, job: &EngineJob<'_>) -> Result<String> {
        let options = job.options;
        let other = [("--time", options.minutes.is_some()), ("--extra", !options.extra.is_empty())];
        refuse("ray", &[of_a_queue(options), of_a_cloud(options), other.to_vec()].concat())?;
        let spec = job.spec;
        let job = json!({
            "ranks": spec.ranks,
            "nodes": spec.nodes,
            "gpus": spec.gpus.as_ref().map_or(0, |gpus| gpus.count),
            "tool": job.folder.tool(),
            "env": job.variables().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        });
        // A text in a text: what is asked for cannot become a line of the driver.
        let text = json!(job.to_string()).to_string();
        Ok(format!("import json\nJOB = json.loads({text})\n{DRIVER}"))
    }

    fn check(&self, file: &Path) -> Result<Checked> {
        let read = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
        match ask(Command::new("python3").args(["-c", read]).arg(file), LOOK) {
            Ok(said) if said.is_fine() => Ok(Checked::Taken { by: "python3".into(), said: String::new() }),
            Ok(said) => Err(LaunchError::Refused { by: "python3".into(), why: said.complaint() }),
            Err(error) => Ok(Checked::Unchecked(error.to_string())),
        }
    }

    fn submit(&mut self, file: &Path, limit: Duration) -> Result<JobId> {
        if !is_there("ray") {
            return Err(LaunchError::engine("ray", "there is no such command: `pip install 'ray[default]'`"));
        }
        let launch = file.parent().and_then(Path::parent).and_then(Path::file_name).unwrap_or_default();
        let id = format!("weighbridge-{}", launch.to_string_lossy());
        let mut ray = Command::new("ray");
        ray.args(["job", "submit", "--no-wait", "--submission-id", &id, "--", "python3"]).arg(file);
        ask(&mut ray, limit)?.or_refuse("ray job submit")?;
        Ok(JobId(id))
    }

    fn status(&mut self, job: &JobId) -> Result<JobState> {
        let said = ask(Command::new("ray").args(["job", "status", &job.0]), LOOK)?;
        let text = format!("{}{}", said.out, said.err);
        let has = |word: &str| text.contains(word);
        Ok(match () {
            () if has("does not exist") => JobState::Unknown,
            () if has("SUCCEEDED") || has("succeeded") => {
                JobState::Done { code: Some(0), why: "SUCCEEDED".into() }
            }
            () if has("FAILED") || has("failed") => JobState::Done { code: None, why: said.complaint() },
            () if has("STOPPED") || has("stopped") => JobState::Cancelled { why: "STOPPED".into() },
            () if has("RUNNING") => JobState::Running { restarts: 0 },
            () if has("PENDING") => JobState::Queued { why: "PENDING".into(), restarts: 0 },
            () => return Err(LaunchError::engine("ray job status", said.complaint())),
        })
    }

    fn cancel(&mut self, job: &JobId) -> Result<()> {
        ask(Command::new("ray").args(["job", "stop", &job.0]), LOOK)?.or_refuse("ray job stop").map(drop)
    }

    fn diagnostics(&self, job: &JobId) -> Vec<Command> {
        let ray = |args: &[&str]| {
            let mut ray = Command::new("ray");
            ray.args(args);
            ray
        };
        vec![ray(&["job", "status", &job.0]), ray(&["job", "logs", &job.0]), ray(&["status"])]
    }
}
