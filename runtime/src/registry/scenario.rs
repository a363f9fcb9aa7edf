//! What `#[scenario]` registers.

use std::any::Any;
use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use super::authors_error::told;
use super::{Axis, Contract, Location, Point};
use crate::bencher::{self, Bencher, PartialBudget};

/// One scenario, as its author wrote it: constants and functions, nothing that costs at start.
#[derive(Clone, Copy, Debug)]
pub struct ScenarioEntry {
    /// The id: `CV-1`.
    pub id: &'static str,
    /// The heading it is listed under.
    pub category: &'static str,
    /// The first line of its documentation.
    pub description: &'static str,
    /// The sets it belongs to: `gate`, `canonical`.
    pub sets: &'static [&'static str],
    /// The agreement that the author demands, if any. Ask [`ScenarioEntry::equivalence`].
    pub equivalence: Option<Equivalence>,
    /// The agreement that the author demands at a point, where it depends on the point. Ask
    /// [`ScenarioEntry::equivalence_at`].
    pub equivalence_by: Option<fn(&Point) -> Option<Equivalence>>,
    /// The contract that an adapter must fulfil; `None` for an ordinary benchmark.
    pub contract: Option<Contract>,
    /// The place where it is written.
    pub location: Location,
    /// Its axes, in the order of its parameters.
    pub axes: Axes,
    /// Filter of the points of its axes.
    pub keep: fn(&Point) -> Keep,
    /// The needs of a point of the machine, where the author states them; asked while planning.
    pub needs: Option<fn(&Point) -> Option<Requirements>>,
    /// The description of a point's work, where the author gives one: data, transforms, batch size. Shown by
    /// listings.
    pub describe: Option<fn(&Point) -> Option<String>>,
    /// The name under which it is shown side by side with others: scenarios without a contract that name the
    /// same.
    pub group: Option<&'static str>,
    /// True if all ranks of a run do one thing together, and not each the whole by itself.
    pub collective: bool,
    /// The part of the budget and repeats that the author states.
    pub budget: PartialBudget,
    /// Runs it once. The subject is the box that [`AdapterEntry::make`](super::AdapterEntry) made, opened.
    pub run: ScenarioFn,
}

/// A scenario as the stages call it.
pub type ScenarioFn = fn(&mut Bencher, Option<&mut dyn Any>, &Point) -> Result<(), bencher::Error>;

inventory::collect!(ScenarioEntry);

/// The requirements of one point of a scenario on the machine: a planned skip where there is not enough.
///
/// ```
/// use weighbridge::Requirements;
/// use weighbridge::prelude::*;
///
/// fn needs(rows: &usize) -> Requirements {
///     Requirements { memory: 8 * *rows as u64, batch: *rows as u64 }
/// }
///
/// /// Sum rows.
/// #[scenario(id = "ROWS-1", needs = needs)]
/// fn rows(bencher: &mut Bencher, #[sweep(1_000, 1_000_000)] rows: usize) {
///     let numbers = vec![1_u64; rows];
///     bencher.iter(|| numbers.iter().sum::<u64>());
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Memory of the process, in bytes: data, buffers, prefetched batches.
    pub memory: u64,
    /// Elements of the largest batch.
    pub batch: u64,
}

/// The work of one point of a scenario, as a value: the plan asks it what the point needs, listings what it
/// does.
///
/// ```
/// use weighbridge::prelude::*;
/// use weighbridge::{Requirements, Workload};
///
/// struct Rows(usize);
///
/// impl Workload for Rows {
///     fn needs(&self) -> Requirements {
///         Requirements { memory: 8 * self.0 as u64, batch: self.0 as u64 }
///     }
///
///     fn describe(&self) -> String {
///         format!("the sum of {} numbers", self.0)
///     }
/// }
///
/// fn rows(rows: &usize) -> Rows {
///     Rows(*rows)
/// }
///
/// /// Sum rows.
/// #[scenario(id = "ROWS-2", workload = rows)]
/// fn sum(bencher: &mut Bencher, #[sweep(1_000, 1_000_000)] rows: usize) {
///     let numbers = vec![1_u64; rows];
///     bencher.iter(|| numbers.iter().sum::<u64>());
/// }
/// ```
pub trait Workload {
    /// The needs of the machine.
    fn needs(&self) -> Requirements;

    /// A description of the work: data, transforms, batch size.
    fn describe(&self) -> String;

    /// The agreement between adapters, where the scenario does not state it.
    fn agreement(&self) -> Equivalence {
        Equivalence::Exact
    }
}

/// The axes of a scenario, as its entry has them.
#[derive(Clone, Copy, Debug)]
pub enum Axes {
    /// Written by an author: made when they are asked for.
    Written(fn() -> Vec<Axis>),
    /// Found when the program runs.
    Found(&'static [Axis]),
}

impl Axes {
    /// Of a scenario that has none.
    pub const NONE: Self = Self::Found(&[]);
}

impl ScenarioEntry {
    /// Its axes, in the order of its parameters.
    pub fn axes(&self) -> Vec<Axis> {
        match self.axes {
            Axes::Written(make) => make(),
            Axes::Found(axes) => axes.to_vec(),
        }
    }

    /// Returns the agreement that adapters must show at this point.
    pub fn equivalence_at(&self, point: &Point) -> Equivalence {
        self.equivalence_by.and_then(|by| by(point)).unwrap_or_else(|| self.equivalence())
    }

