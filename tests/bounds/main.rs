//! Mistakes that only the compiler can find, since they are about types.
//!
//! What it says about them changes with its releases and quotes our own code, so nothing is kept whole: every
//! case begins with the lines that its author must get to read.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a case begins with: `// says: error ...`.
const SAYS: &str = "// says: ";

#[test]
fn mistakes_with_types_are_told_in_our_words() {
    let cases = cases();
    let said = compile(&cases);
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case.file_stem().expect("a case has a name").to_string_lossy().into_owned();
        let source = fs::read_to_string(case).expect("a case can be read");
        let own = said_about(&said, &name);
        for expected in source.lines().filter_map(|line| line.strip_prefix(SAYS)) {
            if !own.contains(expected) {
                wrong.push(format!("{name} does not say `{expected}`, but:\n{own}"));
            }
        }
        assert!(source.starts_with(SAYS), "{name} does not begin with `{SAYS}`");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bounds/cases");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .expect("the cases are there")
        .map(|entry| entry.expect("a case can be listed").path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    cases
}

/// Checks every case as a program of one package, and gives back all that the compiler said.
fn compile(cases: &[PathBuf]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bounds");
    fs::create_dir_all(package.join("src")).expect("a package can be made");
    // Literal strings of TOML, for whatever a path holds.
    let mut manifest = format!(
        "[package]\nname = \"bounds\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n\
         weighbridge = {{ path = '{}' }}\n",
        root.join("runtime").canonicalize().expect("the runtime is there").display()
    );
    for case in cases {
        let name = case.file_stem().expect("a case has a name").to_string_lossy();
        write!(manifest, "\n[[bin]]\nname = \"{name}\"\npath = '{}'\n", case.display())
            .expect("a string takes everything");
    }
    fs::write(package.join("Cargo.toml"), manifest).expect("the manifest can be written");
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("the lock file can be copied");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--keep-going", "--color", "never", "--target-dir"])
        .arg(package.join("target"))
        .current_dir(&package)
        .output()
        .expect("cargo can be started");
    assert!(!output.status.success(), "no case failed to compile");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The messages that point into this case.
fn said_about(said: &str, name: &str) -> String {
    let file = format!("cases/{name}.rs:");
    said.split("\n\n").filter(|message| message.contains(&file)).collect::<Vec<_>>().join("\n\n")
}
