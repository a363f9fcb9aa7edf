//! By which Python a framework of Python runs.

use weighbridge_data::either;

/// By which Python a framework of Python runs. For others it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interpreter {
    /// The one that the framework is installed for.
    #[default]
    Default,
    /// One without the global lock, where workers are threads if a system has such. One whose lock is on all
    /// the same, since something that it imports asks for it, is a skip.
    FreeThreaded,
}

either!(Interpreter, Default = "default", FreeThreaded = "free_threaded");
