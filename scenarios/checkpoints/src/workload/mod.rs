//! What a checkpointer is asked to save and load: a [`State`], where it lies ([`Placement`]), and how it is
//! written.

mod checkpoint_source;
mod compression;
mod cuts_file;
mod device_count;
mod device_mesh;
mod lying;
mod orbax_load_options;
mod orbax_options;
mod placement;
mod setting;
mod state;
mod state_change;
mod state_file;
mod step;
mod system_options;
mod tensor;

pub use checkpoint_source::{CheckpointSource, DigestUse};
pub use compression::Compression;
pub use cuts_file::CutsFile;
pub use device_count::DeviceCount;
pub use device_mesh::DeviceMesh;
pub use orbax_load_options::OrbaxLoadOptions;
pub use orbax_options::OrbaxOptions;
pub use placement::Placement;
pub use setting::Setting;
pub use state::State;
pub use state_change::StateChange;
pub use state_file::StateFile;
pub use step::{StepKind, Stub};
pub use system_options::SystemOptions;
pub use tensor::Tensor;
