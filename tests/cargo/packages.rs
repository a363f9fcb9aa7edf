//! `cargo bench` over the packages of a workspace, called from its root.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use tempfile::TempDir;

use crate::external::{ProcessEnd, clean, root, target};

const WORKSPACE: &str = r#"
[workspace]
members = ["left", "right"]
resolver = "3"

# As in `tests/external`, which is built in the same way.
[profile.bench.package.weighbridge]
opt-level = 0
"#;

/// A workspace of two packages, each with a bench target of one case, whose files were written at this time:
/// cargo goes by that.
fn workspace(written: SystemTime) -> TempDir {
    let folder = TempDir::new().unwrap();
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
    };
    write("Cargo.toml", WORKSPACE);
    for package in ["left", "right"] {
        let runtime = root().join("runtime").display().to_string();
        let manifest = format!(
            "[package]\nname = \"{package}\"\nedition = \"2024\"\n\n[lib]\nbench = false\n\n\
             [dev-dependencies]\nweighbridge = {{ path = \"{runtime}\" }}\n\n\
             [[bench]]\nname = \"work-load\"\nharness = false\n"
        );
        write(&format!("{package}/Cargo.toml"), &manifest);
        write(&format!("{package}/src/lib.rs"), "");
        let case = package.to_uppercase();
        let bench = format!(
            "use weighbridge::prelude::*;\n\n/// Adds.\n#[scenario(id = \"{case}\", category = \"Work\")]\n\
             fn add(bencher: &mut Bencher) {{\n    bencher.iter(|| std::hint::black_box(1u64) + 2);\n}}\n\n\
             weighbridge::main!();\n"
        );
        write(&format!("{package}/benches/work-load.rs"), &bench);
    }
    fs::copy(root().join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    folder
}

fn bench(workspace: &Path, args: &[&str]) -> ProcessEnd {
    let mut command = Command::new(env!("CARGO"));
    command.args(["bench", "--"]).args(args).args(["--no-lock", "--quick", "--measurement-time", "0.002"]);
    command.current_dir(workspace).env("CARGO_TARGET_DIR", target().join("packages"));
    clean(command.env_remove("CARGO_MAKEFLAGS").stdin(Stdio::null()));
    ProcessEnd::of(&mut command)
}

#[test]
fn a_filter_a_path_and_a_shared_target_directory_mean_what_they_say_over_several_packages() {
    let one = workspace(SystemTime::now());
    // None of the two has it: the last one ends with 4, and cargo with it.
    let nothing = bench(one.path(), &["NOSUCH"]);
    assert_eq!(nothing.code, Some(4), "{}", nothing.all());
    assert_eq!(nothing.stderr.matches("no case matches `NOSUCH`").count(), 2, "{}", nothing.all());

    // One of them has it, whether it is the first or the last. A relative path is where the user is.
    for case in ["LEFT", "RIGHT"] {
        let some = bench(one.path(), &[case, "--data", "mine"]);
        assert_eq!(some.code, Some(0), "{case}: {}", some.all());
    }
    assert_eq!(fs::read_dir(one.path().join("mine/runs")).unwrap().count(), 2);

    // Cargo takes what was built from there for what this older one has.
    let two = workspace(SystemTime::UNIX_EPOCH);
    let other = bench(two.path(), &["LEFT"]);
    assert_eq!(other.code, Some(4), "{}", other.all());
    assert!(other.stderr.contains("two workspaces share a target directory"), "{}", other.all());
}
