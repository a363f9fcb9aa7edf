//! Targets beside this one: `cargo bench -- FILTER` runs all of them. What is asked for may be in another,
//! and libtest may be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::targets::{Libtest, Targets};
use super::{Context, HarnessMode, TargetError};
use crate::plan::{Plan, nearest};
use crate::registry::Registry;
use crate::store::Layout;

/// The remark where filters take no case of this bench target, and cargo goes on to others that may have it;
/// `None` where something is to be run. In a gate nothing is passed over.
///
/// # Errors
/// Where no other target is left that may have it: as far as one process can know, none of them had.
pub(super) fn passed_over(
    context: &Context<'_>,
    registry: &Registry,
    plan: &Plan,
    mode: HarnessMode,
) -> Result<Option<String>, TargetError> {
    let args = &context.args;
    let is_gate = args.baseline.is_some() || args.versus.is_some() || args.versus_adapter.is_some();
    let is_filtered_out = plan.measured() == 0 && plan.skips.is_empty() && !args.filters.is_empty();
    if !matches!(mode, HarnessMode::Bench | HarnessMode::Profile) || is_gate || !is_filtered_out {
        return Ok(None);
    }
    let filters: Vec<String> = args.filters.iter().map(|filter| format!("`{filter}`")).collect();
    let ids = || registry.scenarios().iter().map(|scenario| scenario.id);
    let near = args.filters.iter().find_map(|filter| nearest(filter, ids()));
    let near = near.map_or_else(String::new, |id| format!(" (the nearest scenario is `{id}`)"));
    let said = format!(
        "nothing to measure in the bench target `{}`: no case matches {}{near}",
        context.suite.target,
        filters.join(" or ")
    );
    match others_may_have_it(context) {
        true => Ok(Some(said)),
        false => Err(TargetError::NothingMatches(said)),
    }
}

/// Tells whether cargo goes on to a bench target of this package, or has been to one, of which it is not
/// known that it has no case either; notes that this one has none.
fn others_may_have_it(context: &Context<'_>) -> bool {
    let Some(cargo) = Caller::of_this_process() else { return false };
    if cargo.runs_other_packages(Path::new(context.suite.directory)) {
        return true; // which, and what they have, only cargo knows
    }
    let own = crate_name(context.suite.target);
    let mut others = cargo.targets(|| Targets::of(Path::new(context.suite.directory)).benches);
    others.remove(&own);
    let layout = Layout::new(context.suite.data(context.args.data.as_deref()));
    let said = std::fs::read_to_string(layout.passed_over()).unwrap_or_default();
    let mut lines = said.lines();
    let is_of_this_call = lines.next() == Some(&cargo.id);
    let package = context.suite.package;
    let passed: BTreeSet<&str> = lines.filter(|_| is_of_this_call).collect();
    if others.iter().all(|other| passed.contains(&*format!("{package}/{other}"))) {
        return false;
    }
    let own = format!("{package}/{own}");
    let lines: Vec<&str> = [&*cargo.id].into_iter().chain(passed).chain([&*own]).collect();
    // Without this note the last target only cannot tell that no other had the case.
    let _ = std::fs::create_dir_all(layout.data());
    let _ = std::fs::write(layout.passed_over(), lines.join("\n"));
    true
}

/// A target's name as its crate is called.
fn crate_name(target: &str) -> String {
    target.replace('-', "_")
}

/// The cargo command that runs bench targets one after the other.
struct Caller {
    /// Its number and when it was started, so that no other has the same.
    id: String,
    /// The bench targets that it was asked for; none where it runs all.
    named: Vec<String>,
    /// The number of packages that it was asked for, and the folder in which it was called; `None` where it
    /// runs those of a whole workspace.
    asked: Option<(usize, PathBuf)>,
}

