"""tf.data: tensors in memory, batched before they are mapped, with TensorFlow's own operations where those are exact.

Idiomatic: `tf.data.Dataset.from_tensor_slices(...).batch(B).map(...).prefetch(n)`. What can be a chain of `tf`
operations on numbers is one; a list with draws, pixels that move, or the page's own functions goes through
`tf.numpy_function`, which is what TensorFlow documents for that. Without workers nothing is asked to be made ahead;
with them `num_parallel_calls`, `prefetch` and a private pool of so many threads. Autotuning stays on, as users have it:
tf.data then makes the batches of either in a thread of its own. Of one field the tensor is handed out alone and named
by the loop, since putting a dict together takes tf.data 15 us. `.cache()` and `.rebatch()` are tf.data's own. Rows that
are streamed come by `FixedLengthRecordDataset` and `decode_raw`.

Tried: mapping before batching, as with images of different sizes (a seventh of the speed on small images); slices of a
tensor by `Dataset.range` instead of rows that are batched (1.1 times the speed on images, 0.7 on rows of tokens); a
`numpy_function` for all steps (0.8 and 0.4); AUTOTUNE for the number of calls, which takes all processors and its time
to settle; autotuning off (0.7 of the speed on small images, 0.9 of the CPU time).

First example: `from_tensor_slices(rows).map(...).batch(B)`, whose map is over elements as in the guide "tf.data: Build
TensorFlow input pipelines". `prefetch(AUTOTUNE)`, and `num_parallel_calls` for workers, are of the guide "Better
performance with the tf.data API", which advises batches before the map as well. Pools of threads are TensorFlow's own.

By operators of its own: a map over images before they are batched (`own/on_tf.py`), over batches where no step draws or
moves anything.

Cannot: a mixture by given draws (`sample_from_datasets` has its own), save its place in a pipeline with a Python
function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from ..adapter import Adapter, Declined, Executed, Loader, Place
from ..data import Data
from ..first_example import FirstExample
from ..own import stored
from ..own.remote import Objects
from ..pipeline import Batch, Pipeline, Program, Touch

EXACT = (
    "Normalize",
    "CastToFloat32",
    "Scale",
    "Clip",
    "Add",
    "CheapTransform",
    "Multiply",
    "CreateAttentionMask",
    "CausalMaskGeneration",
)
"""What TensorFlow's operations do bit for bit as the page has it."""

INDEX = "element index"


def operation(touch: Touch, x: Any) -> Any:
    """One step on a batch of one field, in TensorFlow's operations."""
    match touch.name:
        case "Normalize" if touch.source.mean is None:
            return tf.cast(x, tf.float32) / 255.0
        case "Normalize":
            return (x - touch.source.mean) * touch.source.scale
        case "CastToFloat32":
            return tf.cast(x, tf.float32)
        case "Scale":
            return x * 2.0
        case "Clip":
            return tf.where(x < 0.0, 0.0, tf.where(x > 1.0, 1.0, x))
        case "Add" | "CheapTransform":
            return x + 0.1
        case "Multiply":
            return x * 0.9
        case "CreateAttentionMask":
            return tf.cast(tf.not_equal(x, 0), tf.float32)
        case "CausalMaskGeneration":
            rows, n = tf.shape(x)[0], x.shape[1]
            return tf.tile(tf.linalg.band_part(tf.ones((1, n, n)), -1, 0), [rows, 1, 1])
    raise AssertionError(f"{touch.name} is none of the exact ones")


