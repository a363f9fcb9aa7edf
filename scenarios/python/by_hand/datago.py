"""datago: a folder of image files, written once without loss, whose images come in any order."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from .case import Array, Case
from .timed import measure

case = Case.from_arguments()
os.environ["DATAGO_MAX_TASKS"] = str(case.workers)


def epoch(client: object) -> Iterator[Array]:
    client.start()
    samples = iter(client.get_sample, None)
    while some := [sample.image.to_numpy_array() for sample in islice(samples, case.batch_size)]:
        yield case.steps(np.stack(some))


if __name__ == "__main__":
    import datago

    with TemporaryDirectory(dir=case.files) as folder:
        for index, image in enumerate(case.rows):
            Image.fromarray(image).save(f"{folder}/{index:09}.png", compress_level=1)
        source = {"root_path": folder, "random_sampling": False, "rank": 0, "world_size": 1}
        config = {"source_type": "file", "source_config": source, "limit": len(case.rows), "samples_buffer_size": 32}
        client = datago.DatagoClient(json.dumps(config))
        measure(case, lambda: epoch(client))
        client.stop()
