"""A loop over Grain's loader, with a planted stall."""

import grain.python as grain
import stall


class Source:
    def __len__(self):
        return stall.count()

    def __getitem__(self, index):
        return index


class Element(grain.MapTransform):
    def map(self, index):
        return stall.element(index)


def main():
    sampler = grain.IndexSampler(stall.count(), shard_options=grain.NoSharding(), shuffle=False, num_epochs=1)
    operations = [Element(), grain.Batch(stall.BATCH)]
    loader = grain.DataLoader(data_source=Source(), sampler=sampler, operations=operations, worker_count=stall.WORKERS)
    for epoch in range(stall.epochs()[0]):
        stall.begin_epoch()
        for number, batch in enumerate(loader):
            stall.step(number)


if __name__ == "__main__":
    main()
