//! The toolchain that builds one side of a comparison.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The variable by which rustup hands the toolchain on to all that a command of cargo starts.
const CHOSEN: &str = "RUSTUP_TOOLCHAIN";

/// The toolchain of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Toolchain {
    /// True if it is the one that the workspace's own files name, and not the one that this process was
    /// started by.
    is_its_own: bool,
}

impl Toolchain {
    /// The toolchain of a revision beside a work tree: the same, unless the files that name one differ.
    pub(crate) fn of_revision(work_tree: &Path, revision: &Path) -> Self {
        Self { is_its_own: stated(work_tree) != stated(revision) }
    }

    /// Cargo of this toolchain, in a folder.
    pub(crate) fn cargo(&self, folder: &Path) -> Command {
        let named = env::var_os("CARGO").filter(|cargo| !(self.is_its_own && is_of_a_toolchain(cargo)));
        self.command(&named.unwrap_or_else(|| "cargo".into()), folder)
    }

    /// The version of its compiler, in a folder; `None` where it does not tell.
    pub(crate) fn version(&self, folder: &Path) -> Option<String> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut asked = self.command(&rustc, folder);
        let said = asked.arg("-V").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        if !said.status.success() {
            return None;
        }
        Some(String::from_utf8_lossy(&said.stdout).trim().to_owned())
    }

    fn command(&self, program: &OsString, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(folder);
        // What this process was built with is not what is built there.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        if self.is_its_own {
            command.env_remove(CHOSEN);
        }
        command
    }
}

/// Returns whether a program lies in a toolchain of rustup, and so builds with that one alone.
fn is_of_a_toolchain(program: &OsString) -> bool {
    let names = Path::new(program).components().map(|part| part.as_os_str().to_owned());
    let names: Vec<OsString> = names.collect();
    names.windows(4).any(|part| part[0] == "toolchains" && part[2] == "bin")
}

/// The text of the file by which rustup chooses for a folder; `None` where there is none.
fn stated(folder: &Path) -> Option<String> {
    let read = |folder: &Path| {
        // In this order, says rustup's book ("Overrides"), if both are there.
        let texts =
            ["rust-toolchain", "rust-toolchain.toml"].map(|name| fs::read_to_string(folder.join(name)));
        texts.into_iter().find_map(Result::ok)
    };
    folder.ancestors().find_map(read).map(|text| text.trim().to_owned())
}
