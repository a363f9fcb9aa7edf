"""Ray Data: arrays in the object store, mapped block by block by tasks, and handed out by `iter_batches`."""

from __future__ import annotations

from collections.abc import Iterator

import ray
import ray.data

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()


def steps(batch: dict[str, Array]) -> dict[str, Array]:
    return {"rows": case.steps(batch["data"])}


if __name__ == "__main__":
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = ray.data.from_numpy(case.rows)
    compute = ray.data.TaskPoolStrategy(size=max(case.workers, 1))
    mapped = dataset.map_batches(steps, batch_size=None, zero_copy_batch=True, compute=compute)

    def epoch() -> Iterator[Array]:
        return (batch["rows"] for batch in iter(mapped.iter_batches(batch_size=case.batch_size)))

    measure(case, epoch, whole=True, warm_up=8)  # actors that the first epoch starts import for seconds
    ray.shutdown()
