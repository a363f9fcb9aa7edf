//! The start of a bench binary in divan's style.

use std::env;
use std::sync::OnceLock;
use std::time::Duration;

use weighbridge::style::{
    Additions, CHILD_FLAG, FindRequest, FoundBenches, Suite, add, code, target_of_program,
};

use super::counter::{BytesCount, BytesFormat, CharsCount, CyclesCount, IntoCounter, ItemsCount};
use super::entry::{benches, scenarios};
use super::options::{CHOICE, Choice, IntoRegex, IntoThreads, OVERALL, Options};

/// Runs all benches as the command line says, and ends the process where the exit code is not 0.
pub fn main() {
    Divan::from_args().main();
}

/// Options for all benches of a program, and what runs them.
#[derive(Clone, Debug, Default)]
pub struct Divan {
    options: Options,
    choice: Choice,
    notes: Vec<String>,
}

/// Things to say to whoever measures.
static NOTES: OnceLock<Vec<String>> = OnceLock::new();

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

    /// Leaves out the benches whose path it matches, as `--skip` does.
    #[must_use]
    pub fn skip_regex(mut self, filter: impl IntoRegex) -> Self {
        self.choice.skip_regex.push(filter.into_regex());
        self
    }

    /// Leaves out the bench of this path, as `--skip` with `--exact` does.
    #[must_use]
    pub fn skip_exact(mut self, filter: impl Into<String>) -> Self {
        self.choice.skip_exact.push(filter.into());
        self
    }

    /// Runs those that say `ignore` as well.
    #[must_use]
    pub fn run_ignored(mut self) -> Self {
        self.choice.ignored = true;
        self
    }

    /// The same: what runs is chosen by filters.
    #[must_use]
    pub fn run_only_ignored(self) -> Self {
        self.noted("`run_only_ignored` runs all here: filters choose").run_ignored()
    }

    /// No effect: `--color` says it.
    #[must_use]
    pub fn color(self, yes: impl Into<Option<bool>>) -> Self {
        let _ = yes.into();
        self.noted("`color` has no effect here: write `--color always` or `--color never`")
    }

    /// No effect: bytes are shown in powers of 1000.
    #[must_use]
    pub fn bytes_format(self, _: BytesFormat) -> Self {
        self.noted("`bytes_format` has no effect here")
    }

    fn noted(mut self, note: &str) -> Self {
        self.notes.push(format!("note: {note}"));
        self
    }

    /// Does what the command line says, and ends the process where the exit code is not 0.
    ///
    /// # Panics
    /// If it is called twice in a program.
    pub fn main(&self) {
        let is_child = env::args_os().nth(1).is_some_and(|arg| arg == CHILD_FLAG);
        assert!(OVERALL.set(self.options.clone()).is_ok(), "the benches of a program are run once");
        let _ = CHOICE.set(self.choice.clone());
        let _ = NOTES.set(self.notes.clone());
        if is_child {
            add(Additions { scenarios: scenarios(false).0, adapters: Vec::new(), alone: false });
        }
        let code = code(suite(), Some(find));
        if code != 0 {
            std::process::exit(code.into());
        }
    }

    /// The same as [`Divan::main`]: the command line says whether benches are run.
    ///
    /// # Panics
    /// If it is called twice in a program.
    pub fn run_benches(&self) {
        self.main();
    }

    #[doc(hidden)]
    pub fn test_benches(&self) {
        self.main();
    }

    #[doc(hidden)]
    pub fn list_benches(&self) {
        self.main();
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the harness asks for a reason where benches are not found")]
fn find(_: &FindRequest<'_>) -> Result<FoundBenches, String> {
    let (scenarios, doubled) = scenarios(true);
    let notes = NOTES.get().into_iter().flatten().cloned().chain(doubled).collect();
    Ok(FoundBenches { scenarios, notes, variables: Vec::new() })
}

/// The suite of this bench target, as it was baked into a bench of its file, since `divan::main` is no macro.
/// Cargo names a folder for temporary files to bench targets alone, so a bench of a library is told from one
/// of the file.
fn suite() -> Suite {
    let suites = || benches().map(|bench| bench.bench.suite);
    let found = suites().find(|suite| suite.target_tmp.is_some()).or_else(|| suites().next());
    found.map_or_else(nameless, |suite| match suite.target_tmp {
        Some(_) => suite,
        None => Suite { target: target_of_program(), ..suite },
    })
}

/// A bench target without a bench: the harness says that there is none.
fn nameless() -> Suite {
    let directory = env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| ".".to_owned()).leak();
    Suite {
        target_tmp: None,
        package: "unknown",
        version: "unknown",
        target: target_of_program(),
        directory,
        family: None,
    }
}
