//! Options that one side of a comparison is built with, beside all that its own files say: two compilers, or
//! two sets of flags, are judged like a change of the source.

use std::env;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::stop;
use crate::toolchain::Toolchain;

/// Arguments by which the sides of a comparison are built in different ways.
#[derive(Debug, Default, Args)]
pub(crate) struct BuildArgs {
    /// Build with this toolchain of rustup: of both sides, or as `a=NAME` of the baseline, as `b=NAME` of the
    /// work tree.
    #[arg(long, value_name = "NAME", num_args = 1..=2)]
    pub(crate) toolchain: Vec<String>,
    /// Build with this profile of cargo: of both sides, or `a=` and `b=` of one.
    #[arg(long, value_name = "NAME", num_args = 1..=2)]
    pub(crate) profile: Vec<String>,
    /// Build with these features, as cargo takes them: of both sides, or `a=` and `b=` of one.
    #[arg(long, value_name = "FEATURES", num_args = 1..=2)]
    pub(crate) features: Vec<String>,
    /// Build with these flags of the compiler, as the variable `RUSTFLAGS` has them: of both sides, or `a=`
    /// and `b=` of one, and then twice for two.
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) rustflags: Vec<String>,
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Baseline,
    Candidate,
}

/// The options of one side; what is `None` is as its files and the environment say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuildOptions {
    pub(crate) toolchain: Option<String>,
    profile: Option<String>,
    features: Option<String>,
    rustflags: Option<String>,
}

impl BuildArgs {
    /// True if nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.toolchain, &self.profile, &self.features, &self.rustflags].into_iter().all(Vec::is_empty)
    }

    /// The options of a side.
    ///
    /// # Errors
    /// When an option is given twice of one side.
    pub(crate) fn of(&self, side: Side) -> Result<BuildOptions> {
        Ok(BuildOptions {
            toolchain: of_side(side, "--toolchain", &self.toolchain)?,
            profile: of_side(side, "--profile", &self.profile)?,
            features: of_side(side, "--features", &self.features)?,
            rustflags: of_side(side, "--rustflags", &self.rustflags)?,
        })
    }
}

impl BuildOptions {
    /// The toolchain that builds this side in a folder: that which is named here, else `usual`.
    ///
    /// # Errors
    /// When rustup has no toolchain of that name, or cargo or rustc here are not by rustup.
    pub(crate) fn toolchain(&self, usual: Toolchain, folder: &Path) -> Result<Toolchain> {
        match &self.toolchain {
            Some(name) => Toolchain::named(name, folder),
            None => Ok(usual),
        }
    }

    /// Has this command of cargo build with them.
    pub(crate) fn apply(&self, cargo: &mut Command) {
        cargo.args(self.profile.iter().flat_map(|name| ["--profile", name]));
        cargo.args(self.features.iter().flat_map(|names| ["--features", names]));
        if let Some(flags) = &self.rustflags {
            cargo.env("RUSTFLAGS", flags).env_remove(ENCODED);
        }
    }

    /// The same of a command that builds by another profile than `bench` where nobody names one.
    pub(crate) fn apply_to_bench(&self, cargo: &mut Command) {
        if self.profile.is_none() {
            cargo.args(["--profile", "bench"]);
        }
        self.apply(cargo);
    }

    /// Those that are set, by the names that a reader knows them by.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let flags = self.rustflags.clone().or_else(|| {
            let encoded = env::var(ENCODED).map(|flags| flags.replace('\u{1f}', " "));
            encoded.or_else(|_| env::var("RUSTFLAGS")).ok()
        });
        let set = [
            ("--profile", self.profile.clone()),
            ("--features", self.features.clone()),
            ("RUSTFLAGS", flags),
        ];
        set.into_iter().filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)))
    }
}

/// The variable that cargo prefers to `RUSTFLAGS`.
const ENCODED: &str = "CARGO_ENCODED_RUSTFLAGS";

impl fmt::Display for Side {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Baseline => "the baseline",
            Self::Candidate => "the work tree",
        })
    }
}

