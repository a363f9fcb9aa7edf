"""The loop of a worker."""


def _worker_loop(fetcher, indices):
    return fetcher.fetch(indices)
