//! Scenarios that ranks of a launch do together: the whole program, on ranks of this machine and on hosts of
//! a cluster. Started with [`PROGRAM`] in its environment, this file is the bench program itself.

#[expect(dead_code, reason = "tests of launches need more of it")]
#[path = "../../../xtask/tests/launch/cluster.rs"]
mod cluster;
mod launched;
mod plays;

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, thread};

use weighbridge_checkpoints as _; // or the linker drops what it registered
use weighbridge_loaders as _;
use weighbridge_training as _;

/// The variable that makes this program a bench program.
const PROGRAM: &str = "RANKS_TEST_PROGRAM";

/// The longest that anything is waited for that must come.
const PATIENCE: Duration = Duration::from_mins(3);

/// Waits for something that must come.
fn until(what: &str, mut is_there: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < end, "it never came: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The tests by their names. There is no other harness here: it would take the arguments of the bench
/// program.
const TESTS: [(&str, fn()); 5] = [
    ("ranks_share_the_workers_of_a_mesh", plays::ranks_share_the_workers_of_a_mesh),
    ("ranks_train_one_model", plays::ranks_train_one_model),
    ("ranks_save_and_load_one_checkpoint", plays::ranks_save_and_load_one_checkpoint),
    ("what_ranks_cannot_share_is_a_skip", plays::what_ranks_cannot_share_is_a_skip),
    ("hosts_of_a_cluster_do_the_same", plays::hosts_of_a_cluster_do_the_same),
];

fn main() -> ExitCode {
    if env::var_os(PROGRAM).is_some() {
        return weighbridge::__private::main(weighbridge::__private::Suite {
            target_tmp: option_env!("CARGO_TARGET_TMPDIR"),
            package: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            target: env!("CARGO_CRATE_NAME"),
            directory: env!("CARGO_MANIFEST_DIR"),
            family: None,
        });
    }
    let words: Vec<String> = env::args().skip(1).collect();
    let is_ignored = words.iter().any(|word| word == "--ignored");
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted =
        |name: &str| !is_ignored && (wanted.is_empty() || wanted.iter().any(|of| name.contains(&***of)));
    let tests = TESTS.iter().filter(|(name, _)| is_wanted(name));
    if words.iter().any(|word| word == "--list") {
        tests.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for (name, test) in tests {
        let is_good = catch_unwind(*test).is_ok();
        println!("test {name} ... {}", if is_good { "ok" } else { "FAILED" });
        failed += usize::from(!is_good);
    }
    ExitCode::from(u8::from(failed > 0))
}
