"""The operations that follow from a model's dimensions, held against those that two frameworks count."""

from __future__ import annotations

import json
import subprocess

import pytest

from .conftest import HOME
from .test_adapters import PINNED, python

MODELS = {model["name"]: model for model in json.loads((HOME / "tests" / "models.json").read_text())}


@pytest.mark.parametrize("framework, environment", [("torch", "torch"), ("jax", "flax")])
def test_of_every_model_a_framework_counts_the_operations_of_its_dimensions(framework, environment):
    script = str(HOME / "oracle" / "operations.py")
    done = subprocess.run(
        [python(environment), script, framework], check=False, capture_output=True, text=True, env=PINNED
    )
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stdout)
    assert counted.keys() == MODELS.keys()
    for name, operations in counted.items():
        derived = MODELS[name]["computed"]
        print(f"{name}: {derived} derived, {operations:.0f} counted by {framework} ({operations / derived - 1:+.3%})")
    far = {
        name: operations
        for name, operations in counted.items()
        if abs(operations / MODELS[name]["computed"] - 1) > 0.01
    }
    assert not far, far
