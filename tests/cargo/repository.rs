//! A stranger's repository: one downstream crate, one bench target, one case.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::external::{ProcessEnd, bare_xtask, root, target};

/// A downstream crate whose work an environment variable makes longer, once its author has built that in.
///
/// The repositories of all tests are one package to cargo, and share what was built and measured: there is
/// one at a time.
pub(crate) struct Repository(
    TempDir,
    #[expect(dead_code, reason = "held until the test is over")] MutexGuard<'static, ()>,
);

static ONE: Mutex<()> = Mutex::new(());

/// Short processes: what is planted here is a tenth and more, which they find as surely.
pub(crate) const SHORT: &[&str] = &["--no-lock", "--measurement-time", "0.02"];

const MANIFEST: &str = r#"
[package]
name = "worker"
version = "0.1.0"
edition = "2024"

[lib]
bench = false

[dev-dependencies]
weighbridge = { path = "RUNTIME" }

[[bench]]
name = "work"
harness = false

# As the guide says, and as in `tests/external`, which is built in the same place of the same.
[profile.bench.package.weighbridge]
opt-level = 0

[workspace]
"#;

pub(crate) const BENCH: &str = r#"
use weighbridge::prelude::*;

/// Turns for about a hundred microseconds.
#[scenario(id = "WORK-1", category = "Work")]
fn turns(bencher: &mut Bencher) {
    let turns = worker::turns(80_000);
    bencher.iter(|| {
        let mut state = std::hint::black_box(1u64);
        for _ in 0..turns {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        state
    });
}

weighbridge::main!();
"#;

pub(crate) const PLAIN: &str =
    "/// As many turns as were asked for.\npub fn turns(asked: u64) -> u64 {\n    asked\n}\n";

/// Reads by how much the work is to be longer, at run time.
pub(crate) const PLANTED: &str = "/// As many turns as were asked for, and more if the environment says so.
pub fn turns(asked: u64) -> u64 {
    let factor = std::env::var(\"WORKER_FACTOR\").map_or(1.0, |text| text.parse().unwrap());
    (asked as f64 * factor) as u64
}
";

impl Repository {
    /// One commit, of the plain work: the same one whenever it is made.
    pub(crate) fn new() -> Self {
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = Self(TempDir::new().unwrap(), alone);
        let runtime = root().join("runtime");
        repository.write("Cargo.toml", &MANIFEST.replace("RUNTIME", &runtime.display().to_string()));
        repository.write("src/lib.rs", PLAIN);
        repository.write("benches/work.rs", BENCH);
        repository.write(".gitignore", "target/\n");
        fs::copy(root().join("Cargo.lock"), repository.path().join("Cargo.lock")).unwrap();
        repository.git(&["init", "--quiet"]);
        repository.commit("base");
        repository
    }

    /// Commits all that there is.
    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Whoever commits, and whenever, the same content gets the same name: a revision is built once, and not
    /// once for each run of the tests.
    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args).current_dir(self.path());
        git.env("GIT_AUTHOR_DATE", "@0 +0000").env("GIT_COMMITTER_DATE", "@0 +0000");
        assert!(git.status().unwrap().success());
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// `cargo xtask`, in the repository.
    pub(crate) fn xtask(&self, line: &[&str], variables: &[(&str, &str)]) -> ProcessEnd {
        ProcessEnd::of(self.within(&mut bare_xtask(line)).envs(variables.iter().copied()))
    }

    /// A command in the repository, with its target directory and its data.
    pub(crate) fn within<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        // Cargo goes by the times of files: these are newer than what the test before has built.
        for file in ["src/lib.rs", "benches/work.rs"] {
            let text = fs::read_to_string(self.path().join(file)).unwrap();
            self.write(file, &text);
        }
        command
            .current_dir(self.path())
            .env("WEIGHBRIDGE_DATA", Self::data())
            .env("CARGO_TARGET_DIR", kept())
            .env("XDG_STATE_HOME", kept().join("state"))
    }

    /// Where its runs and the revisions that were built lie.
    pub(crate) fn data() -> PathBuf {
        kept().join("data")
    }
}

/// Kept from one run of the tests to the next: a build of the harness takes half a minute.
fn kept() -> PathBuf {
    target().join("worker")
}
