//! Facts of the software: system, compiler, build, commit.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sysinfo::System;

use super::ask::{RunningCommand, ask};
use super::fact::{Fact, Facts};

/// The facts of its own build that only the bench binary knows; `main!()` bakes it in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// `rustc -V` of the build, where it was known then.
    pub rustc: Option<String>,
    /// True if debug assertions are on.
    pub debug_assertions: bool,
    /// `RUSTFLAGS` of the build.
    pub rust_flags: Option<String>,
    /// Features of the bench target's package.
    pub features: Vec<String>,
    /// Name and version of crates that change what is measured: the bench target's package, its scenarios.
    pub crates: BTreeMap<String, String>,
}

/// Commands that were started and whose answers are read later.
pub(super) struct SoftwareCommands {
    rustc: RunningCommand,
    libc: RunningCommand,
    git: RunningCommand,
}

impl SoftwareCommands {
    /// Starts them: the compiler that builds the project, since the folder may pin one, and its repository.
    pub(super) fn start(project: &Path) -> Self {
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        Self {
            rustc: ask(&rustc, &["-V"], project),
            libc: ask("getconf", &["GNU_LIBC_VERSION"], Path::new("/")),
            git: ask("git", &["status", "--porcelain=v2", "--branch"], project),
        }
    }
}

/// Reads the facts of the software.
pub(super) fn read(build: &Build, commands: SoftwareCommands, facts: &mut Facts<'_>) {
    let said = |fact: Result<String, sysinfo::Error>| fact.map_err(|error| error.to_string());
    facts.note("os", said(System::long_os_version()));
    facts.note("kernel", said(System::kernel_version()));
    facts.note("libc", libc(commands.libc));
    facts.note("transparent huge pages", huge_pages());

    let rustc = commands.rustc.answer();
    facts.note("rustc", build.rustc.clone().map_or(rustc, Ok));
    let profile = if build.debug_assertions { "debug assertions on" } else { "debug assertions off" };
    facts.note("build profile", Ok(profile));
    let flags = build.rust_flags.clone().filter(|flags| !flags.trim().is_empty());
    facts.note("rust flags", Ok(flags.unwrap_or_else(|| "none".into())));
    if !build.features.is_empty() {
        facts.note("features", Ok(build.features.join(", ")));
    }
    facts.note("weighbridge", Ok(env!("CARGO_PKG_VERSION")));
    for (name, version) in &build.crates {
        facts.note(name, Ok(version));
    }

    let commit = commands.git.answer().and_then(|text| CommitFacts::parse(&text));
    let part = |read: fn(&CommitFacts) -> String| commit.as_ref().map(read).map_err(Clone::clone);
    facts.note("commit", part(|commit| commit.id.clone()));
    facts.note("branch", part(|commit| commit.branch.clone()));
    facts.note("working tree", part(|commit| if commit.dirty { "dirty" } else { "clean" }.into()));
}

fn libc(glibc: RunningCommand) -> Fact {
    let answer = glibc.answer();
    if cfg!(target_env = "musl") { Ok("musl".into()) } else { answer }
}

/// `always`, `madvise` or `never`: the one in brackets.
fn huge_pages() -> Fact {
    let text = super::fact::read(Path::new("/sys/kernel/mm/transparent_hugepage/enabled"))?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Ok(chosen.map_or(text.clone(), |(chosen, _)| chosen.to_owned()))
}

/// The place where a repository stands.
#[derive(Debug, PartialEq, Eq)]
struct CommitFacts {
    id: String,
    branch: String,
    dirty: bool,
}

impl CommitFacts {
    /// Reads `git status --porcelain=v2 --branch`: headers begin with `#`, and every other line is a file
    /// that differs from the commit or that it does not know.
    fn parse(text: &str) -> Fact<Self> {
        let header = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            value.map(str::to_owned).ok_or_else(|| format!("git did not say `{name}`"))
        };
        let id = header("# branch.oid ")?;
        if id == "(initial)" {
            return Err("the repository has no commit yet".into());
        }
        let dirty = text.lines().any(|line| !line.starts_with('#') && !line.is_empty());
        Ok(Self { id, branch: header("# branch.head ")?, dirty })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str =
        "# branch.oid 1f2e3d\n# branch.head main\n# branch.upstream origin/main\n# branch.ab +0 -0";

    #[test]
    fn a_commit_is_read_with_its_branch_and_whether_files_differ() {
        let expected = CommitFacts { id: "1f2e3d".into(), branch: "main".into(), dirty: false };
        assert_eq!(CommitFacts::parse(CLEAN), Ok(expected));
        for line in ["1 .M N... 100644 100644 100644 aa bb a.rs", "? new.rs"] {
            assert!(CommitFacts::parse(&format!("{CLEAN}\n{line}\n")).unwrap().dirty, "{line}");
        }
    }

    #[test]
    fn a_repository_without_a_commit_has_a_reason() {
        let text = "# branch.oid (initial)\n# branch.head main\n";
        assert_eq!(CommitFacts::parse(text), Err("the repository has no commit yet".into()));
        assert!(CommitFacts::parse("").unwrap_err().contains("branch.oid"));
    }

    #[test]
    fn a_folder_outside_any_repository_has_no_commit_and_says_why() {
        let (mut known, mut absent) = (BTreeMap::new(), BTreeMap::new());
        let folder = tempfile::tempdir().unwrap();
        let build = Build {
            rustc: Some("rustc 1.95.0".into()),
            debug_assertions: true,
            features: vec!["tokio".into()],
            crates: BTreeMap::from([("suite".into(), "0.3.0".into())]),
            ..Build::default()
        };
        read(&build, SoftwareCommands::start(folder.path()), &mut Facts::new(&mut known, &mut absent));
        assert!(absent["commit"].contains("not a git repository"), "{absent:?}");
        assert_eq!(known["rustc"], "rustc 1.95.0");
        assert_eq!(known["build profile"], "debug assertions on");
        assert_eq!((known["features"].as_str(), known["suite"].as_str()), ("tokio", "0.3.0"));
        assert_eq!(known["rust flags"], "none");
    }
}
