"""Writes one run, handed in as JSON on standard input, to the offline folder of Weights & Biases."""

import base64
import json
import os
import sys
import tempfile

job = json.load(sys.stdin)
os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_ERROR_REPORTING="false", WANDB_DISABLE_GIT="true", WANDB_DISABLE_CODE="true")

import wandb

settings = wandb.Settings(x_disable_stats=True, x_disable_meta=True, x_disable_machine_info=True, console="off")
run = wandb.init(
    project=job["project"],
    entity=job["entity"],
    id=job["run"],
    name=job["run"],
    group=job["suite"],
    tags=[job["profile"]],
    config=job["config"],
    dir=job["out"],
    mode="offline",
    resume="never",
    settings=settings,
)

# One step a repeat: "<scenario and point>/<metric>/<system>".
steps = {}
rows = []
for case in job["cases"]:
    place = "/".join([case["scenario"], *case["point"].values()])
    system = case["adapter"] or case["scenario"]
    for metric in case["metrics"]:
        for step, value in enumerate(metric["values"]):
            steps.setdefault(step, {})[f"{place}/{metric['name']}/{system}"] = value
        low, high = metric["interval"] or (None, None)
        rows.append([place, case["scenario"], system, metric["name"], metric["unit"], metric["median"], low, high, case["ranked"], case["trouble"] or ""])
for step in sorted(steps):
    run.log(steps[step], step=step)
columns = ["point", "scenario", "system", "metric", "unit", "median", "low", "high", "ranked", "trouble"]
run.log({"comparison_table": wandb.Table(columns=columns, data=rows)})

with tempfile.TemporaryDirectory() as folder:
    charts = {}
    for stem, picture in job["charts"].items():
        charts[stem] = os.path.join(folder, stem + ".png")
        with open(charts[stem], "wb") as file:
            file.write(base64.b64decode(picture))
    # The dashboard shows them where Pillow is there, which the SDK reads pictures with. The artifact has them in any case.
    without = ""
    try:
        run.log({f"charts/{stem}": wandb.Image(path) for stem, path in charts.items()})
    except wandb.Error as error:
        without = f"\nthe charts are in the artifact alone: {error}"
    artifact = wandb.Artifact(f"weighbridge-{job['run']}", type="benchmark-results")
    artifact.add_dir(job["records"])
    artifact.add_dir(folder, name="charts")
    run.log_artifact(artifact)
    written = os.path.dirname(run.dir)
    run.finish()
print(f"written offline: {written}\nupload it with: wandb sync {written}{without}")
