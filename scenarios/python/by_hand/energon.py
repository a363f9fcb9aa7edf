"""Megatron Energon: tar shards without times (a fraction costs a header a sample), crude samples, and a loader."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
import webdataset as wds
from megatron import energon
from megatron.energon.flavors.webdataset import BaseWebdatasetFactory

from .case import Case
from .timed import measure

case = Case.from_arguments()


class Encoder(energon.TaskEncoder):  # type: ignore[misc, type-arg]
    decoder, cookers = None, (energon.Cooker(energon.stateless(lambda sample: {**sample})),)

    @energon.stateless
    def batch(self, samples: list[dict[str, Any]]) -> torch.Tensor:
        return torch.from_numpy(case.steps(case.decoded([sample["row"] for sample in samples])))


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=case.files) as folder:
        with wds.ShardWriter(f"{folder}/%d.tar", maxcount=-(-len(case.rows) // 4), verbose=0, mtime=0) as shards:
            for index, row in enumerate(case.rows):
                shards.write({"__key__": f"{index:09}", "row": row.tobytes()})
        parts = {"split_parts_ratio": [("val", 1.0)], "shuffle_seed": None, "workers": 1}
        BaseWebdatasetFactory.prepare_dataset(folder, [f"{shard}.tar" for shard in range(4)], **parts)
        Path(folder, ".nv-meta/dataset.yaml").write_text("__module__: megatron.energon\n__class__: CrudeWebdataset\n")
        config = energon.WorkerConfig(rank=0, world_size=1, num_workers=case.workers)
        every = {"batch_size": case.batch_size, "worker_config": config, "task_encoder": Encoder()}
        dataset = energon.get_val_dataset(folder, **every, batch_drop_last=False)
        measure(case, lambda: energon.get_loader(dataset))
