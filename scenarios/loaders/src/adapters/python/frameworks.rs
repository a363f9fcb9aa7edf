//! Every framework, registered under its name. How its users would write it is in
//! `weighbridge_worker/adapters/`, in the file of its short name here.

use std::sync::Arc;

use weighbridge::Result;
use weighbridge_data::{DataSet, Epochs};
use weighbridge_python::registered;

use super::open;
use crate::contract::Loader;
use crate::workload::{ExecutionMode, PipelineSpec};

registered! {
    impl Loader {
        fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
            open::open_pipeline(&mut self.0, spec, data)
        }

        fn is_elsewhere(&self) -> bool {
            true
        }

        fn open_many(
            &mut self,
            specs: &[PipelineSpec],
            data: &Arc<DataSet>,
        ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
            open::open_many(&mut self.0, specs, data)
        }

        fn open_in(
            &mut self,
            mode: ExecutionMode,
            spec: &PipelineSpec,
            data: &Arc<DataSet>,
        ) -> Result<Box<dyn Epochs + '_>> {
            open::open_in(&mut self.0, mode, spec, data)
        }
    }

    /// NumPy alone, without a framework: slices of arrays, one vectorised call for each transform.
    NumPy: numpy, "NumPy", tier 1;
    /// Its pipeline, iterated batch by batch.
    Datarax: datarax, "Datarax", tier 1;
    /// The same pipeline, run as one scan over a whole pass.
    DataraxScan: datarax_scan, "Datarax-scan", tier 1;
    /// A `MapDataset` over arrays, batched and mapped.
    Grain: grain, "Google Grain", tier 1;
    /// The same over records in files of `ArrayRecord`.
    GrainRecords: grain_records, "Google Grain (ArrayRecord)", tier 1;
    /// Its `DataLoader` over arrays.
    JaxDataloader: jax_dataloader, "jax-dataloader", tier 1;
    /// A `tf.data.Dataset` of slices, batched and mapped with TensorFlow operations.
    TfData: tf_data, "tf.data", tier 2;
    /// `torch.utils.data.DataLoader` over arrays.
    Torch: torch, "PyTorch DataLoader", tier 2;
    /// `StatefulDataLoader` over arrays, which saves its place.
    TorchData: torchdata, "TorchData", tier 2;
    /// A pipeline of DALI operators on the processor.
    Dali: dali, "NVIDIA DALI", tier 2;
    /// Its `Loader` over a converted file.
    Ffcv: ffcv, "FFCV", tier 2;
    /// A pipeline of SPDL.
    Spdl: spdl, "SPDL", tier 2;
    /// `StreamingDataset` over converted shards.
    Mosaic: mosaic, "MosaicML Streaming", tier 3;
    /// `WebDataset` over converted tar files.
    WebDataset: webdataset, "WebDataset", tier 3;
    /// A `Dataset` over converted Arrow files.
    HfDatasets: hf_datasets, "HuggingFace Datasets", tier 3;
    /// A `ray.data.Dataset` in a cluster of this machine.
    Ray: ray, "Ray Data", tier 3;
    /// `StreamingDataLoader` over converted chunks.
    LitData: litdata, "LitData", tier 3;
    /// A Megatron Energon loader over converted tar files.
    Energon: energon, "Energon", tier 3;
    /// A Deep Lake data set, read in slices.
    DeepLake: deeplake, "Deep Lake", tier 3;
    /// A Lance data set, read in slices.
    Lance: lance, "Lance", tier 3;
    /// A data frame of Daft over converted files, handed out in batches.
    Daft: daft, "Daft", tier 3;
}
