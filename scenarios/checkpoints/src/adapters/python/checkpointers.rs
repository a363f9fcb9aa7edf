//! Every checkpointer of Python, registered under its name. How its users would write it is in
//! `weighbridge_worker/checkpointers/`, in the file of its short name here.

use std::sync::Arc;

use weighbridge::Result;
use weighbridge_data::DataSet;
use weighbridge_python::registered;

use super::open;
use crate::contract::{Checkpointer, Checkpoints, SaveOptions, StoredCheckpoint, StoredFiles};

registered! {
    impl Checkpointer {
        fn open(&mut self, options: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
            open::open_state(&mut self.0, options, data)
        }

        fn open_ranks(
            &mut self,
            options: &SaveOptions,
            data: &Arc<DataSet>,
        ) -> Result<Vec<Box<dyn Checkpoints + Send + '_>>> {
            open::open_state_ranks(&self.0, options, data)
        }

        fn open_stored(&mut self, files: StoredFiles<'_>) -> Result<Box<dyn StoredCheckpoint + '_>> {
            open::open_stored(&mut self.0, files)
        }
    }

    /// Its `StandardCheckpointer` over arrays of JAX on the processor.
    Orbax: orbax, "Orbax";
    /// Arrays of zarr3 in one OCDBT database.
    TensorStore: tensorstore, "TensorStore";
    /// The distributed checkpoint of `PyTorch`, of one process.
    TorchDcp: torch_dcp, "PyTorch DCP";
    /// A dictionary of tensors in one file.
    TorchSave: torch_save, "torch.save";
    /// The Python package of that name, with tensors of `PyTorch`.
    SafetensorsPython: safetensors, "safetensors (Python)";
    /// Loads safetensors alone, by threads of its own.
    RunaiStreamer: runai, "Run:ai Model Streamer";
    /// Loads safetensors alone, into one run of memory.
    FastSafetensors: fast_safetensors, "fastsafetensors";
}
