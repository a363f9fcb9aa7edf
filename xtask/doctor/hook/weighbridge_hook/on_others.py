"""Loaders of which an iterator is all that is known: their batches are timed, and replayed."""

import copy
import dataclasses
import functools
import os
import time

from . import loop, places, state

#: Methods of a `tf.data` dataset that give another one: a dataset that is made twice goes through them twice.
_FURTHER = ("batch", "padded_batch", "shuffle", "repeat", "prefetch", "take", "skip", "filter", "enumerate", "map")
_FURTHER += ("with_options", "unbatch", "ignore_errors")


class TensorFlow(loop.Iterable):
    """A `tf.data` dataset as a loop sees it."""

    def __init__(self, dataset, begin, take):
        super().__init__(lambda: begin(dataset))
        self.dataset, self.take, self.iterate = dataset, take, begin

    def next(self, iterator):
        return self.take(iterator)

    def settings(self):
        return {"map": getattr(self.dataset, "_weighbridge_map", None)}

    def _of(self, dataset):
        return TensorFlow(dataset, self.iterate, self.take)

    def arms(self):
        twin = getattr(self.dataset, "_weighbridge_twin", None)
        ahead = lambda dataset: self._of(dataset.prefetch(-1))  # noqa: E731
        arms = {"prefetching": ("other", lambda: ahead(self.dataset))}
        if getattr(self.dataset, "_weighbridge_map", None):
            arms["parallel map"] = ("other", lambda: self._of(twin))
            arms["parallel map and prefetching"] = ("other", lambda: ahead(twin))
        return arms


class Keras(TensorFlow):
    """The same, where each step takes its batch itself: within a function of TensorFlow."""

    is_taken_within = True
    is_made_elsewhere = True  # within the step

    def settings(self):
        return dict(super().settings(), is_taken_within=True)

    def next(self, iterator):
        return iterator

    def _of(self, dataset):
        return Keras(dataset, self.iterate, self.take)

    def replay(self):
        """Batches that cost nothing."""
        return self._of(self.dataset.take(4).cache().repeat())


def patch_tf_data(module):
    """Patches `tf.data`: datasets that a script goes through in Python, or that Keras does."""
    kind = module.DatasetV2
    begin = kind.__iter__

    @functools.wraps(begin)
    def patched(self):
        iterator = begin(self)
        if not _is_eager():
            return iterator
        from tensorflow.python.data.ops import iterator_ops

        _patch_iterator(iterator_ops.OwnedIterator)
        source = TensorFlow(self, begin, iterator_ops.OwnedIterator._weighbridge_next)
        iterator._weighbridge_source = source
        iterator._weighbridge_started = time.monotonic_ns()
        iterator._weighbridge_loop = loop.of(source, "tf.data", ("tensorflow/python", "keras/src"))
        return iterator

    kind.__iter__ = patched
    for name in _FURTHER:
        if name in kind.__dict__:
            setattr(kind, name, _twice(name, kind.__dict__[name]))


def _is_eager():
    import tensorflow

    return tensorflow.executing_eagerly() and not tensorflow.inside_function()


def _patch_iterator(kind):
    """Patches the iterator of datasets, once."""
    if "_weighbridge_next" in kind.__dict__:
        return
    take = kind._weighbridge_next = kind.__next__

    @functools.wraps(take)
    def patched(self):
        of = self.__dict__.get("_weighbridge_loop")
        if of is None or loop.is_inside() or not _is_eager():
            return take(self)
        started = self.__dict__.pop("_weighbridge_started", None)
        if started is not None:
            of.begins(self._weighbridge_source, started)
        return of.next(self)

    kind.__next__ = patched


def _twice(name, original):
    """Has a dataset remember its `map` that is not parallel; where changes are tried, made a second time as one
    that is."""

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        made = original(self, *args, **kwargs)
        twin = getattr(self, "_weighbridge_twin", None)
        if name == "map" and len(args) < 2 and kwargs.get("num_parallel_calls") is None:
            made._weighbridge_map = loop.line_here() or None
            if not state.looks():
                made._weighbridge_twin = original(twin or self, *args, **dict(kwargs, num_parallel_calls=-1))
            return made
        made._weighbridge_map = getattr(self, "_weighbridge_map", None)
        if twin is not None:
            made._weighbridge_twin = original(twin, *args, **kwargs)
        return made

    return method


def patch_keras_on_tensorflow(module):
    """Patches Keras on TensorFlow, which takes batches within a function of TensorFlow."""
    kind = module.TensorFlowTrainer
    make = kind.make_train_function

    @functools.wraps(make)
    def patched(self, force=False):
        make(self, force)
        function = self.train_function
        if not hasattr(function, "_weighbridge"):
            self.train_function = _step_of_keras(function)

    kind.make_train_function = patched


