//! The start of a bench binary: it finds benchmarks, measures one, or is the command that has both done.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use weighbridge::style::{Additions, FindRequest, Serving, Suite, add, code};

use crate::entries::{GROUPS, found};
use crate::find::{FOLDER, find, is_child};
use crate::finder::Finder;
use crate::visit::{Served, WALK, Walk, Way, text};

/// The whole of a bench binary: `criterion_main!` calls it.
pub fn main(suite: Suite, groups: &[fn()]) -> ExitCode {
    let groups = GROUPS.get_or_init(|| groups.to_vec());
    let Some(finder) = Finder::from_env() else { return ExitCode::from(start(suite)) };
    WALK.set(Walk::Finding(finder));
    for group in groups {
        // Of what is around its functions, such as its configuration.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(group)) {
            WALK.with_borrow_mut(|walk| {
                if let Walk::Finding(finder) = walk {
                    finder.panicked("criterion_group!", &text(panic.as_ref()));
                }
            });
        }
    }
    ExitCode::SUCCESS
}

fn start(suite: Suite) -> u8 {
    register_in_child(&suite);
    code(suite, Some(find))
}

/// Registers what was found in this program, in a process that measures.
fn register_in_child(suite: &Suite) {
    let Some(folder) = env::var_os(FOLDER).filter(|_| is_child()) else { return };
    let folder = PathBuf::from(folder);
    let request = FindRequest { folder, directory: Path::new(suite.directory), filtered: true };
    // A child that knows no benchmark says so where it is asked for one.
    if let Ok(found) = find(&request) {
        add(Additions { scenarios: found.scenarios, adapters: Vec::new(), alone: false });
    }
}

/// Does what the process is for where the author's own `main` has called a function: it comes back in a
/// process that finds benchmarks or measures one, and ends any other.
pub(crate) fn take_over() {
    if let Some(finder) = Finder::from_env() {
        WALK.set(Walk::Finding(finder));
        return;
    }
    let suite = nameless();
    if !is_child() {
        std::process::exit(start(suite).into());
    }
    register_in_child(&suite);
    let Some((serving, asked)) = Serving::begin().ok().and_then(|mut serving| {
        let asked = serving.next_request()?;
        Some((serving, asked))
    }) else {
        std::process::exit(0);
    };
    // One that is not found is passed by until `main` ends, and the parent tells that.
    let wanted = found(asked.scenario(), asked.point()).ok();
    let (wanted, closures) =
        wanted.map_or_else(Default::default, |bench| (bench.wanted.clone(), bench.closures));
    WALK.set(Walk::Serving(Way::new(wanted, closures), Box::new(Served { serving, asked })));
}

/// The suite of a program without `criterion_main!`, by what cargo tells it when it runs.
fn nameless() -> Suite {
    let told = |name: &str, else_: &str| &*env::var(name).unwrap_or_else(|_| else_.to_owned()).leak();
    Suite {
        target_tmp: None,
        package: told("CARGO_PKG_NAME", "unknown"),
        version: told("CARGO_PKG_VERSION", "unknown"),
        target: weighbridge::style::target_of_program(),
        directory: told("CARGO_MANIFEST_DIR", "."),
        family: None,
    }
}
