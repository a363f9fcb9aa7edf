//! A test in a process of its own.

use std::process::Command;

/// Runs a test in a process of its own, where no other test reads files: what a process reads is counted for
/// all its threads.
pub(super) fn alone(module: &str, name: &str, test: impl FnOnce()) {
    const ALONE: &str = "WEIGHBRIDGE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let name = format!("{}::{name}", module.split_once("::").expect("it is in a crate").1);
    let own = std::env::current_exe().expect("a test is a program");
    let ended = Command::new(own).args(["--exact", &name]).env(ALONE, "1").output().expect("it starts");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}
