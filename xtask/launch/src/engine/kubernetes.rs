//! `kubernetes`: an Indexed Job, a pod for each host, on a volume that all of them mount.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::contract::{Checked, Engine, EngineJob, JobId, LOOK, refuse};
use crate::agent::PER_HOST;
use crate::ask::{ask, is_there};
use crate::error::{LaunchError, Result};
use crate::machine::JobState;

/// A cluster, by `kubectl` in its own namespace.
#[derive(Debug)]
pub(super) struct Kubernetes;

impl Engine for Kubernetes {
    fn file_name(&self) -> &'static str {
        "job.yaml"
    }

    /// YAML that is JSON: nothing breaks out of a text.
    fn render(&self, job: &EngineJob<'_>) -> Result<String> {
        let EngineJob { spec, folder, options, .. } = job;
        let other = [
            ("--account", options.account.is_some()),
            ("--infra", options.infra.is_some()),
            ("--spot", options.spot),
            ("--extra", !options.extra.is_empty()),
        ];
        refuse("kubernetes", &other)?;
        let missing =
            |flag: &str, why: &str| LaunchError::Usage(format!("the engine kubernetes needs {flag}: {why}"));
        let image =
            options.image.as_ref().ok_or_else(|| missing("--image IMAGE", "pods run in a container"))?;
        let claim = options
            .claim
            .as_ref()
            .ok_or_else(|| missing("--claim NAME", "the volume that is mounted at the shared folder"))?;
        let mut env: Vec<Value> =
            job.variables().iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        env.push(json!({ "name": PER_HOST, "value": "1" }));
        let shared = folder.root().ancestors().nth(2).unwrap_or(Path::new("/"));
        let mut container = json!({
            "name": "ranks",
            "image": image,
            "command": [folder.tool()],
            "env": env,
            "volumeMounts": [{ "name": "shared", "mountPath": shared }],
        });
        if let Some(gpus) = &spec.gpus {
            container["resources"] = json!({ "limits": { "nvidia.com/gpu": gpus.count } });
        }
        let mut pod = json!({
            "restartPolicy": "Never",
            "containers": [container],
            "volumes": [{ "name": "shared", "persistentVolumeClaim": { "claimName": claim } }],
            // One pod for each host.
            "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": { "matchLabels": { "weighbridge-launch": spec.launch } },
                "topologyKey": "kubernetes.io/hostname",
            }] } },
        });
        if !options.exclude.is_empty() {
            pod["affinity"]["nodeAffinity"] = json!({ "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{ "matchExpressions": [{
                    "key": "kubernetes.io/hostname", "operator": "NotIn", "values": options.exclude,
                }] }],
            } });
        }
        let labels = json!({ "weighbridge-launch": spec.launch });
        let mut work = json!({
            "completionMode": "Indexed",
            "completions": spec.nodes,
            "parallelism": spec.nodes,
            "backoffLimit": 0,
            "template": { "metadata": { "labels": labels }, "spec": pod },
        });
        if let Some(minutes) = options.minutes {
            work["activeDeadlineSeconds"] = json!(minutes * 60);
        }
        let mut labels = labels;
        if let Some(queue) = &options.partition {
            labels["kueue.x-k8s.io/queue-name"] = json!(queue);
            work["suspend"] = json!(true);
        }
        let whole = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": job.name(), "labels": labels },
            "spec": work,
        });
        Ok(serde_json::to_string_pretty(&whole).expect("a job is text") + "\n")
    }

    fn check(&self, file: &Path) -> Result<Checked> {
        let checker = "kubernetes-validate";
        if !is_there(checker) {
            return Ok(Checked::Unchecked(format!("there is no `{checker}` here: `pip install {checker}`")));
        }
        let said = ask(Command::new(checker).arg("--strict").arg(file), LOOK)?;
        match said.is_fine() {
            true => Ok(Checked::Taken { by: checker.into(), said: said.complaint() }),
            false => Err(LaunchError::Refused { by: checker.into(), why: said.complaint() }),
        }
    }

    fn submit(&mut self, file: &Path, limit: Duration) -> Result<JobId> {
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["create", "--output", "name", "--filename"]).arg(file);
        let said = ask(&mut kubectl, limit)?.or_refuse("kubectl create")?;
        let name = said.out.trim().strip_prefix("job.batch/").filter(|name| !name.is_empty());
        name.map(|name| JobId(name.to_owned())).ok_or_else(|| {
            LaunchError::engine("kubectl create", format!("it named no job: `{}`", said.out.trim()))
        })
    }

    fn status(&mut self, job: &JobId) -> Result<JobState> {
        let said = ask(Command::new("kubectl").args(["get", "job", &job.0, "--output", "json"]), LOOK)?;
        if said.err.contains("NotFound") {
            return Ok(JobState::Unknown);
        }
        let said = said.or_refuse("kubectl get")?;
        let told: Value = serde_json::from_str(&said.out)
            .map_err(|error| LaunchError::engine("kubectl get", error.to_string()))?;
        Ok(state(&told["status"]))
    }

    fn cancel(&mut self, job: &JobId) -> Result<()> {
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["delete", "job", &job.0, "--ignore-not-found", "--cascade=foreground"]);
        ask(&mut kubectl, 2 * LOOK)?.or_refuse("kubectl delete").map(drop)
    }

    fn tear_down(&mut self, job: Option<&JobId>) -> Result<()> {
        job.map_or(Ok(()), |job| self.cancel(job))
    }

    fn diagnostics(&self, job: &JobId) -> Vec<Command> {
        let kubectl = |args: &[&str]| {
            let mut kubectl = Command::new("kubectl");
            kubectl.args(args);
            kubectl
        };
        let selector = format!("job-name={}", job.0);
        vec![
            kubectl(&["describe", "job", &job.0]),
            kubectl(&["describe", "pods", "--selector", &selector]),
            kubectl(&["logs", "--selector", &selector, "--tail", "200"]),
        ]
    }

    fn pace(&self) -> Duration {
        Duration::from_secs(5)
    }
}

fn state(status: &Value) -> JobState {
    let condition = |kind: &str| {
        status["conditions"].as_array()?.iter().find(|of| of["type"] == kind && of["status"] == "True")
    };
    if condition("Complete").is_some() {
        return JobState::Done { code: Some(0), why: "Complete".into() };
    }
    if let Some(failed) = condition("Failed") {
        let text = |key: &str| failed[key].as_str().unwrap_or_default().to_owned();
        return JobState::Done { code: None, why: format!("{}: {}", text("reason"), text("message")) };
    }
    // `active` counts pods that wait as well.
    if status["ready"].as_u64().unwrap_or(0) > 0 {
        return JobState::Running { restarts: 0 };
    }
    JobState::Queued { why: "no pod is ready".into(), restarts: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_that_are_active_and_not_ready_do_not_run_yet() {
        let queued = JobState::Queued { why: "no pod is ready".into(), restarts: 0 };
        assert_eq!(state(&json!({ "active": 4 })), queued);
        assert_eq!(state(&json!({ "active": 4, "ready": 1 })), JobState::Running { restarts: 0 });
        let failed = json!({ "conditions": [
            { "type": "Complete", "status": "False" },
            { "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "one" },
        ] });
        let expected = JobState::Done { code: None, why: "BackoffLimitExceeded: one".into() };
        assert_eq!(state(&failed), expected);
    }
}
