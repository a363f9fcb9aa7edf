"""Loaders of which an iterator is all that is known: their batches can be timed, and replayed."""

import os

from . import loop


def patch_tf_data(module):
    """`tf.data`: datasets that a script goes through in Python, not within a function of TensorFlow."""
    loop.patch_iter(module.DatasetV2, "tf.data", ("tensorflow/python",))


def patch_grain_loader(module):
    """Grain's DataLoader."""
    settings = lambda loader: {"num_workers": getattr(getattr(loader, "_multiprocessing_options", None), "num_workers", None)}  # noqa: E501, E731
    loop.patch_iter(module.DataLoader, "Grain", ("grain/_src",), settings)


def patch_grain_dataset(module):
    """Grain's datasets: the iterator of an `IterDataset`."""
    # Each dataset has an `__iter__` of its own, which is called within that of the one above it: only the
    # outermost, which a script calls, has a loop.
    originals = getattr(module, "IterDataset", None)
    if originals is None:
        return
    before = originals.__init_subclass__

    def init_subclass(cls, **kwargs):
        before.__func__(cls, **kwargs) if hasattr(before, "__func__") else before(**kwargs)
        if "__iter__" in cls.__dict__:
            loop.patch_iter(cls, "Grain", ("grain/_src",))

    originals.__init_subclass__ = classmethod(init_subclass)


def patch_jax_dataloader(module):
    """jax-dataloader's DataLoader, whichever backend it has."""
    loop.patch_iter(module.DataLoader, "jax-dataloader", ("jax_dataloader",))


def patch_ray(module):
    """Ray Data: batches of an iterator over a dataset."""
    kind = module.DataIterator
    for name in ("iter_batches", "iter_torch_batches", "iter_tf_batches"):
        if name not in kind.__dict__:
            continue
        original = kind.__dict__[name]

        def method(self, *args, __original=original, **kwargs):
            return _Batches(self, __original, args, kwargs)

        setattr(kind, name, method)


class _Batches:
    """What `iter_batches` gives: it can be gone through as often as one likes."""

    def __init__(self, iterator, original, args, kwargs):
        self._made = original(iterator, *args, **kwargs)

    def __iter__(self):
        return iter(self._made)

    def __getattr__(self, name):
        return getattr(self._made, name)


loop.patch_iter(_Batches, "Ray Data", ("ray" + os.sep + "data",))


def patch_keras_on_tensorflow(module):
    """Keras on TensorFlow takes batches within a function of TensorFlow: an epoch's iterator is what is seen."""
    loop.patch_iter(module.TFEpochIterator, "Keras on tf.data", ("keras/src", "tensorflow/python"), name="enumerate_epoch")  # noqa: E501
