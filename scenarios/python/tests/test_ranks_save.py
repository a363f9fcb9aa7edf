"""Every checkpointer that saves from several processes and is installed, over real workers in its own environment."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from .conftest import Made
from .harness import Worker
from .test_adapters import PINNED, python

ENVIRONMENTS = {"orbax": "orbax", "torch_dcp": "torch"}
OF = 2
SHARDINGS = [[["line"], []], [[], ["line"]], [[]]]


@pytest.fixture
def state(tmp_path):
    random = np.random.default_rng(5)
    place = tmp_path / "data"
    place.mkdir()
    tensors = {"rows": (1, 6, 5), "columns": (1, 3, 4), "whole": (1, 5)}
    return Made(place, {name: random.normal(size=shape).astype(np.float32) for name, shape in tensors.items()})


@pytest.fixture
def ranks(request):
    name, environment = request.param
    started = [Worker(f"checkpointers.{name}", python(environment), **PINNED) for _ in range(OF)]
    for worker in started:
        assert worker.hear()[0] == "hello"
    yield started
    for worker in started:
        worker.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


def opened(ranks, state, tmp_path, saving):
    """Opens the state on all ranks, which meet meanwhile."""
    meet = free_port()
    for index, worker in enumerate(ranks):
        place = tmp_path / str(index)
        place.mkdir()
        worker.tell(
            "open",
            contract="checkpointer",
            **worker.places(place),
            device="cpu",
            data=state.said,
            pipeline={},
            state={"saving": saving, "mesh": [["line", OF]], "shardings": SHARDINGS},
            rank={"index": index, "of": OF, "meet": meet, "own": "127.0.0.1", "patience": 60 * 10**9},
        )
    return [worker.hear() for worker in ranks]


def all_do(ranks, what, **more):
    """Has all ranks do something at once."""
    for worker in ranks:
        worker.tell("call", name=what, **more)
    assert [worker.hear() for worker in ranks] == [("answer", {})] * OF, what


@pytest.mark.parametrize("saving", ["blocking", "background"])
@pytest.mark.parametrize("ranks", ENVIRONMENTS.items(), ids=ENVIRONMENTS, indirect=True)
def test_ranks_save_one_checkpoint_and_each_loads_its_own_part(ranks, state, tmp_path, saving):
    assert [name for name, _ in opened(ranks, state, tmp_path, saving)] == ["opened"] * OF
    for number in range(2):  # a second checkpoint beside the first
        directory = str(tmp_path / f"saved-{number}")
        all_do(ranks, "save", directory=directory, durable=False)
        all_do(ranks, "wait")
        all_do(ranks, "release")
        all_do(ranks, "load", directory=directory)
    for index, worker in enumerate(ranks):
        for field, (tensor, array) in enumerate(state.fields.items()):
            cut = [
                slice(index * size // OF, (index + 1) * size // OF) if axes else slice(None)
                for size, axes in zip(array.shape[1:], SHARDINGS[field], strict=True)
            ]
            name, said = worker.ask("call", name="part", field=field, device=index)
            assert name == "batch", said
            assert np.array_equal(worker.read(said)[tensor][0], array[0][tuple(cut)]), (index, tensor)
        assert worker.ask("call", name="part", field=0, device=1 - index)[0] == "failed", "a rank has its part alone"
    for worker in ranks:
        worker.tell("close")
    assert [worker.hear()[0] for worker in ranks] == ["closed"] * OF
