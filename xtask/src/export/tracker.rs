//! Experiment trackers, through their own SDKs: a small script of Python is handed the run as one JSON
//! document.
//!
//! Nothing is sent anywhere. W&B writes its offline folder, which `wandb sync` uploads; `MLflow` writes a
//! store of files.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weighbridge::data::Reading;
use weighbridge_launch::output_within;

use super::{ExportOutput, Job};
use crate::report::charts;

/// A tracker: its module, what installs it, and the script.
struct Tracker {
    module: &'static str,
    install: &'static str,
    script: &'static str,
}

const WANDB: Tracker = Tracker {
    module: "wandb",
    install: "pip install 'wandb>=0.31,<0.32'",
    script: include_str!("tracker/export_wandb.py"),
};

const MLFLOW: Tracker = Tracker {
    module: "mlflow",
    install: "pip install mlflow-skinny",
    script: include_str!("tracker/export_mlflow.py"),
};

pub(super) fn wandb(job: &Job<'_>) -> Result<ExportOutput> {
    hand_over(job, &WANDB)
}

pub(super) fn mlflow(job: &Job<'_>) -> Result<ExportOutput> {
    hand_over(job, &MLFLOW)
}

fn hand_over(job: &Job<'_>, tracker: &Tracker) -> Result<ExportOutput> {
    let folder = job.folder()?;
    let python = job.python;
    let Tracker { module, install, script } = tracker;
    let find = format!("import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)");
    let asked = output_within(Command::new(python).args(["-c", &find]), Duration::from_mins(1));
    let missing = format!(
        "`{}` has no {module}: {install}, or name another interpreter with --python",
        python.display()
    );
    match asked {
        Ok(answer) if answer.status.success() => {}
        Ok(_) => return Ok(ExportOutput::Skipped(missing)),
        Err(error) => {
            return Ok(ExportOutput::Skipped(format!(
                "failed to start `{}`: {error}; {missing}",
                python.display()
            )));
        }
    }
    std::fs::create_dir_all(folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    let folder = std::path::absolute(folder)?;
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start `{}`", python.display()))?;
    let text = document(job, &folder)?.to_string();
    let mut input = child.stdin.take().context("the script has no standard input")?;
    // A script that dies early is told by how it ends.
    drop(input.write_all(text.as_bytes()));
    drop(input);
    let ended = child.wait_with_output().context("failed to wait for the script")?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        let last: Vec<&str> = said.trim().lines().rev().take(4).collect();
        bail!("{module} failed: {}", last.into_iter().rev().collect::<Vec<_>>().join("\n"));
    }
    Ok(ExportOutput::Done(String::from_utf8_lossy(&ended.stdout).trim().to_owned()))
}

/// The run as the scripts take it. Values of a metric are those of the repeats, in order. Charts are PNG in
/// base64, by the stems of their files.
fn document(job: &Job<'_>, folder: &Path) -> Result<Value> {
    let manifest = &job.run.manifest;
    let environment = &manifest.environment;
    let cases = job.run.cases.iter().map(|case| {
        let metrics = case.metrics.iter().filter(|metric| metric.estimate.is_some());
        let metrics = metrics.map(|metric| {
            json!({
                "name": metric.name,
                "unit": metric.unit.symbol(),
                "values": metric.values.iter().filter_map(Reading::value).collect::<Vec<_>>(),
                "median": metric.estimate.map(|estimate| estimate.median),
                "interval": metric.estimate.and_then(|estimate| estimate.interval),
            })
        });
        let point: serde_json::Map<String, Value> =
            case.id.point.iter().map(|value| (value.axis.clone(), json!(value.text))).collect();
        json!({
            "case": case.id.to_string(), "slug": case.id.slug(),
            "scenario": case.id.scenario, "adapter": case.id.adapter,
            "point": point, "ranked": case.ranked(), "trouble": crate::show::trouble(case),
            "metrics": metrics.collect::<Vec<_>>(),
        })
    });
    let charts = charts::pictures(job.place, manifest)?.into_iter();
    let charts: BTreeMap<String, String> =
        charts.map(|(stem, picture)| (stem, STANDARD.encode(picture))).collect();
    Ok(json!({
        "out": folder,
        "project": job.project,
        "entity": job.entity,
        "run": manifest.id.as_str(),
        "suite": manifest.suite,
        "started": manifest.started,
        "profile": manifest.profile,
        "config": {
            "machine": environment.machine, "software": environment.software,
            "variables": environment.variables,
            "profile": manifest.profile, "platform": manifest.active_backend, "seed": manifest.seed,
            "repeats": manifest.planned.repeats,
        },
        "records": job.place.layout.run(&manifest.id),
        "charts": charts,
        "cases": cases.collect::<Vec<_>>(),
    }))
}
