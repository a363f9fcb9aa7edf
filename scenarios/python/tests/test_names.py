"""What a worker hands in becomes names of metrics, which are words of snake case."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from weighbridge_worker import tags
from weighbridge_worker.collectors import COLLECTORS

from .conftest import HOME
from .harness import WORD

TRAINERS = sorted((HOME / "weighbridge_worker" / "trainers").glob("[!_]*.py"))


def phases(file: Path) -> set[str]:
    """Every name that the file gives a phase, also one of two."""
    calls = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
    named = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "phase"]
    texts = (node for call in named for argument in call.args for node in ast.walk(argument))
    return {text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str)}


@pytest.mark.parametrize("file", TRAINERS, ids=lambda file: file.stem)
def test_phases_of_every_trainer_are_words_of_snake_case(file):
    assert [name for name in phases(file) if not WORD.fullmatch(name)] == []


def test_phases_are_found_in_the_files_of_trainers():
    found = set().union(*map(phases, TRAINERS))
    assert {"data", "forward", "backward", "optimiser", "backward_communication"} <= found


def test_collectors_and_the_tags_that_are_given_here_are_words_of_snake_case():
    words = [*COLLECTORS, *(word for tag in tags.KNOWN.values() for word in tag.split("/"))]
    assert [word for word in words if not WORD.fullmatch(word)] == []
