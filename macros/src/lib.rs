//! The attributes of weighbridge: `#[scenario]`, `#[adapter]`, `#[derive(Sweep)]`.
//!
//! Use them through the `weighbridge` crate, which re-exports them. They check and register, and nothing
//! else: out comes the author's item as it was (a scenario with one lint allowed), and beside it one static
//! that names `weighbridge::__private` alone. `WEIGHBRIDGE_MACRO_DEBUG=1` prints what comes out.

mod adapter;
mod attr;
mod dependency;
#[cfg(feature = "divan")]
mod divan;
mod errors;
mod expansion;
mod generic;
mod scenario;
mod signature;
mod sweep;

use proc_macro::TokenStream;

/// Registers a function as a scenario.
///
/// ```
/// use weighbridge::prelude::*;
///
/// /// Sort a vector of integers.
/// #[scenario(id = "SORT-1", category = "Algorithms", sets = ["gate"])]
/// fn sort(bencher: &mut Bencher, #[sweep(1_000, 1_000_000)] len: usize) {
///     let data: Vec<u64> = (0..len as u64).rev().collect();
///     bencher.elements(len).iter_batched(|| data.clone(), |mut data| data.sort_unstable());
/// }
/// ```
///
/// The function stays what it is, and can be called as before. The first line of its documentation is what
/// listings show.
///
/// # Options
///
/// - `id = "CV-1"`: The id, by which it is named everywhere. Needed. Letters, digits, `_`, `.` and `-`.
/// - `category = "Computer vision"`: The heading it is listed under; else `Uncategorised`.
/// - `sets = ["gate", "canonical"]`: The sets it belongs to, for `--set`.
/// - `equivalence = exact`: What must agree between adapters: `exact`, `approx(1e-5)`, `alike(0.01)`, `shape`
///   or `none`; `by(function)` asks a function over the axes. Without it a scenario with a contract takes
///   what its `workload` says, else `exact`; others `none`.
/// - `filter = path`: A function that says which points are run; see below.
/// - `needs = path`: A function of all axes, by reference, that gives the `Requirements` of a point; what the
///   profile does not allow is a planned skip.
/// - `describe = path`: A function of all axes, by reference, that says what a point does, as a `String`;
///   listings show it.
/// - `workload = path`: In place of both: a function of all axes, by reference, that gives what a point does
///   as a `Workload`.
/// - `types = [A, B]`: What the type parameter of `fn name<T: Trait>(..)` stands for: an axis, of which a
///   plain run takes all. `name = Type` gives another label than the type's own name.
/// - `consts = [1, 8]`: The same for `fn name<const N: usize>(..)`.
/// - `group = "Sorting"`: Scenarios without a contract that say the same are shown side by side.
/// - `samples = 100`: The least number of samples in a repeat.
/// - `min_time = 0.5`: The least time that a repeat measures, in seconds.
/// - `max_time = 10`: The most, in seconds: what is slow gets fewer samples. Without it 5, or `min_time`
///   where that is more.
/// - `repeats = 9`: How often it is measured, each time in a process of its own.
/// - `worker_threads = 2`: For an `async` scenario: a runtime of that many threads and not of the current
///   one.
/// - `crate = path`: Where `weighbridge` is, if another crate hands it on. A renamed dependency is found.
///
/// What the command line says of samples, times and repeats, or a profile of the workspace, stands above
/// these; the profiles that are built in stand below.
///
/// # Parameters
///
/// The first is `&mut Bencher`. Each of the others is one of three things:
///
/// **The system under test**, `&mut dyn Contract`, at most once. The contract is any trait that can be an
/// object, yours too. The scenario is run through every adapter of it (see [`macro@adapter`]); they meet by
/// the type, so a misspelt name does not compile. What a contract needs beyond its methods (`Send`) stands on
/// the trait.
///
/// **An axis**, with its values in `#[sweep(...)]`, called like the parameter:
///
/// ```
/// # use weighbridge::prelude::*;
/// struct Images {
///     count: usize,
///     side: usize,
/// }
///
/// #[scenario(id = "RESIZE-1")]
/// fn resize(
///     bencher: &mut Bencher,
///     // Variants, with a label. A plain run takes the first.
///     #[sweep(small = Images { count: 100, side: 32 }, "224px" = Images { count: 10, side: 224 })]
///     images: Images,
///     // Values without a label are shown by their `Display`. A plain run takes all.
///     #[sweep(1, 2, 4)] threads: usize,
///     // Variants of which a plain run takes all.
///     #[sweep(all, nearest = 0, linear = 1)] filter: u8,
///     // An axis that came later. A plain run takes the first value, which is implied: it stands in no id.
///     #[sweep(implied, 1, 8)] batch: usize,
/// ) {
///     bencher.iter(|| images.count * images.side * threads * usize::from(filter) / batch);
/// }
/// ```
///
/// A value on the command line, `--param threads=8`, is parsed by the `FromStr` of the type, if it has one;
/// other types take their labels only. The type of an axis needs nothing else: each value is made where it is
/// used. Values are made to be listed and filtered as well, so let them *describe* data and not be it.
///
/// **An options struct**: a parameter without an attribute, whose type derives [`macro@Sweep`]; by value or
/// by reference.
///
/// # Generic scenarios
///
/// A type parameter and a constant are axes, and come first in the id: `SUM-1/Vec<u64>/N=8`.
///
/// ```
/// # use weighbridge::prelude::*;
/// use std::collections::VecDeque;
///
/// #[scenario(id = "SUM-1", types = [Vec<u64>, deque = VecDeque<u64>], consts = [8, 1_000])]
/// fn sum<T: FromIterator<u64>, const N: usize>(bencher: &mut Bencher)
/// where
///     for<'a> &'a T: IntoIterator<Item = &'a u64>,
/// {
///     let numbers: T = (0..N as u64).collect();
///     bencher.elements(N).iter(|| (&numbers).into_iter().sum::<u64>());
/// }
/// ```
///
/// # Filter
///
/// `filter = path` names a function over all parameters that are swept, in order and by reference. It gives
/// back `bool`, where `false` leaves the point out, or `Result<(), E>`, where the error records the point as
/// skipped, with the reason.
///
/// ```
/// # use weighbridge::prelude::*;
/// fn fits(threads: &usize, len: &usize) -> bool {
///     threads <= len
/// }
///
/// #[scenario(id = "SUM-1", filter = fits)]
/// fn sum(bencher: &mut Bencher, #[sweep(1, 8)] threads: usize, #[sweep(4, 4_000)] len: usize) {
///     bencher.iter(|| (0..len).step_by(threads).sum::<usize>());
/// }
/// ```
///
/// # What it gives back
///
/// Nothing, or `Result<(), E>` with an error that can be shown. `Err(weighbridge::skip("why"))` is a recorded
/// skip, any other error a failure.
///
/// # Async
///
/// `async fn` needs the feature `tokio` of `weighbridge`. It runs on a runtime that was made before any clock
/// started; `bencher.iter_async(async || ...).await` measures.
#[proc_macro_attribute]
pub fn scenario(options: TokenStream, item: TokenStream) -> TokenStream {
    shown("scenario", scenario::expand(options.into(), &item.into()))
}

