//! All that expanded code may name, and nothing for anybody else: it may change in any release.

pub use std::any::{Any, TypeId};
pub use std::boxed::Box;
pub use std::option::Option;
pub use std::result::Result;
pub use std::string::String;
pub use std::vec::Vec;

pub use inventory::submit;

pub use crate::bencher::{Bencher, Error, PartialBudget};
pub use crate::harness::{Suite, main};
pub use crate::registry::{
    AdapterEntry, AdapterOutput, Additions, Availability, Axes, Axis, AxisTraits, Contract, DisplayValue,
    Equivalence, Keep, KeepOutput, Location, Point, Probe, Registry, Requirements, ScenarioEntry, ScenarioFn,
    ScenarioOutput, Sweep, TypedAxis, Workload, WrittenValue, add, find_adapter, find_scenario, kind, plain,
};

pub use crate::__weighbridge_traits_of as traits_of;

/// Finds the traits of a type, where the type is known. The traits are imported without names, so that they
/// hide none of the author's.
#[doc(hidden)]
#[macro_export]
macro_rules! __weighbridge_traits_of {
    ($type:ty) => {{
        use $crate::__private::kind::{
            Labels as _, Text as _, WithDebug as _, WithDisplay as _, WithFromStr as _, WithoutDebug as _,
            WithoutDisplay as _,
        };
        $crate::__private::AxisTraits {
            parse: (&&&$crate::__private::Probe::<$type>::NEW).parser(),
            display: (&&$crate::__private::Probe::<$type>::NEW).display(),
            debug: (&&$crate::__private::Probe::<$type>::NEW).debug(),
        }
    }};
}

/// The version of the author's crate, which a build without cargo does not tell.
pub const fn version(told: Option<&'static str>) -> &'static str {
    match told {
        Some(version) => version,
        None => "unknown",
    }
}

/// The subject of a scenario, as its contract.
///
/// # Errors
/// When the caller gave none, or one of another contract: a mistake of ours, not of the author.
pub fn subject<C: ?Sized + 'static>(subject: Option<&mut dyn Any>) -> Result<&mut C, Error> {
    match subject.and_then(|subject| subject.downcast_mut::<Box<C>>()) {
        Some(subject) => Ok(subject),
        None => Err(Error::new(format!(
            "the scenario was run without an adapter for `{}`",
            std::any::type_name::<C>()
        ))),
    }
}

/// Runs an `async` scenario to its end, on this thread or with `worker_threads` more. The runtime stands
/// before the scenario starts, so no clock of the scenario sees it being made.
///
/// # Errors
/// When the runtime cannot be made.
#[cfg(feature = "tokio")]
pub fn block_on<T>(worker_threads: Option<usize>, scenario: impl Future<Output = T>) -> Result<T, Error> {
    let mut builder = match worker_threads {
        None => tokio::runtime::Builder::new_current_thread(),
        Some(_) => tokio::runtime::Builder::new_multi_thread(),
    };
    if let Some(threads) = worker_threads {
        builder.worker_threads(threads);
    }
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|error| Error::new(format!("failed to start the async runtime: {error}")))?;
    Ok(runtime.block_on(scenario))
}
