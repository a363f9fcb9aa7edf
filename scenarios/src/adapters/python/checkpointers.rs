//! Every checkpointer of Python, registered under its name. How its users would write it is in
//! `weighbridge_worker/checkpointers/`, in the file that is called as its module here.

macro_rules! checkpointers {
    ($($(#[$what:meta])* $type:ident: $short:ident, $name:literal;)*) => {$(
        mod $short {
            use std::sync::Arc;

            use weighbridge::{Availability, Result, adapter};

            use crate::adapters::python::worker::Framework;
            use crate::contract::{Checkpointer, Checkpoints, SaveOptions};
            use crate::data::DataSet;

            $(#[$what])*
            #[derive(Debug)]
            pub struct $type(Framework);

            fn new() -> Result<$type> {
                Ok($type(Framework::new(stringify!($short))?))
            }

            fn installed() -> Availability {
                Framework::availability(stringify!($short))
            }

            $(#[$what])*
            #[adapter(name = $name, resident = true, new = new, probe = installed)]
            impl Checkpointer for $type {
                fn open(&mut self, options: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
                    self.0.open_state(options, data)
                }
            }
        }

        pub use $short::$type;
    )*};
}

checkpointers! {
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
}