/// Registers an implementation of a contract as an adapter: a system that scenarios are run through.
///
/// ```
/// use weighbridge::prelude::*;
///
/// trait Sorter {
///     fn sort(&mut self, data: &mut [u64]);
/// }
///
/// #[derive(Default)]
/// struct Standard;
///
/// /// What the standard library does.
/// #[adapter(name = "Standard library", tier = 0)]
/// impl Sorter for Standard {
///     fn sort(&mut self, data: &mut [u64]) {
///         data.sort_unstable();
///     }
/// }
///
/// #[scenario(id = "SORT-2")]
/// fn sort(bencher: &mut Bencher, sorter: &mut dyn Sorter) {
///     bencher.iter_batched(|| vec![3, 1, 2], |mut data| sorter.sort(&mut data));
/// }
/// ```
///
/// The adapter is made in the process that measures, on its main thread: neither the contract nor the type
/// needs to be `Send`.
///
/// # Options
///
/// - `name = "Google Grain"`: The name in tables and on the command line. Needed, and one of its kind for the
///   contract.
/// - `tier = 1`: 0 is the reference that others are verified against, one for each contract. Without it 1.
/// - `new = path`: What makes it, `fn() -> Type` or `fn() -> Result<Type, E>`; else its `Default`. The error
///   `weighbridge::skip("why")` is a recorded skip.
/// - `probe = path`: `fn() -> Availability`: whether the system behind it is installed, and which version. It
///   starts nothing. Without it the version is that of your crate.
/// - `unequal = "why"`: Declares that its work is known to differ from the reference's: it is listed apart.
/// - `crate = path`: Where `weighbridge` is, if not at `::weighbridge`.
///
/// An adapter that is not installed is listed with the command that installs it:
///
/// ```
/// # use weighbridge::prelude::*;
/// # trait Sorter {}
/// struct Radix {
///     threads: usize,
/// }
///
/// impl Radix {
///     fn open() -> Result<Self> {
///         let threads = std::thread::available_parallelism()?.get();
///         Ok(Self { threads })
///     }
///
///     fn probe() -> Availability {
///         Availability::Missing {
///             reason: "radix is not installed".to_owned(),
///             install: "cargo install radix".to_owned(),
///         }
///     }
/// }
///
/// #[adapter(name = "Radix", new = Radix::open, probe = Radix::probe)]
/// impl Sorter for Radix {}
/// ```
#[proc_macro_attribute]
pub fn adapter(options: TokenStream, item: TokenStream) -> TokenStream {
    shown("adapter", adapter::expand(options.into(), &item.into()))
}

