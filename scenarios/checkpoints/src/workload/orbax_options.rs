//! Options of Orbax, as axes.

use weighbridge::Sweep;

use super::{Setting, SystemOptions};

/// Options of Orbax for the files that it writes and for the way it writes them. The names are Orbax's.
#[derive(Clone, Debug, PartialEq, Eq, Sweep)]
pub struct OrbaxOptions {
    /// `true` if all arrays are in one OCDBT database.
    #[sweep(implied, Setting::Own, Setting::Set(true), Setting::Set(false))]
    pub use_ocdbt: Setting<bool>,
    /// `true` if arrays are of the third version of Zarr.
    #[sweep(implied, Setting::Own, Setting::Set(true), Setting::Set(false))]
    pub use_zarr3: Setting<bool>,
    /// `true` if arrays are compressed.
    #[sweep(implied, Setting::Own, Setting::Set(true), Setting::Set(false))]
    pub use_compression: Setting<bool>,
    /// The most gigabytes that are written at a time.
    #[sweep(implied, Setting::Own, Setting::Set(1))]
    pub save_concurrent_gb: Setting<u64>,
    /// The most gigabytes that are read at a time.
    #[sweep(implied, Setting::Own, Setting::Set(1))]
    pub restore_concurrent_gb: Setting<u64>,
    /// The most bytes of a chunk of an array.
    #[sweep(implied, Setting::Own, Setting::Set(33_554_432))]
    pub chunk_byte_size: Setting<u64>,
    /// `true` if the replicas of an array share its writing.
    #[sweep(implied, Setting::Own, Setting::Set(true), Setting::Set(false))]
    pub use_replica_parallel: Setting<bool>,
    /// `true` if what replicas share lies in a folder of its own.
    #[sweep(implied, Setting::Own, Setting::Set(true), Setting::Set(false))]
    pub enable_replica_parallel_separate_folder: Setting<bool>,
}

impl OrbaxOptions {
    /// Checks that Orbax takes them together.
    ///
    /// # Errors
    /// Why not.
    pub fn fit(&self) -> Result<(), String> {
        let apart = self.enable_replica_parallel_separate_folder == Setting::Set(true);
        let needs = self.use_replica_parallel != Setting::Set(true) || self.use_ocdbt == Setting::Set(false);
        if apart && needs {
            return Err(
                "`enable_replica_parallel_separate_folder` needs `use_replica_parallel=true` and OCDBT"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// As Orbax has them itself.
    pub const OWN: Self = Self {
        use_ocdbt: Setting::Own,
        use_zarr3: Setting::Own,
        use_compression: Setting::Own,
        save_concurrent_gb: Setting::Own,
        restore_concurrent_gb: Setting::Own,
        chunk_byte_size: Setting::Own,
        use_replica_parallel: Setting::Own,
        enable_replica_parallel_separate_folder: Setting::Own,
    };
}

impl From<&OrbaxOptions> for SystemOptions {
    fn from(options: &OrbaxOptions) -> Self {
        SystemOptions::NONE
            .with("use_ocdbt", options.use_ocdbt)
            .with("use_zarr3", options.use_zarr3)
            .with("use_compression", options.use_compression)
            .with("save_concurrent_gb", options.save_concurrent_gb)
            .with("restore_concurrent_gb", options.restore_concurrent_gb)
            .with("chunk_byte_size", options.chunk_byte_size)
            .with("use_replica_parallel", options.use_replica_parallel)
            .with("enable_replica_parallel_separate_folder", options.enable_replica_parallel_separate_folder)
    }
}
