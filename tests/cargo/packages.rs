//! `cargo bench` over the packages of a workspace, called from its root.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use tempfile::TempDir;

use weighbridge::Runner;

use crate::external::{ProcessEnd, clean, root, target};

const WORKSPACE: &str = r#"
[workspace]
members = [MEMBERS]
resolver = "3"

# As in `tests/external`, which is built in the same way.
[profile.bench.package.weighbridge]
opt-level = 0
"#;

/// A workspace of two packages, each with a bench target of one case, whose files were written at this time:
/// cargo goes by that.
fn workspace(written: SystemTime, packages: [&str; 2]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
    };
    let [first, second] = packages;
    write("Cargo.toml", &WORKSPACE.replace("MEMBERS", &format!("\"{first}\", \"{second}\"")));
    for package in packages {
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

/// The packages of most tests; each test has its own, since cargo takes those of one name for the same.
const LEFT_RIGHT: [&str; 2] = ["left", "right"];

/// The variables for cargo and what it runs.
fn variables() -> Vec<(String, String)> {
    let target = target().join("packages").display().to_string();
    let peers = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-peers").display().to_string();
    vec![("CARGO_TARGET_DIR".into(), target), ("WEIGHBRIDGE_PEERS".into(), peers)]
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
    let one = workspace(SystemTime::now(), LEFT_RIGHT);
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
    let two = workspace(SystemTime::UNIX_EPOCH, LEFT_RIGHT);
    let other = bench(two.path(), &["LEFT"]);
    assert_eq!(other.code, Some(4), "{}", other.all());
    assert!(other.stderr.contains("two workspaces share a target directory"), "{}", other.all());
}

#[test]
fn several_targets_have_one_table_at_the_end_and_a_call_of_the_library_runs_them_all_whatever_one_comes_to() {
    let one = workspace(SystemTime::now(), ["up", "down"]);
    let both = bench(one.path(), &["--data", "theirs", "--save-baseline", "main"]);
    assert_eq!(both.code, Some(0), "{}", both.all());
    let table: Vec<&str> =
        both.stdout.lines().skip_while(|line| !line.contains("all bench targets")).take(3).collect();
    assert!(
        table.len() == 3 && table[1].contains("down/work_load") && table[2].contains("up/work_load"),
        "{}",
        both.all()
    );
    let alone = bench(one.path(), &["--data", "theirs", "UP"]);
    assert!(!alone.stdout.contains("all bench targets"), "one has run: {}", alone.all());

    let runner = Runner {
        folder: Some(one.path().to_owned()),
        quick: true,
        data: Some("mine".into()),
        flags: ["--no-lock", "--measurement-time", "0.002"].map(str::to_owned).into(),
        variables: variables(),
        ..Runner::default()
    };
    let ended = runner.run().unwrap();
    assert_eq!((ended.exit, ended.runs.len()), (0, 2), "{ended:?}");
    let mine = one.path().join("mine/runs");
    assert!(
        ended.runs.iter().all(|run| run.starts_with(&mine) && run.join("run.json").exists()),
        "{ended:?}"
    );

    // The first to run fails, and the other runs all the same.
    let broken = one.path().join("down/benches/work-load.rs");
    let text = fs::read_to_string(&broken).unwrap();
    fs::write(
        &broken,
        text.replace("bencher.iter", "assert!(bencher.scratch().is_err());\n    bencher.iter"),
    )
    .unwrap();
    let ended = runner.run().unwrap();
    assert_eq!((ended.exit, ended.runs.len()), (6, 2), "{ended:?}");
    let nothing = Runner { baseline: Some("nobody".into()), ..runner }.run().unwrap();
    assert!(nothing.exit != 0 && nothing.runs.is_empty(), "{nothing:?}");
}
