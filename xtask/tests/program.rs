//! The program as it is started.

use std::fs::File;
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

#[test]
fn what_was_typed_is_told_as_text() {
    for word in ["--no\u{1b}[2Ksuch\n::error::x", "no##[error]such\u{202e}"] {
        let (code, said) = answer(&[word]);
        assert_eq!(code, Some(2), "{said}");
        let is_plain = |line: &str| !line.trim_start().starts_with("::") && !line.contains("##[");
        assert!(said.lines().all(is_plain) && !said.contains(['\u{1b}', '\u{202e}']), "{said}");
        assert!(said.contains("such"), "{said}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_said_and_is_1() {
    for arguments in [&["--help"][..], &["runs", "list"]] {
        let full = File::options().write(true).open("/dev/full").expect("a full device");
        let mut program = Command::new(env!("CARGO_BIN_EXE_xtask"));
        let ended = program.args(arguments).stdout(full).output().expect("it starts");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains("failed to write to the standard output: No space left"), "{said}");
    }
}
