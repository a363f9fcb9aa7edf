//! How a framework is set up.

use weighbridge_data::either;

/// The setting of a framework whose best one is not what its documentation begins with. For native systems it
/// says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FrameworkSetting {
    /// As was found to be best: what its documentation has further on, held against its first example.
    #[default]
    Best,
    /// As its users start: what the first example of its documentation has. A framework that is best so
    /// declines.
    Default,
}

either!(FrameworkSetting, Best = "best", Default = "default");
