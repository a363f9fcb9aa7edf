"""Writes one run, handed in as JSON on standard input, to a store of files of MLflow: a run for the whole and one for each case."""

import base64
import json
import os
import re
import sys
import tempfile

job = json.load(sys.stdin)
os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
os.environ["MLFLOW_TRACKING_URI"] = "file://" + job["out"]
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow
from mlflow.entities import Metric, Param, RunTag
from mlflow.tracking import MlflowClient


def plain(name):
    """Names may hold letters, digits and a few marks."""
    return re.sub(r"[^A-Za-z0-9_\-. /]", "_", name)[:250].strip("./ ") or "_"


client = MlflowClient()
experiment = client.get_experiment_by_name(job["project"])
experiment = experiment.experiment_id if experiment else client.create_experiment(job["project"])
started = job["started"] * 1000
whole = client.create_run(experiment, start_time=started, run_name=job["run"], tags={"suite": job["suite"], "profile": job["profile"], **({"entity": job["entity"]} if job["entity"] else {})})
facts = [Param(plain(name), str(value)[:500]) for name, value in job["config"]["machine"].items()]
client.log_batch(whole.info.run_id, params=facts[:100])
client.log_artifacts(whole.info.run_id, job["records"], "records")
with tempfile.TemporaryDirectory() as folder:
    for stem, picture in job["charts"].items():
        with open(os.path.join(folder, stem + ".png"), "wb") as file:
            file.write(base64.b64decode(picture))
    client.log_artifacts(whole.info.run_id, folder, "charts")
for case in job["cases"]:
    tags = {"mlflow.parentRunId": whole.info.run_id, "ranked": str(case["ranked"]), "trouble": (case["trouble"] or "")[:5000]}
    one = client.create_run(experiment, start_time=started, run_name=case["case"][:250], tags=tags)
    point = {"scenario": case["scenario"], "system": case["adapter"] or "", **case["point"]}
    params = [Param(plain(name), str(value)[:500]) for name, value in point.items()]
    metrics = [Metric(plain(metric["name"]), value, started, step) for metric in case["metrics"] for step, value in enumerate(metric["values"])]
    client.log_batch(one.info.run_id, params=params, metrics=metrics[:1000])
    client.set_terminated(one.info.run_id, "FINISHED" if not case["trouble"] else "FAILED")
client.set_terminated(whole.info.run_id)
print(f"written: {job['out']}, experiment {job['project']}, {len(job['cases'])} runs below {whole.info.run_id}")