/// Makes a struct a group of axes, which a scenario takes as one parameter.
///
/// ```
/// use weighbridge::prelude::*;
///
/// #[derive(Sweep)]
/// #[sweep(filter = Options::fits)]
/// struct Options {
///     #[sweep(0, 2)]
///     workers: usize,
///     #[sweep(1, 64)]
///     prefetch: usize,
/// }
///
/// impl Options {
///     fn fits(&self) -> Result<(), String> {
///         match self.workers {
///             0 if self.prefetch > 1 => Err("prefetching needs a worker".to_owned()),
///             _ => Ok(()),
///         }
///     }
/// }
///
/// #[scenario(id = "LOAD-1")]
/// fn load(bencher: &mut Bencher, options: Options) {
///     bencher.iter(|| options.workers * options.prefetch);
/// }
/// ```
///
/// Every field is an axis and carries its values in `#[sweep(...)]`, as the parameters of a
/// [`macro@scenario`] do. `#[sweep(filter = path)]` on the struct names a `fn(&Self)` that gives back `bool`
/// or `Result<(), E>`; `#[sweep(crate = path)]` tells where `weighbridge` is.
#[proc_macro_derive(Sweep, attributes(sweep))]
pub fn sweep(item: TokenStream) -> TokenStream {
    shown("Sweep", sweep::derive(item.into()).unwrap_or_else(syn::Error::into_compile_error))
}

/// Registers a function as a bench in divan's style. Its options are divan's.
#[cfg(feature = "divan")]
#[proc_macro_attribute]
pub fn divan_bench(options: TokenStream, item: TokenStream) -> TokenStream {
    shown("divan::bench", divan::bench(options.into(), &item.into()))
}

/// Gives the benches of a module options that they share. They are divan's.
#[cfg(feature = "divan")]
#[proc_macro_attribute]
pub fn divan_bench_group(options: TokenStream, item: TokenStream) -> TokenStream {
    shown("divan::bench_group", divan::group(options.into(), &item.into()))
}

/// Prints the expansion for those who ask.
fn shown(attribute: &str, expansion: proc_macro2::TokenStream) -> TokenStream {
    if std::env::var("WEIGHBRIDGE_MACRO_DEBUG").is_ok_and(|asked| asked == "1") {
        eprintln!("// #[{attribute}]\n{expansion}\n");
    }
    expansion.into()
}