def _step_of_keras(function):
    @functools.wraps(function)
    def step(iterator):
        source = getattr(iterator, "_weighbridge_source", None)
        if source is None:
            return function(iterator)
        of = iterator._weighbridge_loop
        started = iterator.__dict__.pop("_weighbridge_started", None)
        if started is not None:
            keras = Keras(source.dataset, source.iterate, source.take)
            of.framework = "Keras on tf.data"
            of.begins(keras, started)
        return function(of.next(iterator))

    step._weighbridge = True
    return step


class GrainLoader(loop.Iterable):
    """Grain's DataLoader as a loop sees it."""

    def __init__(self, loader, begin):
        super().__init__(lambda: begin(loader))
        self.loader, self.iterate = loader, begin

    def settings(self):
        return {"worker_count": self.loader._multiprocessing_options.num_workers}

    def arms(self):
        cores = places.processors()
        now = self.loader._multiprocessing_options.num_workers
        others = sorted({1, 2, cores, 2 * now} - {now, 0})
        return {"worker_count=%d" % count: ("other", functools.partial(self._with, count)) for count in others}

    def _with(self, count):
        from absl import flags

        if not flags.FLAGS.is_parsed():
            flags.FLAGS.mark_as_parsed()  # processes of Grain ask for a flag, which a script may never have parsed
        other = copy.copy(self.loader)
        options = dataclasses.replace(other._multiprocessing_options, num_workers=count)
        for name in ("_local_num_workers", "_global_num_workers"):
            other.__dict__.pop(name, None)
        other._multiprocessing_options = options
        other._dataset = other._create_dataset()
        return GrainLoader(other, self.iterate)


def patch_grain_loader(module):
    """Patches Grain's DataLoader."""
    loop.patch_iter(module.DataLoader, "Grain DataLoader", ("grain/_src",), GrainLoader)


def patch_grain_dataset(module):
    """Patches Grain's datasets: the outermost one, which a script goes through, has a loop."""
    for kind in list(vars(module).values()):
        if isinstance(kind, type) and issubclass(kind, (module.MapDataset, module.IterDataset)):
            _patch_grain(kind)
    before = module.IterDataset.__dict__.get("__init_subclass__")

    def init_subclass(cls, **kwargs):
        if before is not None:
            before.__get__(None, cls)(**kwargs)
        else:
            super(module.IterDataset, cls).__init_subclass__(**kwargs)
        _patch_grain(cls)

    module.IterDataset.__init_subclass__ = classmethod(init_subclass)


def _patch_grain(kind):
    if "__iter__" in kind.__dict__ and not getattr(kind.__dict__["__iter__"], "__isabstractmethod__", False):
        loop.patch_iter(kind, "Grain dataset", ("grain/_src",))


def patch_jax_dataloader(module):
    """Patches jax-dataloader's own loader; its others are those of PyTorch and TensorFlow."""
    loop.patch_iter(module.DataLoaderJAX, "jax-dataloader", ("jax_dataloader",))


def patch_datasets(module):
    """Patches HuggingFace Datasets that a script goes through without PyTorch's loader."""
    loop.patch_iter(module.Dataset, "HuggingFace Datasets", (os.sep + "datasets" + os.sep,))
    loop.patch_iter(module.Dataset, "HuggingFace Datasets", (os.sep + "datasets" + os.sep,), name="iter")


def patch_iterable_datasets(module):
    """The same of datasets that are streamed."""
    kind = module.IterableDataset
    loop.patch_iter(kind, "HuggingFace Datasets", (os.sep + "datasets" + os.sep,))
    loop.patch_iter(kind, "HuggingFace Datasets", (os.sep + "datasets" + os.sep,), name="iter")


def patch_webdataset(module):
    """Patches a pipeline of WebDataset. One that begins with PyTorch's loader has the loop of that."""

    def has_own(pipeline):
        first = (getattr(pipeline, "pipeline", None) or [None])[0]
        return not hasattr(first, "num_workers")

    loop.patch_iter(module.DataPipeline, "WebDataset", ("webdataset",), when=has_own)


def patch_ray(module):
    """Patches Ray Data: what an iterator over a dataset gives."""
    for name in ("iter_batches", "iter_torch_batches", "iter_tf_batches"):
        method = module.DataIterator.__dict__.get(name)
        if method is not None:
            setattr(module.DataIterator, name, _of_ray(method))


def _of_ray(method):
    @functools.wraps(method)
    def batches(self, *args, **kwargs):
        return _Batches(method(self, *args, **kwargs))

    return batches


class _Batches:
    """What `iter_batches` gives: it can be gone through as often as one likes."""

    def __init__(self, made):
        self._made = made

    def __iter__(self):
        return iter(self._made)

    def __getattr__(self, name):
        return getattr(self._made, name)


loop.patch_iter(_Batches, "Ray Data", (os.sep + "ray" + os.sep,))
