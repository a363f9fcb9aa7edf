//! The names by which a launch and its ranks know each other.

/// The variable that tells this program that it is a rank, and of which launch.
pub(crate) const LAUNCH_FOLDER: &str = "WEIGHBRIDGE_LAUNCH_FOLDER";
/// The number of attempts before this job; the engine may count its own restarts beside it.
pub(crate) const ATTEMPT: &str = "WEIGHBRIDGE_LAUNCH_ATTEMPT";
/// Set where one process is started for each host: it starts the ranks itself.
pub(crate) const PER_HOST: &str = "WEIGHBRIDGE_LAUNCH_PER_HOST";
/// The first word of a command line that makes this program the judge of both programs of the bundle. No
/// variable, since both would have it as well.
pub(crate) const DUEL: &str = "--launched-duel";
/// The stage before all others.
pub(crate) const PREFLIGHT: &str = "preflight";
