//! `sky`: `SkyPilot` makes a cluster of a cloud's hosts, and each starts its ranks itself.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Map, Value, json};

use super::contract::{Checked, Engine, EngineJob, JobId, LOOK, of_a_queue, refuse};
use crate::agent::PER_HOST;
use crate::ask::{ask, is_there};
use crate::error::{LaunchError, Result};
use crate::folder::LaunchFolder;
use crate::machine::JobState;

/// The time that giving hosts back may take: clouds are slow.
const DOWN: Duration = Duration::from_mins(10);

/// A cluster of `SkyPilot`'s, which is named for the launch and taken by it alone.
#[derive(Debug, Default)]
pub(super) struct Sky {
    /// `sky launch`: it makes the cluster and then shows what the job says.
    launching: Option<Child>,
    cluster: Option<String>,
    folder: Option<PathBuf>,
}

impl Engine for Sky {
    fn file_name(&self) -> &'static str {
        "task.yaml"
    }

    /// YAML that is JSON: every reader of the one reads the other, and nothing breaks out of a text.
    fn render(&self, job: &EngineJob<'_>) -> Result<String> {
        let EngineJob { spec, folder, options, .. } = job;
        refuse("sky", &of_a_queue(options))?;
        let claim = [("--claim", options.claim.is_some()), ("--time", options.minutes.is_some())];
        refuse("sky", &claim)?;
        let mut resources = Map::new();
        if let Some(gpus) = &spec.gpus {
            let Some(kind) = &gpus.kind else {
                return Err(LaunchError::Usage("sky reserves devices by their kind: --gpus A100:1".into()));
            };
            resources.insert("accelerators".into(), json!(format!("{kind}:{}", gpus.count)));
        }
        if let Some(infra) = &options.infra {
            resources.insert("infra".into(), json!(infra));
        }
        if let Some(image) = &options.image {
            resources.insert("image_id".into(), json!(format!("docker:{image}")));
        }
        resources.insert("use_spot".into(), json!(options.spot));
        let mut variables: Map<String, Value> =
            job.variables().into_iter().map(|(name, value)| (name, json!(value))).collect();
        variables.insert(PER_HOST.into(), json!("1"));
        let root = folder.root().display().to_string();
        let mut task = Map::new();
        task.insert("name".into(), json!(job.name()));
        task.insert("num_nodes".into(), json!(spec.nodes));
        task.insert("resources".into(), Value::Object(resources));
        task.insert("envs".into(), Value::Object(variables));
        task.insert("file_mounts".into(), json!({ root.clone(): root }));
        task.insert("run".into(), json!(format!("exec {}\n", job.tool())));
        for line in &options.extra {
            let pair = line.split_once(':').filter(|(key, _)| !task.contains_key(key.trim()));
            let Some((key, value)) = pair else {
                return Err(LaunchError::Usage(format!(
                    "`{line}` is no line of a task beside ours: write `KEY: VALUE` with another key"
                )));
            };
            let value = value.trim();
            let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            task.insert(key.trim().into(), value);
        }
        Ok(serde_json::to_string_pretty(&Value::Object(task)).expect("a task is text") + "\n")
    }

    fn check(&self, file: &Path) -> Result<Checked> {
        let python = std::env::var("WEIGHBRIDGE_SKY_PYTHON").unwrap_or_else(|_| "python3".into());
        let read = "import sys, sky\nsky.Task.from_yaml(sys.argv[1])\nprint(sky.__version__)";
        let said = ask(Command::new(&python).args(["-c", read]).arg(file), 3 * LOOK);
        match said {
            Ok(said) if said.is_fine() => Ok(Checked::Taken {
                by: format!("sky.Task of SkyPilot {}", said.out.trim()),
                said: String::new(),
            }),
            Ok(said) if said.err.contains("No module named 'sky'") => {
                Ok(Checked::Unchecked(format!("`{python}` has no module `sky`")))
            }
            Ok(said) => {
                let last = said.err.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
                Err(LaunchError::Refused { by: "sky.Task".into(), why: last.trim().to_owned() })
            }
            Err(error) => Ok(Checked::Unchecked(error.to_string())),
        }
    }

    fn submit(&mut self, file: &Path, _: Duration) -> Result<JobId> {
        if !is_there("sky") {
            return Err(LaunchError::engine("sky", "there is no such command: `pip install skypilot`"));
        }
        let folder = file.parent().and_then(Path::parent).unwrap_or(Path::new("."));
        let launch = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let cluster = format!("weighbridge-{launch}");
        (self.cluster, self.folder) = (Some(cluster.clone()), Some(folder.to_owned()));
        self.launch(&cluster, file)?;
        Ok(JobId(cluster))
    }

    fn status(&mut self, job: &JobId) -> Result<JobState> {
        let Some(child) = &mut self.launching else { return Ok(JobState::Unknown) };
        let ended = child.try_wait().map_err(|error| LaunchError::engine("sky launch", error.to_string()))?;
        let queue = || ask(Command::new("sky").args(["queue", &job.0]), LOOK);
        match ended {
            None => match queue() {
                Ok(said) if said.out.contains("RUNNING") => Ok(JobState::Running { restarts: 0 }),
                _ => Ok(JobState::Queued { why: "the cluster is being made".into(), restarts: 0 }),
            },
            // It says what became of the job that it showed.
            Some(ended) if ended.success() => {
                Ok(JobState::Done { code: Some(0), why: "sky launch ended with 0".into() })
            }
            Some(ended) => {
                let why = format!("sky launch: {ended}: {}", self.newest_line());
                Ok(JobState::Done { code: ended.code(), why })
            }
        }
    }

    fn retry(&mut self, job: &JobId, file: &Path) -> Result<()> {
        self.stop_launching();
        self.launch(&job.0.clone(), file)
    }

    fn cancel(&mut self, job: &JobId) -> Result<()> {
        self.stop_launching();
        // The cluster is this launch's own: all jobs of it are.
        let said = ask(Command::new("sky").args(["cancel", "--yes", "--all", &job.0]), LOOK)?;
        if said.is_fine() || said.complaint().contains("not found") {
            return Ok(());
        }
        said.or_refuse("sky cancel").map(drop)
    }

    fn collect(&mut self, job: &JobId, folder: &LaunchFolder) -> Result<()> {
        let root = folder.root().display().to_string();
        let mut copy = Command::new("scp");
        copy.args(["-r", "-q", &format!("{}:{root}/.", job.0), &root]);
        ask(&mut copy, DOWN)?.or_refuse("scp").map(drop)
    }

    fn tear_down(&mut self, job: Option<&JobId>) -> Result<()> {
        self.stop_launching();
        let Some(cluster) = job.map(|job| job.0.clone()).or_else(|| self.cluster.clone()) else {
            return Ok(());
        };
        let said = ask(Command::new("sky").args(["down", "--yes", &cluster]), DOWN)?;
        if said.is_fine() || said.complaint().contains("not found") {
            return Ok(());
        }
        said.or_refuse("sky down").map(drop)
    }

    fn diagnostics(&self, job: &JobId) -> Vec<Command> {
        let sky = |args: &[&str]| {
            let mut sky = Command::new("sky");
            sky.args(args);
            sky
        };
        vec![
            sky(&["status", "--refresh", &job.0]),
            sky(&["queue", &job.0]),
            sky(&["logs", "--no-follow", "--tail", "200", &job.0]),
        ]
    }

    fn has_spot(&self) -> bool {
        true
    }

    fn shares_folder(&self) -> bool {
        false
    }
}