impl Caller {
    /// The one that started this process; `None` where that was no cargo.
    fn of_this_process() -> Option<Self> {
        let number = nix::unistd::getppid();
        let folder = Path::new("/proc").join(number.to_string());
        let Ok(line) = std::fs::read(folder.join("cmdline")) else {
            // Nothing is told of other processes here: cargo sets this for what it runs.
            std::env::var_os("CARGO")?;
            return Some(Self { id: number.to_string(), named: Vec::new(), asked: None });
        };
        let words: Vec<String> =
            line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let program = Path::new(words.first()?).file_name()?.to_str()?.to_owned();
        if program != "cargo" {
            return None;
        }
        let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let begun = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19));
        let id = format!("{number} {}", begun.unwrap_or_default());
        let folder = std::fs::read_link(folder.join("cwd")).unwrap_or_default();
        let asked = named_packages(&words).map(|packages| (packages, folder));
        Some(Self { id, named: named_benches(&words), asked })
    }

    /// Tells whether it may run bench targets of other packages than the one in this folder.
    fn runs_other_packages(&self, package: &Path) -> bool {
        match &self.asked {
            None => true,
            Some((0, folder)) => !folder.starts_with(package),
            Some((packages, _)) => *packages > 1,
        }
    }

    /// The bench targets that it runs, of all that the package has.
    fn targets(&self, all: impl FnOnce() -> BTreeSet<String>) -> BTreeSet<String> {
        match self.named.is_empty() {
            true => all().iter().map(|name| crate_name(name)).collect(),
            false => self.named.iter().map(|name| crate_name(name)).collect(),
        }
    }
}

/// The number of packages that a command of cargo names; `None` where it is of a whole workspace.
fn named_packages(words: &[String]) -> Option<usize> {
    let own = || words.iter().take_while(|word| *word != "--");
    if own().any(|word| ["--workspace", "--all"].contains(&&**word)) {
        return None;
    }
    Some(own().filter(|word| word.starts_with("-p") || word.starts_with("--package")).count())
}

/// The names behind `--bench` in a command of cargo.
fn named_benches(words: &[String]) -> Vec<String> {
    let own = words.iter().take_while(|word| *word != "--");
    let mut names = Vec::new();
    let mut is_name = false;
    for word in own {
        if std::mem::take(&mut is_name) {
            names.push(word.clone());
        } else if let Some(name) = word.strip_prefix("--bench=") {
            names.push(name.to_owned());
        }
        is_name = word == "--bench";
    }
    names
}

/// Flags that libtest takes as well: whoever passes them sees no refusal.
const OF_LIBTEST: [&str; 18] = [
    "bench",
    "color",
    "exact",
    "format",
    "help",
    "ignored",
    "include-ignored",
    "list",
    "logfile",
    "no-capture",
    "nocapture",
    "quiet",
    "report-time",
    "show-output",
    "shuffle",
    "shuffle-seed",
    "skip",
    "test",
];

/// The note where cargo hands a flag of ours to libtest as well, which refuses it: under plain `cargo bench
/// -- FLAGS`, where a library or a binary of the package is a bench target too.
pub(super) fn refused_elsewhere(context: &Context<'_>) -> Option<String> {
    let args = &context.args;
    let flag = args.typed.iter().find(|name| !OF_LIBTEST.contains(name)).filter(|_| args.bench)?;
    let of_libtest = Targets::of(Path::new(context.suite.directory)).of_libtest();
    let words = |target: &Libtest| match target {
        Libtest::Library => ("the library".to_owned(), "`bench = false` below `[lib]`".to_owned()),
        Libtest::Binary(name) => (
            format!("the binary `{name}`"),
            format!("`name = \"{name}\"` and `bench = false` below `[[bin]]`"),
        ),
    };
    let (targets, lines): (Vec<String>, Vec<String>) = of_libtest.iter().map(words).unzip();
    (!of_libtest.is_empty()).then(|| {
        format!(
            "note: `cargo bench -- --{flag}` without `--bench {}` ends in libtest, which {} of `{}` {} too \
             and which refuses the flag: write {} in Cargo.toml",
            context.suite.target,
            targets.join(" and "),
            context.suite.package,
            if targets.len() == 1 { "starts" } else { "start" },
            lines.join(", and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_that_cargo_was_asked_for_stand_behind_its_own_flag() {
        let named = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            named_benches(&words)
        };
        assert_eq!(named("cargo bench --bench one --bench=two -- --bench x"), ["one", "two"]);
        assert_eq!(named("cargo bench -- one"), [""; 0]);
    }

    #[test]
    fn cargo_goes_on_to_other_packages_where_it_was_called_for_them_or_above_this_one() {
        let goes_on = |line: &str, folder: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let asked = named_packages(&words).map(|packages| (packages, PathBuf::from(folder)));
            let caller = Caller { id: String::new(), named: Vec::new(), asked };
            caller.runs_other_packages(Path::new("/w/one"))
        };
        assert!(!goes_on("cargo bench -- -p x", "/w/one"));
        assert!(!goes_on("cargo bench -p one", "/w"));
        assert!(goes_on("cargo bench", "/w") && goes_on("cargo bench --workspace", "/w/one"));
        assert!(goes_on("cargo bench -p one --package=other", "/w/one"));
    }
}
