//! The start of a bench binary in divan's style.

use std::env;
use std::time::Duration;

use super::counter::{BytesCount, CharsCount, CyclesCount, IntoCounter, ItemsCount};
use super::entry::benches;
use super::options::{IntoThreads, OVERALL, Options};
use crate::harness::{self, Suite};
use crate::registry::{Additions, add};
use crate::run::CHILD_FLAG;

/// Runs all benches as the command line says, and ends the process where the exit code is not 0.
pub fn main() {
    Divan::from_args().main();
}

/// Options for all benches of a program, and what runs them.
#[derive(Clone, Debug, Default)]
pub struct Divan {
    options: Options,
}

/// A setter for each of these options.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty),* $(,)?) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: $type) -> Self {
                self.options.$name = Some($name);
                self
            }
        )*
    };
}

impl Divan {
    /// The command line is read in any case.
    pub fn from_args() -> Self {
        Self::default()
    }

    /// No effect: the command line is read in any case.
    #[must_use]
    pub fn config_with_args(self) -> Self {
        self
    }

    setters! {
        /// The least number of samples in each process.
        sample_count: u32,
        /// The number of iterations of each sample.
        sample_size: u32,
        /// The least time that the samples of each process take.
        min_time: Duration,
        /// The most time that they take.
        max_time: Duration,
        /// No effect: the least time is of samples alone, the most time is of all.
        skip_ext_time: bool,
    }

    /// The numbers of threads: one, several, or `true` for as many as the machine runs at once.
    #[must_use]
    pub fn threads<Form>(mut self, threads: impl IntoThreads<Form>) -> Self {
        self.options.threads = Some(threads.into_threads());
        self
    }

    /// States the number of things that each iteration processes.
    #[must_use]
    pub fn counter(mut self, counter: impl IntoCounter) -> Self {
        self.options.counters.set(counter);
        self
    }

    /// Bytes that each iteration processes.
    #[must_use]
    pub fn bytes_count(self, count: impl Into<BytesCount>) -> Self {
        self.counter(count.into())
    }

    /// Characters that each iteration processes.
    #[must_use]
    pub fn chars_count(self, count: impl Into<CharsCount>) -> Self {
        self.counter(count.into())
    }

    /// Cycles that each iteration processes.
    #[must_use]
    pub fn cycles_count(self, count: impl Into<CyclesCount>) -> Self {
        self.counter(count.into())
    }

    /// Items that each iteration processes.
    #[must_use]
    pub fn items_count(self, count: impl Into<ItemsCount>) -> Self {
        self.counter(count.into())
    }

    /// Does what the command line says, and ends the process where the exit code is not 0.
    ///
    /// # Panics
    /// If it is called twice in a program.
    pub fn main(self) {
        let is_child = env::args_os().nth(1).is_some_and(|arg| arg == CHILD_FLAG);
        assert!(OVERALL.set(self.options).is_ok(), "the benches of a program are run once");
        let scenarios = benches().map(|bench| bench.scenario(!is_child)).collect();
        add(Additions { scenarios, adapters: Vec::new(), alone: false });
        let code = harness::code(suite());
        if code != 0 {
            std::process::exit(code.into());
        }
    }

    /// The same as [`Divan::main`]: the command line says whether benches are run.
    ///
    /// # Panics
    /// If it is called twice in a program.
    pub fn run_benches(self) {
        self.main();
    }
}

/// The suite of this bench target, as it was baked into a bench of its file, since `divan::main` is no macro.
/// Cargo names a folder for temporary files to bench targets alone, so a bench of a library is told from one
/// of the file.
fn suite() -> Suite {
    let suites = || benches().map(|bench| bench.bench.suite);
    let found = suites().find(|suite| suite.target_tmp.is_some()).or_else(|| suites().next());
    found.map_or_else(nameless, |suite| match suite.target_tmp {
        Some(_) => suite,
        None => Suite { target: target(), ..suite },
    })
}

/// A bench target without a bench: the harness says that there is none.
fn nameless() -> Suite {
    let directory = env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| ".".to_owned()).leak();
    Suite {
        target_tmp: None,
        package: "unknown",
        version: "unknown",
        target: target(),
        directory,
        family: None,
    }
}

/// The target by the name of its program, which cargo gives a hash: `sorting-0a1b2c3d4e5f6071`.
fn target() -> &'static str {
    let program = env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    let is_hash = |text: &str| text.len() == 16 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    let name = match stem.rsplit_once('-') {
        Some((name, hash)) if is_hash(hash) => name,
        _ => &stem,
    };
    name.replace('-', "_").leak()
}
