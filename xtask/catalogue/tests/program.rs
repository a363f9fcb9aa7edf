//! The program as it is started.

use std::process::Command;

/// Returns the answer of the program: its exit code, and what it writes to both of its outputs.
fn answer(arguments: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-catalogue"));
    let ended = program.args(arguments).output().expect("it starts");
    let text = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (ended.status.code(), text.concat())
}

#[test]
fn the_program_shows_its_commands_also_where_cargo_names_it_once_more_and_refuses_one_that_is_misspelt() {
    for arguments in [&["--help"][..], &["catalogue", "--help"]] {
        let (code, help) = answer(arguments);
        assert!(code == Some(0) && help.contains("bottleneck") && help.contains("cargo catalogue"), "{help}");
    }
    let (code, said) = answer(&["per", "list"]);
    assert!(code == Some(2) && said.contains("peers"), "{said}");
}
