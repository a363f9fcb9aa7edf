//! Options structs: several axes under one parameter.

use super::{Axis, Keep, Point};
use crate::bencher;

/// A struct whose fields are axes, or such structs themselves: a scenario takes it as one parameter. Derive
/// it with [`#[derive(Sweep)]`](macro@crate::Sweep).
///
/// ```
/// use weighbridge::Sweep;
///
/// #[derive(Sweep)]
/// struct Options {
///     #[sweep(0, 2)]
///     workers: usize,
/// }
///
/// assert_eq!(Options::axes()[0].name, "workers");
/// let two = Options::axes()[0].parse("2").unwrap();
/// assert_eq!(Options::take(&[two].into_iter().collect())?.workers, 2);
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an axis nor an options struct",
    label = "no `#[sweep(...)]` stands before this, and `{Self}` does not derive `Sweep`",
    note = "for an axis write its values: `#[sweep(1, 2)] name: {Self}`",
    note = "for an options struct put `#[derive(Sweep)]` on `{Self}`",
    note = "for the system under test write `&mut dyn Contract`"
)]
pub trait Sweep: Sized {
    /// The axes, in the order of the fields.
    fn axes() -> Vec<Axis>;

    /// The struct at one point.
    ///
    /// # Errors
    /// When the point lacks an axis, or a value cannot be read back.
    fn take(point: &Point) -> Result<Self, bencher::Error>;

    /// Tells whether the point is run.
    fn keep(point: &Point) -> Keep;
}
