"""Which modules are patched, and by what."""

from . import on_others, on_torch, quiet

PATCHES = {
    "torch": on_torch.patch_torch,
    "torch.serialization": on_torch.patch_serialization,
    "torch.utils.data._utils.fetch": on_torch.patch_fetch,
    "torch.utils.data._utils.worker": on_torch.patch_worker,
    "torch.utils.data.dataloader": on_torch.patch_dataloader,
    "torch.utils.tensorboard.writer": quiet.patch_summary_writer,
    "tensorflow.python.data.ops.dataset_ops": on_others.patch_tf_data,
    "keras.src.backend.tensorflow.trainer": on_others.patch_keras_on_tensorflow,
    "grain._src.python.data_loader": on_others.patch_grain_loader,
    "grain._src.python.dataset.dataset": on_others.patch_grain_dataset,
    "jax_dataloader.loaders.jax": on_others.patch_jax_dataloader,
    "datasets.arrow_dataset": on_others.patch_datasets,
    "datasets.iterable_dataset": on_others.patch_iterable_datasets,
    "webdataset.pipeline": on_others.patch_webdataset,
    "ray.data.iterator": on_others.patch_ray,
}
