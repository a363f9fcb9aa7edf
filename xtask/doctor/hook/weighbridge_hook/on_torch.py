"""PyTorch's DataLoader, and what is built on it: TorchData, HuggingFace Datasets, Lightning, LitData, WebDataset."""

import copy
import functools
import os
import signal
import time
import weakref

from . import fetches, loop, places, quiet, sampler

#: Files of these are no callers of the framework, but it itself.
_SKIP = ("torch/utils/data", "torch%sutils%sdata" % (os.sep, os.sep))

_SETTINGS = ("num_workers", "prefetch_factor", "pin_memory", "persistent_workers", "batch_size")


class Source:
    """A DataLoader as a loop sees it."""

    is_taken_within = False
    can_freeze = True
    is_made_elsewhere = True  # where batches are fetched, which is patched

    def __init__(self, loader, begin, take):
        self.loader, self._begin, self._take = loader, begin, take

    def begin(self):
        return self._begin(self.loader)

    def next(self, iterator):
        return self._take(iterator)

    def settings(self):
        found = {name: getattr(self.loader, name, None) for name in _SETTINGS}
        found = {name: value for name, value in found.items() if isinstance(value, (bool, int, type(None)))}
        try:
            found["batches"] = len(self.loader)
        except Exception:
            found["batches"] = None
        found["dataset"] = type(getattr(self.loader, "dataset", None)).__name__
        torch = _torch()
        found["threads"] = torch.get_num_threads() if hasattr(torch, "get_num_threads") else None
        found["cuda"] = bool(hasattr(torch, "cuda") and torch.cuda.is_available())
        return found

    def ahead(self):
        """Batches that workers make ahead."""
        return (self.loader.num_workers or 0) * (self.loader.prefetch_factor or 0)

    def freeze(self, iterator):
        self._signal(iterator, signal.SIGSTOP)

    def thaw(self, iterator):
        self._signal(iterator, signal.SIGCONT)

    def _signal(self, iterator, number):
        for worker in getattr(iterator, "_workers", None) or ():
            if worker.pid is not None and worker.is_alive():
                os.kill(worker.pid, number)

    def arms(self):
        """Loaders with other settings, and other numbers of threads."""
        arms = {}
        workers, cores = self.loader.num_workers, places.processors()
        for other in sorted({0, 1, 2, workers * 2, max(workers // 2, 0), cores, 2 * cores}):
            if other != workers and other <= max(2 * cores, 2 * workers):
                arms["workers=%d" % other] = ("other", functools.partial(self._with, num_workers=other))
        if workers:
            depth = 2 * (self.loader.prefetch_factor or 2)
            arms["prefetch=%d" % depth] = ("other", functools.partial(self._with, prefetch_factor=depth))
        torch = _torch()
        if hasattr(torch, "cuda") and torch.cuda.is_available():
            pinned = not self.loader.pin_memory
            arms["pinned=%s" % pinned] = ("other", functools.partial(self._with, pin_memory=pinned))
        if hasattr(torch, "set_num_threads"):
            now = torch.get_num_threads()
            for other in sorted({1, max(cores // 2, 1), cores} - {now}):
                value = {"get": torch.get_num_threads, "set": torch.set_num_threads, "to": other}
                arms["threads=%d" % other] = ("called", value)
        return arms

    def _with(self, **changes):
        """The same loader with other settings."""
        other = copy.copy(self.loader)
        other.__dict__["_iterator"] = None
        for name, value in changes.items():
            other.__dict__[name] = value
        if other.num_workers == 0:
            other.__dict__.update(prefetch_factor=None, persistent_workers=False)
        elif other.prefetch_factor is None:
            other.__dict__["prefetch_factor"] = 2
        return Source(other, self._begin, self._take)


def _torch():
    import torch

    return torch


def patch_dataloader(module):
    """Patches the module `torch.utils.data.dataloader`."""
    kind, iterators = module.DataLoader, module._BaseDataLoaderIter
    init, begin, take = kind.__init__, kind.__iter__, iterators.__next__
    loops = weakref.WeakKeyDictionary()

    @functools.wraps(init)
    def patched_init(self, *args, **kwargs):
        init(self, *args, **kwargs)
        loops[self] = loop.of(Source(self, begin, take), "PyTorch DataLoader", _SKIP)

    @functools.wraps(begin)
    def patched_iter(self):
        started = time.monotonic_ns()
        iterator = begin(self)
        of = loops.get(self)
        if of is not None and isinstance(iterator, iterators):
            of.begins(Source(self, begin, take), started)
            iterator._weighbridge_loop = of
        return iterator

    @functools.wraps(take)
    def patched_next(self):
        of = self.__dict__.get("_weighbridge_loop")
        return take(self) if of is None or loop.is_inside() else of.next(self)

    kind.__init__, kind.__iter__, iterators.__next__ = patched_init, patched_iter, patched_next


def patch_fetch(module):
    """Patches the module `torch.utils.data._utils.fetch`, which makes a batch in the process that calls it."""
    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        kind = getattr(module, name)
        kind.fetch = _timed_fetch(kind.fetch)


def _timed_fetch(fetch):
    @functools.wraps(fetch)
    def timed(self, indices):
        return fetches.timed(loop.within(fetch), self, indices)

    return timed


def patch_worker(module):
    """Patches the module `torch.utils.data._utils.worker`: workers are looked at as well."""
    original = module._worker_loop

    @functools.wraps(original)
    def worker_loop(*args, **kwargs):
        sampler.start(20, lambda: "fetch" if fetches.is_inside() else "else")
        return original(*args, **kwargs)

    module._worker_loop = worker_loop


def patch_serialization(module):
    """Patches the module `torch.serialization`."""
    module.save = quiet.timed(module.save, "saving", "torch.save")


def patch_torch(module):
    """Patches the package's own name of `torch.save`, which stands in two places."""
    if hasattr(module, "save") and not hasattr(module.save, "__wrapped__"):
        module.save = quiet.timed(module.save, "saving", "torch.save")