/// The value of a side among those that were given of an option.
fn of_side(side: Side, option: &str, given: &[String]) -> Result<Option<String>> {
    let mut found = None;
    for text in given {
        let (of, value) = match text.split_once('=') {
            Some(("a" | "baseline", value)) => (Some(Side::Baseline), value),
            Some(("b" | "candidate", value)) => (Some(Side::Candidate), value),
            _ => (None, text.as_str()),
        };
        if of.is_some_and(|of| of != side) {
            continue;
        }
        if found.replace(value.to_owned()).is_some() {
            return Err(stop::usage(format!(
                "{option} is given twice for {side}: once for both sides, or `a=...` for the baseline and \
                 `b=...` for the work tree"
            )));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: BuildArgs,
    }

    fn read(line: &[&str]) -> [Result<BuildOptions>; 2] {
        let args = Line::try_parse_from(["x"].iter().chain(line)).expect("the line is right").args;
        [Side::Baseline, Side::Candidate].map(|side| args.of(side))
    }

    fn of_both(line: &[&str]) -> [BuildOptions; 2] {
        read(line).map(|of| of.expect("each is given once"))
    }

    #[test]
    fn a_value_is_of_both_sides_or_of_the_one_that_it_names() {
        let [baseline, candidate] = of_both(&["--toolchain", "nightly", "--profile", "b=release"]);
        assert_eq!((baseline.toolchain.as_deref(), baseline.profile), (Some("nightly"), None));
        assert_eq!(
            (candidate.toolchain.as_deref(), candidate.profile.as_deref()),
            (Some("nightly"), Some("release"))
        );
        let [baseline, candidate] = of_both(&["--features", "a=old,serde", "b=new"]);
        assert_eq!(
            (baseline.features.as_deref(), candidate.features.as_deref()),
            (Some("old,serde"), Some("new"))
        );
        let [baseline, candidate] = of_both(&["--rustflags", "-C target-cpu=native"]);
        assert_eq!(baseline.rustflags.as_deref(), Some("-C target-cpu=native"));
        assert_eq!(baseline, candidate);
        let [baseline, candidate] = of_both(&["--rustflags", "baseline=-C lto", "--rustflags", "candidate="]);
        assert_eq!(
            (baseline.rustflags.as_deref(), candidate.rustflags.as_deref()),
            (Some("-C lto"), Some(""))
        );
    }

    #[test]
    fn what_is_given_twice_of_a_side_is_refused() {
        let told = |line: &[&str], side: usize| read(line)[side].as_ref().unwrap_err().to_string();
        assert!(
            told(&["--profile", "b=x", "b=y"], 1).starts_with("--profile is given twice for the work tree")
        );
        assert!(told(&["--profile", "x", "a=y"], 0).starts_with("--profile is given twice for the baseline"));
        assert!(read(&["--profile", "b=x", "b=y"])[0].is_ok());
    }

    #[test]
    fn cargo_is_told_what_is_set_and_nothing_else() {
        let [baseline, candidate] =
            of_both(&["--profile", "b=slow", "--features", "x,y", "--rustflags", "b=-C lto"]);
        let mut cargo = Command::new("cargo");
        baseline.apply(&mut cargo);
        assert_eq!(cargo.get_args().collect::<Vec<_>>(), ["--features", "x,y"]);
        assert_eq!(cargo.get_envs().count(), 0);
        let mut cargo = Command::new("cargo");
        candidate.apply(&mut cargo);
        assert_eq!(cargo.get_args().collect::<Vec<_>>(), ["--profile", "slow", "--features", "x,y"]);
        assert!(
            cargo.get_envs().any(|(name, value)| name == "RUSTFLAGS" && value == Some("-C lto".as_ref()))
        );
        assert_eq!(
            candidate.facts().collect::<Vec<_>>(),
            [("--profile", "slow".into()), ("--features", "x,y".into()), ("RUSTFLAGS", "-C lto".into())]
        );
    }
}
