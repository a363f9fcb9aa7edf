"""A training on shards of WebDataset, with a planted stall."""

import os
import tarfile
import io

import stall
import webdataset


def main():
    shard = os.path.join(stall.FOLDER, "shard.tar")
    with tarfile.open(shard, "w") as tar:
        for index in range(stall.count()):
            info = tarfile.TarInfo("%06d.cls" % index)
            text = str(index).encode()
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    data = webdataset.WebDataset(shard, shardshuffle=False).decode().to_tuple("cls").map_tuple(stall.element)
    data = data.batched(stall.BATCH)
    loader = webdataset.WebLoader(data, batch_size=None, num_workers=stall.WORKERS) if stall.WORKERS else data
    for epoch in range(stall.epochs()[0]):
        stall.begin_epoch()
        for number, batch in enumerate(loader):
            stall.step(number)


if __name__ == "__main__":
    main()