class TfData(Loader):
    def __init__(self, pipeline: Pipeline, data: Data) -> None:
        self.pipeline, self.data = pipeline, data
        self.program = Program(pipeline, data.sources)
        self.epoch = 0
        self.iterator: Any = None
        plain = not (pipeline.gates or pipeline.branches or pipeline.mixing)
        exact = plain and all(name in EXACT for name in pipeline.transforms)
        self.native = exact or pipeline.operators == "own"
        self.rows = self.streamed() if pipeline.access == "file-streaming" else self.in_memory()
        self.batches = self.pipeline_of(self.rows)

    def in_memory(self) -> Any:
        part = slice(self.pipeline.first, self.pipeline.end)
        fields = {name: array[part] for name, array in self.data.arrays().items()}
        return tf.data.Dataset.from_tensor_slices({**fields, **self.indices()})

    def streamed(self) -> Any:
        """Records of the files, as they are read."""
        files: dict[str, Any] = {}
        for source in self.data.sources:
            size = source.kind.size
            before, after = self.pipeline.first * size, (self.data.elements - self.pipeline.end) * size
            files[source.kind.name] = tf.data.FixedLengthRecordDataset(
                source.path, size, header_bytes=before, footer_bytes=after
            )
        if self.native:
            return tf.data.Dataset.zip(files)
        indices = tf.data.Dataset.from_tensor_slices(self.indices())
        return tf.data.Dataset.zip((files, indices)).map(lambda fields, index: {**fields, **index})

    def indices(self) -> Batch:
        """What a numpy function draws by; TensorFlow's operations know no index."""
        return {} if self.native else {INDEX: np.arange(self.pipeline.first, self.pipeline.end)}

    def pipeline_of(self, rows: Any) -> Any:
        threads = max(self.pipeline.workers, 1)
        dataset = rows.batch(self.pipeline.batch_size)
        if self.pipeline.workers:
            dataset = dataset.map(self.steps, num_parallel_calls=threads, deterministic=True)
        else:
            dataset = dataset.map(self.steps)
        if self.pipeline.cache:
            dataset = dataset.cache()
        if self.pipeline.rebatch:
            dataset = dataset.rebatch(self.pipeline.rebatch, drop_remainder=False)
        if self.pipeline.workers:
            dataset = dataset.prefetch(threads)
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        options.threading.max_intra_op_parallelism = 1
        return dataset.with_options(options)

    def decoded(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Fields as numbers, where they were read as records."""
        fields = {name: value for name, value in batch.items() if name != INDEX}
        if self.pipeline.access != "file-streaming":
            return fields
        for source in self.data.sources:
            kind = source.kind
            numbers = tf.io.decode_raw(fields[kind.name], tf.as_dtype(kind.dtype))
            fields[kind.name] = tf.reshape(numbers, (-1, *kind.shape))
        return fields

    def steps(self, batch: Mapping[str, Any]) -> Any:
        """All steps on a batch; of one field its tensor alone, since a dict is put together anew for each batch."""
        made = self.operations(batch) if self.native else self.function(batch)
        return made if len(made) > 1 else next(iter(made.values()))

    def operations(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The steps as a graph of TensorFlow's operations."""
        fields, made, before = self.decoded(batch), {}, {}
        for way in self.program.ways:
            x = before[id(way.start[0]), way.start[1]] if way.start else fields[way.source.kind.name]
            for number, touch in enumerate(way.touches):
                before[id(way), number] = x
                x = operation(touch, x)
            before[id(way), len(way.touches)] = x
            made[way.now.name] = x
        return made

    def function(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The steps as one numpy function."""
        fields = self.decoded(batch)
        names = list(fields)

        def steps(indices: Any, *arrays: Any) -> list[Any]:
            given = dict(zip(names, arrays, strict=True))
            return list(self.program.batch(given, indices, self.epoch, int(indices[0])).values())

        kinds = self.pipeline.output
        types = [tf.as_dtype(kind.dtype) for kind in kinds]
        made = tf.numpy_function(steps, [batch[INDEX], *fields.values()], types)
        for kind, tensor in zip(kinds, made, strict=True):
            tensor.set_shape([None] * (1 + len(kind.shape)))
        return {kind.name: tensor for kind, tensor in zip(kinds, made, strict=True)}

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.iterator = None
        self.epoch = epoch
        if epoch == 0 and self.pipeline.cache:
            self.batches = self.pipeline_of(self.rows)  # with an empty cache
        self.iterator = self.batches.as_numpy_iterator()
        if isinstance(self.batches.element_spec, dict):
            return self.iterator  # type: ignore[no-any-return]
        (kind,) = self.pipeline.output
        return ({kind.name: array} for array in self.iterator)

    def executed(self) -> Executed:
        # `as_numpy_iterator` shows the tensors' own memory, and those of a cache stay.
        delivery = "view" if self.pipeline.cache and not self.pipeline.rebatch else "owned"
        operators = "native" if self.native else "shared numpy"
        return Executed(self.pipeline.work, operators, delivery=delivery, workers=self.pipeline.workers)

    def close(self) -> None:
        self.iterator = self.batches = self.rows = None


class OwnTfData(TfData):
    """Steps in TensorFlow's operations alone, image by image before they are batched."""

    def __init__(self, pipeline: Pipeline, data: Data, place: Place) -> None:
        from ..own.on_tf import Own

        self.place = place
        self.own = Own(pipeline, data.sources)
        super().__init__(pipeline, data)

    def in_memory(self) -> Any:
        if not self.pipeline.decodes:
            return super().in_memory()
        (name,) = self.data.names
        match self.pipeline.access:
            case "memory":
                rows = [stored.image(self.data, index) for index in stored.indices(self.pipeline)]
                return tf.data.Dataset.from_tensor_slices({name: rows})
            case "files":
                paths = [str(path) for path in stored.files(self.pipeline, self.data, self.place)]
                return tf.data.Dataset.from_tensor_slices(paths).map(lambda path: {name: tf.io.read_file(path)})
            case "stored-files":
                return self.in_store(name)
            case "records":
                folder = self.place.converting(f"records-{self.pipeline.first}-{self.pipeline.end}", self.write)
                return tf.data.TFRecordDataset(str(folder / "all.tfrecord")).map(lambda record: {name: record})
        raise Declined(f"{self.pipeline.access}: tf.data reads files and TFRecords")

    def in_store(self, name: str) -> Any:
        """The images of an object store, by a function of Python: TensorFlow's own file systems have no HTTP."""
        objects = Objects(self.pipeline)

        def fetch(number: int) -> bytes:
            return objects[number].tobytes()

        def stored(number: Any) -> dict[str, Any]:
            content = tf.numpy_function(fetch, [number], tf.string, stateful=False)
            return {name: tf.ensure_shape(content, ())}

        return tf.data.Dataset.range(self.pipeline.elements).map(stored, num_parallel_calls=objects.in_flight)

    def write(self, folder: Path) -> None:
        """The images as a file of records."""
        with tf.io.TFRecordWriter(str(folder / "all.tfrecord")) as records:
            for index in stored.indices(self.pipeline):
                records.write(stored.image(self.data, index))

    def begin(self, epoch: int) -> Iterator[Batch]:
        self.own.begin(epoch)
        return super().begin(epoch)

    def pipeline_of(self, rows: Any) -> Any:
        pipeline, own = self.pipeline, self.own
        threads = max(pipeline.workers, 1)
        parallel = {"num_parallel_calls": threads, "deterministic": True} if pipeline.workers else {}
        if own.on_batches:
            dataset = rows.batch(pipeline.batch_size).enumerate().map(own.sample, **parallel)
        else:
            dataset = rows.enumerate().map(own.sample, **parallel).batch(pipeline.batch_size)
        if pipeline.mixing:
            dataset = dataset.enumerate().map(own.mixed, **parallel)
        if pipeline.workers:
            dataset = dataset.prefetch(threads)
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        options.threading.max_intra_op_parallelism = 1
        return dataset.with_options(options)


class ElementByElement(TfData):
    """The first example of the guide: elements are mapped, batched and made ahead."""

    def __init__(self, pipeline: Pipeline, data: Data, example: FirstExample) -> None:
        self.example = example
        super().__init__(pipeline, data)

    def in_memory(self) -> Any:
        return tf.data.Dataset.from_tensor_slices(self.example.rows)

    def pipeline_of(self, rows: Any) -> Any:
        if self.pipeline.transforms:
            rows = rows.map(self.row, num_parallel_calls=self.pipeline.workers or None)
        return rows.batch(self.pipeline.batch_size).prefetch(tf.data.AUTOTUNE)

    def row(self, row: Any) -> Any:
        return self.operations({self.example.name: row})[self.example.name]


def first_example(pipeline: Pipeline, data: Data, place: Place) -> TfData:
    tf.config.set_visible_devices([], "GPU")
    return ElementByElement(pipeline, data, FirstExample.of(pipeline, data))


def open(pipeline: Pipeline, data: Data, place: Place) -> TfData:
    tf.config.set_visible_devices([], "GPU")
    if pipeline.operators == "own":
        return OwnTfData(pipeline, data, place)
    if pipeline.mixture:
        raise Declined("mixture: `sample_from_datasets` draws from a generator of its own")
    if pipeline.access == "file-eager":
        raise Declined("file-eager: a dataset of tensors is filled when it is made, one of files streams")
    if pipeline.rebatch and pipeline.pads:
        raise Declined("rebatch: rows of different lengths")
    return TfData(pipeline, data)


ADAPTER = Adapter(
    framework="tf.data",
    distribution="tensorflow-cpu",
    entry_point="tensorflow.data.Dataset.from_tensor_slices",
    open=open,
    first_example=first_example,
    own="on_tf",
    stored=("stored-files",),
    no_store="it reads TFRecords, and no tar files",
)
