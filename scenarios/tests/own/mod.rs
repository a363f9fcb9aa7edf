//! Which adapters the tests of this folder run, for those that run all there are.

use weighbridge::__private::AdapterEntry;
use weighbridge::Availability;

/// Returns whether an adapter is of this build. Frameworks of Python are not: a user may have installed some,
/// and may not. What they do is for `cargo catalogue peers check` to say; a test of the workspace has one
/// result whatever is installed.
pub(crate) fn is_own(adapter: &AdapterEntry) -> bool {
    !adapter.resident && matches!(adapter.availability(), Availability::Available { .. })
}
