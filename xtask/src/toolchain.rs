//! The toolchain that builds one side of a comparison.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use weighbridge_launch::output_within;

use crate::stop;

/// The variable by which rustup hands the toolchain on to all that a command of cargo starts.
const CHOSEN: &str = "RUSTUP_TOOLCHAIN";

/// The toolchain of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The one that this process was started by.
    #[default]
    Inherited,
    /// The one that the workspace's own files name.
    ItsOwn,
    /// The one that the user names.
    Named(String),
}

impl Toolchain {
    /// The toolchain of a revision beside a work tree: the same, unless the files that name one differ.
    pub(crate) fn of_revision(work_tree: &Path, revision: &Path) -> Self {
        if stated(work_tree) == stated(revision) { Self::Inherited } else { Self::ItsOwn }
    }

    /// A toolchain of rustup, which builds what lies in a folder.
    ///
    /// # Errors
    /// When rustup does not have it, or cargo or rustc here do not go by rustup: they would be the same on
    /// both sides without a word.
    pub(crate) fn named(name: &str, folder: &Path) -> Result<Self> {
        let named = Self::Named(name.to_owned());
        for program in ["cargo", "rustc"] {
            let mut rustup = named.command(&"rustup".into(), folder);
            let meant = match version(rustup.args(["run", name, program, "-V"])) {
                Ok(said) => said,
                Err(why) => return Err(stop::usage(format!("--toolchain {name}: {why}"))),
            };
            let found = match program {
                "cargo" => version(named.cargo(folder).arg("-V")),
                _ => version(named.rustc(folder).arg("-V")),
            };
            if found.as_ref() != Ok(&meant) {
                let found = found.unwrap_or_else(|why| why);
                return Err(stop::usage(format!(
                    "--toolchain {name} has no effect: `{program}` here is `{found}`, that of the toolchain \
                     is `{meant}`; the program comes from elsewhere, or the variable {} is set",
                    program.to_uppercase()
                )));
            }
        }
        Ok(named)
    }

    /// Cargo of this toolchain, in a folder.
    pub(crate) fn cargo(&self, folder: &Path) -> Command {
        let is_other = *self != Self::Inherited;
        let named = env::var_os("CARGO").filter(|cargo| !(is_other && is_of_a_toolchain(cargo)));
        self.command(&named.unwrap_or_else(|| "cargo".into()), folder)
    }

    /// The version of its compiler, in a folder; `None` where it does not tell.
    pub(crate) fn version(&self, folder: &Path) -> Option<String> {
        version(self.rustc(folder).arg("-V")).ok()
    }

    fn rustc(&self, folder: &Path) -> Command {
        self.command(&env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()), folder)
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
        match self {
            Self::Inherited => &mut command,
            Self::ItsOwn => command.env_remove(CHOSEN),
            // It is looked for here, and not fetched from anywhere.
            Self::Named(name) => command.env(CHOSEN, name).env("RUSTUP_AUTO_INSTALL", "0"),
        };
        command
    }
}

/// The line that a program prints of its version, or why it prints none.
fn version(program: &mut Command) -> Result<String, String> {
    let name = program.get_program().display().to_string();
    let said = output_within(program, Duration::from_mins(5)); // rustup may fetch it
    let said = said.map_err(|error| format!("failed to start `{name}`: {error}"))?;
    if !said.status.success() {
        let told = String::from_utf8_lossy(&said.stderr);
        let last = told.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it says nothing");
        return Err(format!("`{name}` says: {last}"));
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
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
