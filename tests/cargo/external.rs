//! The downstream crate `tests/external`, built once, and its bench binaries, run as cargo runs them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{LazyLock, Mutex};
use std::{iter, thread};

use serde_json::Value;
use tempfile::TempDir;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace has this package")
}

/// A cargo command in the downstream crate, with a target directory of its own below ours.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(args).current_dir(downstream());
    command.env("CARGO_TARGET_DIR", target()).env_remove("CARGO_MAKEFLAGS").stdin(Stdio::null());
    clean(&mut command);
    command
}

/// The downstream crate's folder, with our lock file in it: cargo keeps of it what the crate needs. So the
/// crate is built with our versions, and never with those that were the newest when an earlier run of the
/// tests asked.
pub(crate) fn downstream() -> &'static Path {
    static LOCKED: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = root().join("tests/external");
        // In one piece: programs of tests may run side by side.
        let new = tempfile::NamedTempFile::new_in(&folder).unwrap();
        std::fs::copy(root().join("Cargo.lock"), &new).unwrap();
        new.persist(folder.join("Cargo.lock")).unwrap();
        folder
    });
    &LOCKED
}

/// The downstream crate's target directory.
pub(crate) fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("external")
}

/// A cargo that does this with any subcommand that is not its own, and what cargo does with its own.
pub(crate) fn cargo_that(folder: &Path, script: &str) -> PathBuf {
    let file = folder.join("cargo");
    let real = env!("CARGO");
    let script = format!("#!/bin/sh\ncase \"$1\" in metadata) exec '{real}' \"$@\";; esac\n{script}\n");
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// A cargo whose `cargo xtask` is the program of the tests.
pub(crate) fn cargo_of_ours(folder: &Path) -> PathBuf {
    cargo_that(folder, &format!("shift\nexec '{}' \"$@\"", xtask_program().display()))
}

/// Takes our own settings and those of the caller's terminal out of a command's environment, and leaves alone
/// what the user has installed of Python frameworks.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars() {
        if name.starts_with("WEIGHBRIDGE_") || name.starts_with("GITHUB_") {
            command.env_remove(name);
        }
    }
    command.env("WEIGHBRIDGE_PEERS", Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-peers"));
    command.env("CARGO_TERM_COLOR", "never").env_remove("RUST_BACKTRACE");
}

/// What cargo says of a build, message by message.
pub(crate) fn json_messages(command: &mut Command) -> Vec<Value> {
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "it must build: {command:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Paths of the bench binaries by target.
static BINARIES: LazyLock<Vec<(String, PathBuf)>> = LazyLock::new(|| {
    let messages = json_messages(&mut cargo(&["bench", "--no-run", "--message-format=json"]));
    let binaries: Vec<_> = messages
        .iter()
        .filter(|message| message["target"]["kind"][0] == "bench")
        .filter_map(|message| {
            Some((message["target"]["name"].as_str()?.into(), message["executable"].as_str()?.into()))
        })
        .collect();
    assert_eq!(binaries.len(), 13, "{binaries:?}");
    binaries
});

/// A bench binary with a data directory of its own.
pub(crate) struct Bench {
    target: &'static str,
    data: TempDir,
}

impl Bench {
    pub(crate) fn new(target: &'static str) -> Self {
        Self { target, data: TempDir::new().unwrap() }
    }

    /// Where it keeps its runs.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// The command that cargo would run for `cargo bench -- ARGS`, without its lock on the machine: tests run
    /// at once.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.arg("--data").arg(self.data()).args(["--no-lock", "--bench"]);
        command
    }

    /// The command with nothing added, as `cargo test --benches` and nextest run it.
    pub(crate) fn bare(&self, args: &[&str]) -> Command {
        let (_, binary) =
            BINARIES.iter().find(|(name, _)| name == self.target).expect("the bench target exists");
        let mut command = Command::new(binary);
        command.args(args).current_dir(downstream()).stdin(Stdio::null());
        clean(&mut command);
        command
    }

    /// Runs it and waits.
    pub(crate) fn run(&self, args: &[&str]) -> ProcessEnd {
        ProcessEnd::of(&mut self.command(args))
    }

    /// The ids of its runs, oldest first.
    pub(crate) fn runs(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.data().join("runs"))
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    /// The directory of its only run.
    pub(crate) fn only_run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        self.data().join("runs").join(&runs[0])
    }
}

/// Our own commands, built once, and where everything else of the workspace is built: a target directory of a
/// test's own is for what the commands build.
static XTASK: LazyLock<PathBuf> = LazyLock::new(|| built("xtask"));

/// Those of the catalogue, likewise.
static CATALOGUE: LazyLock<PathBuf> = LazyLock::new(|| built("cargo-catalogue"));

fn built(program: &str) -> PathBuf {
    let mut command = Command::new(env!("CARGO"));
    // As `cargo test --workspace` has built it, for a test of the program's: alone, all below it would have
    // other features, and be built once more.
    command.args(["test", "--workspace", "--no-run", "--test", "program", "--message-format=json"]);
    clean(command.current_dir(root()).stdin(Stdio::null()));
    let messages = json_messages(&mut command);
    let is_it = |message: &&Value| message["target"]["name"] == program && message["executable"].is_string();
    let found = messages.iter().find(is_it).expect("it is built");
    found["executable"].as_str().expect("a path").into()
}

/// The program behind `cargo xtask`.
pub(crate) fn xtask_program() -> &'static Path {
    &XTASK
}

/// `cargo xtask`, wherever it is run.
pub(crate) fn bare_xtask(args: &[&str]) -> Command {
    let mut command = Command::new(xtask_program());
    clean(command.args(args).stdin(Stdio::null()));
    command
}

/// `cargo xtask ARGS` over the bench's data directory.
pub(crate) fn xtask(bench: &Bench, args: &[&str]) -> ProcessEnd {
    ProcessEnd::of(&mut xtask_command(bench, args))
}

/// The same, not yet run.
pub(crate) fn xtask_command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bare_xtask(args);
    command.current_dir(root()).env("WEIGHBRIDGE_DATA", bench.data());
    command
}

/// `cargo catalogue`, wherever it is run.
pub(crate) fn bare_catalogue(args: &[&str]) -> Command {
    let mut command = Command::new(&*CATALOGUE);
    clean(command.args(args).stdin(Stdio::null()));
    command
}

/// `cargo catalogue ARGS` over the bench's data directory.
pub(crate) fn catalogue(bench: &Bench, args: &[&str]) -> ProcessEnd {
    ProcessEnd::of(&mut catalogue_command(bench, args))
}

/// The same, not yet run.
pub(crate) fn catalogue_command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bare_catalogue(args);
    command.current_dir(root()).env("WEIGHBRIDGE_DATA", bench.data());
    command
}

/// Does this with every item, two at a time: for what starts processes and waits for them.
pub(crate) fn two_at_a_time<I>(items: I, each: impl Fn(I::Item) + Sync)
where
    I: IntoIterator<IntoIter: Send>,
{
    let left = Mutex::new(items.into_iter());
    let next = || left.lock().expect("taking an item does not panic").next();
    let some = || iter::from_fn(next).for_each(&each);
    thread::scope(|scope| {
        scope.spawn(some);
        scope.spawn(some);
    });
}

/// The end of a command.
#[derive(Debug)]
pub(crate) struct ProcessEnd {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ProcessEnd {
    pub(crate) fn of(command: &mut Command) -> Self {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Both outputs, for messages.
    pub(crate) fn all(&self) -> String {
        format!("exit {:?}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}