    /// Returns the agreement that adapters must show, whatever the point: as the author said, else `Exact`
    /// with a contract and `None` without.
    pub fn equivalence(&self) -> Equivalence {
        self.equivalence.unwrap_or(match self.contract {
            Some(_) => Equivalence::Exact,
            None => Equivalence::None,
        })
    }
}

/// The part that must agree between two adapters that did the same work.
///
/// ```
/// use weighbridge::Equivalence;
/// use weighbridge::prelude::*;
///
/// trait Blur {
///     fn blur(&mut self, image: &mut [f32]);
/// }
///
/// /// What is blurred by nothing is the same, bit by bit.
/// fn agreement(radius: &usize) -> Equivalence {
///     if *radius == 0 { Equivalence::Exact } else { Equivalence::Approx(1e-5) }
/// }
///
/// /// Blur an image.
/// #[scenario(id = "BLUR-1", equivalence = by(agreement))]
/// fn blur(bencher: &mut Bencher, system: &mut dyn Blur, #[sweep(0, 3)] radius: usize) {
///     bencher.iter_batched_ref(|| vec![radius as f32; 64], |image| system.blur(image));
/// }
/// assert_eq!(Equivalence::Approx(0.5).to_string(), "approx(0.5)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Equivalence {
    /// Every element, byte for byte, in any order.
    Exact,
    /// Shapes, and moments within this relative tolerance: for stochastic work and for work whose order of
    /// floating-point operations is free.
    Approx(f64),
    /// Shapes, and the mean and deviation over elements of each of their traits within this relative
    /// tolerance and what chance allows: for systems that draw with generators of their own and do each step
    /// by operators of their own.
    Alike(f64),
    /// Fields, types, shapes and counts.
    Shape,
    /// Nothing: the scenario is not verified.
    None,
}

impl Display for Equivalence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Approx(tolerance) => write!(f, "approx({tolerance})"),
            Self::Alike(tolerance) => write!(f, "alike({tolerance})"),
            Self::Shape => f.write_str("shape"),
            Self::None => f.write_str("none"),
        }
    }
}

/// Decision on a point: it is run, dropped or skipped.
///
/// ```
/// use weighbridge::{Keep, Point};
///
/// assert_eq!(Keep::always(&Point::default()), Keep::Yes);
/// assert_eq!(Keep::Yes.and(|| Keep::Skip("no disk".to_owned())), Keep::Skip("no disk".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It is.
    Yes,
    /// It makes no sense: it is left out, and counted.
    Drop,
    /// It makes sense but cannot be run here: a recorded skip, with the reason.
    Skip(String),
}

impl Keep {
    /// Every point is run: a scenario without a filter.
    pub fn always(_: &Point) -> Self {
        Self::Yes
    }

    /// A point that cannot be read back is skipped, with the reason.
    pub fn of(asked: Result<Self, bencher::Error>) -> Self {
        asked.unwrap_or_else(|why| Self::Skip(why.to_string()))
    }

    /// Both must keep it; the first that does not says why.
    #[must_use]
    pub fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Yes => other(),
            dropped => dropped,
        }
    }
}

/// A value that a filter may give back: `bool`, or `Result<(), E>` with a reason that can be shown.
#[diagnostic::on_unimplemented(
    message = "a filter gives back `bool` or `Result<(), E>`, and not `{Self}`",
    note = "`false` leaves the point out; `Err(reason)` records it as skipped, with the reason"
)]
pub trait KeepOutput {
    /// Returns the decision on the point.
    fn kept(self) -> Keep;
}

impl KeepOutput for bool {
    fn kept(self) -> Keep {
        if self { Keep::Yes } else { Keep::Drop }
    }
}

#[diagnostic::do_not_recommend]
impl<E: Display> KeepOutput for Result<(), E> {
    fn kept(self) -> Keep {
        self.map_or_else(|reason| Keep::Skip(format!("{reason:#}")), |()| Keep::Yes)
    }
}

/// A value that a scenario may give back: nothing, or `Result<(), E>` with an error that can be shown.
#[diagnostic::on_unimplemented(
    message = "a scenario gives back `()` or `Result<(), E>` with `E: Display + 'static`, and not `{Self}`",
    note = "write `-> weighbridge::Result<()>`, or end the body with a semicolon"
)]
pub trait ScenarioOutput {
    /// The one error that the stages know.
    ///
    /// # Errors
    /// When the scenario failed, or asked to be skipped.
    fn ending(self) -> Result<(), bencher::Error>;
}

impl ScenarioOutput for () {
    fn ending(self) -> Result<(), bencher::Error> {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<E: Display + 'static> ScenarioOutput for Result<(), E> {
    fn ending(self) -> Result<(), bencher::Error> {
        self.map_err(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::skip;

    #[test]
    fn a_skip_stays_a_skip_and_any_other_error_is_a_failure() {
        let skipped: Result<(), bencher::Error> = Err(skip("no GPU"));
        assert!(skipped.ending().unwrap_err().is_skip());
        let failed: Result<(), String> = Err("disk full".to_owned());
        let failed = failed.ending().unwrap_err();
        assert!(!failed.is_skip());
        assert_eq!(failed.to_string(), "disk full");
    }

    #[test]
    fn a_filter_drops_with_a_bool_and_skips_with_a_reason() {
        assert_eq!(true.kept(), Keep::Yes);
        assert_eq!(false.kept(), Keep::Drop);
        assert_eq!(Err::<(), _>("needs 8 GPUs").kept(), Keep::Skip("needs 8 GPUs".to_owned()));
        assert_eq!(Keep::Yes.and(|| Keep::Drop), Keep::Drop);
        assert_eq!(Keep::Drop.and(|| Keep::Yes), Keep::Drop);
    }

    #[test]
    fn equivalence_is_told_as_it_is_written() {
        assert_eq!(Equivalence::Approx(1e-5).to_string(), "approx(0.00001)");
        assert_eq!(Equivalence::Exact.to_string(), "exact");
    }
}
