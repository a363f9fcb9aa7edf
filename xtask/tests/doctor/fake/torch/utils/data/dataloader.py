"""A loader whose workers are threads: a data set that waits is faster with more of them."""

import collections
from concurrent.futures import ThreadPoolExecutor

from ._utils import fetch, worker


class _BaseDataLoaderIter:
    def __init__(self, loader):
        size, count = loader.batch_size, len(loader.dataset)
        self.batches = iter([range(at, min(at + size, count)) for at in range(0, count, size)])
        self.fetcher = fetch._MapDatasetFetcher(loader.dataset)
        self.pool = ThreadPoolExecutor(loader.num_workers) if loader.num_workers else None
        self.ahead = collections.deque()
        for _ in range(loader.num_workers * (loader.prefetch_factor or 0)):
            self._ask()

    def _ask(self):
        indices = next(self.batches, None)
        if indices is not None:
            self.ahead.append(self.pool.submit(worker._worker_loop, self.fetcher, indices))

    def __iter__(self):
        return self

    def __next__(self):
        if self.pool is None:
            return self.fetcher.fetch(next(self.batches))
        if not self.ahead:
            raise StopIteration
        batch = self.ahead.popleft().result()
        self._ask()
        return batch


class DataLoader:
    """Batches of a data set."""

    def __init__(self, dataset, batch_size=1, num_workers=0, prefetch_factor=None):
        self.dataset, self.batch_size, self.num_workers = dataset, batch_size, num_workers
        self.prefetch_factor = prefetch_factor or (2 if num_workers else None)
        self.pin_memory = self.persistent_workers = False

    def __len__(self):
        return -(-len(self.dataset) // self.batch_size)

    def __iter__(self):
        return _BaseDataLoaderIter(self)