impl Sky {
    fn launch(&mut self, cluster: &str, file: &Path) -> Result<()> {
        let log = file.with_extension("out");
        let out = File::options().create(true).append(true).open(&log);
        let out = out.map_err(LaunchError::io("write", &log))?;
        let err = out.try_clone().map_err(LaunchError::io("write", &log))?;
        let mut sky = Command::new("sky");
        sky.args(["launch", "--yes", "--cluster", cluster]).arg(file).stdin(Stdio::null());
        sky.stdout(out).stderr(err).process_group(0);
        let failed = |error: std::io::Error| LaunchError::engine("sky launch", error.to_string());
        self.launching = Some(sky.spawn().map_err(failed)?);
        Ok(())
    }

    /// Ends the command; the cluster goes by [`Engine::tear_down`].
    fn stop_launching(&mut self) {
        if let Some(mut child) = self.launching.take()
            && matches!(child.try_wait(), Ok(None))
        {
            let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
            drop(child.wait());
        }
    }

    fn newest_line(&self) -> String {
        let log = self.folder.as_ref().map(|folder| folder.join("engine/task.out"));
        let text = log.and_then(|log| crate::ask::newest(File::open(log).ok()?).ok()).unwrap_or_default();
        text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
    }
}

impl Drop for Sky {
    fn drop(&mut self) {
        self.stop_launching();
    }
}
