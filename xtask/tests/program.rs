//! The program as it is started.

use std::process::Command;

/// The answer of the program: its exit code, and what it writes to both of its outputs.
fn answer(arguments: &[&str]) -> (Option<i32>, String) {
    let ended = Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().expect("it starts");
    let text = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (ended.status.code(), text.concat())
}

#[test]
fn the_program_shows_its_commands_and_refuses_one_that_is_misspelt() {
    let (code, help) = answer(&["--help"]);
    assert!(code == Some(0) && help.contains("compare-baseline"), "{help}");
    let (code, said) = answer(&["compare-baselin", "main"]);
    assert!(code == Some(2) && said.contains("compare-baseline"), "{said}");
}
