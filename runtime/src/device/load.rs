//! How busy the machine is.

/// The load average over the last minute: processes that ran or waited to run. `None` where the system does
/// not say.
pub fn load_average() -> Option<f64> {
    sysinfo::System::load_average().ok().map(|load| load.one)
}
