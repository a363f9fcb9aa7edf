"""tf.data: slices of a tensor, batched before they are mapped; with workers mapped in parallel and prefetched."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from .case import Case
from .timed import measure

case = Case.from_arguments()


def steps(rows: Any) -> Any:
    if case.name == "CV-1":
        return tf.cast(rows, tf.float32) / 255.0
    return (rows - case.mean) * case.scale if case.name == "TAB-1" else rows


if __name__ == "__main__":
    options = tf.data.Options()
    options.threading.private_threadpool_size = max(case.workers, 1)
    options.threading.max_intra_op_parallelism = 1
    dataset = tf.data.Dataset.from_tensor_slices(case.rows).batch(case.batch_size)
    if case.workers:
        dataset = dataset.map(steps, num_parallel_calls=case.workers).prefetch(case.workers)
    else:
        dataset = dataset.map(steps)
    dataset = dataset.with_options(options)
    measure(case, dataset.as_numpy_iterator)
