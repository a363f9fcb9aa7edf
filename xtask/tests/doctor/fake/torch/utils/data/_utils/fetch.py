"""The making of a batch."""


class _MapDatasetFetcher:
    def __init__(self, dataset):
        self.dataset = dataset

    def fetch(self, indices):
        return [self.dataset[index] for index in indices]


class _IterableDatasetFetcher(_MapDatasetFetcher):
    pass
