//! The command line, as it is typed.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Try the harness: lie to it, break it off, hold it against others.
#[derive(Debug, Parser)]
#[command(name = "cargo lab", bin_name = "cargo lab", disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// The data directory [default: `weighbridge` in cargo's target directory].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run loaders, workers and loops that lie about what they do, and see that each is found out.
    Lies(Lies),
    /// Kill runs, fill disks, damage records, and see that nothing is lost or left behind and that nothing
    /// panics.
    Storm(Storm),
    /// Hold the figures of bench files in criterion's and divan's style against those of criterion and divan
    /// themselves.
    Originals(Originals),
    /// Build and run the bench files of published crates with one line of their manifest changed.
    Foreign(Foreign),
    /// Compare bodies of known kinds many times, with and without busy neighbours, and keep every round.
    Evidence(Evidence),
    /// Build one commit in other folders, other orders and with a function more, and compare it with itself.
    Rebuilds(Rebuilds),
    /// Hold this harness against an earlier one, on the same bodies in turns: no figure and no id may move.
    ReleaseCheck(ReleaseCheck),
    /// Run training scripts with planted stalls, and see what the doctor says of each.
    Doctor(DoctorTruth),
    /// Write the bill of materials: the packages that the product is made of, as `CycloneDX` has it.
    Bill(Bill),
    /// Do what continuous integration does.
    Ci(Ci),
}

/// Arguments of `lies`.
#[derive(Debug, Args)]
pub(crate) struct Lies {
    /// This class alone [default: all].
    #[arg(value_parser = PossibleValuesParser::new(crate::lies::classes()))]
    pub(crate) class: Option<String>,
    /// Try one lie and one honest twin of each class.
    #[arg(long)]
    pub(crate) variant_per_class: bool,
}

/// Arguments of `storm`.
#[derive(Debug, Args)]
pub(crate) struct Storm {
    /// Faults of this kind alone [default: all].
    pub(crate) kind: Option<FaultKind>,
    /// Try 25 faults of the thousand: a minute.
    #[arg(long)]
    pub(crate) small: bool,
    /// The seed that faults are drawn from.
    #[arg(long, default_value_t = 20)]
    pub(crate) seed: u64,
}

/// A kind of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FaultKind {
    /// Processes are killed at drawn moments.
    Kills,
    /// Disks are full, files too large.
    Disks,
    /// Stored files are damaged.
    Records,
    /// What a program finds around it is odd or missing.
    Surroundings,
    /// What happens to people: a lost file, a clock that was ahead, a tool that hangs.
    Mishaps,
}

/// Arguments of `originals`.
#[derive(Debug, Args)]
pub(crate) struct Originals {
    /// Cases whose names hold one of these, as `divan/grouped::sort` [default: all].
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// How often each case is tried.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tries: u32,
}

/// Arguments of `foreign`.
#[derive(Debug, Args)]
pub(crate) struct Foreign {
    /// These crates of `tests/lab/foreign/crates.toml` alone [default: all].
    #[arg(value_name = "CRATE")]
    pub(crate) crates: Vec<String>,
    /// Keep the copies and what was measured, below `foreign` in cargo's target directory.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Measure so many targets beside criterion itself, each of another crate: on a quiet machine alone.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) figures: Option<u32>,
}

/// Arguments of `evidence`.
#[derive(Debug, Args)]
pub(crate) struct Evidence {
    /// Of five parts, take so many: 5 is the whole of it.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tries: u32,
    /// Plant slowdowns of 1 % beside a margin of 0.5 %.
    #[arg(long)]
    pub(crate) fine: bool,
    /// Where the evidence is kept [default: `evidence.json` in the data directory].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of `rebuilds`.
#[derive(Debug, Args)]
pub(crate) struct Rebuilds {
    /// These alone [default: all].
    #[arg(value_parser = PossibleValuesParser::new(crate::rebuilds::names()))]
    pub(crate) subjects: Vec<String>,
    /// So many builds of each.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Layouts are drawn from this number.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Add to the evidence that is there.
    #[arg(long)]
    pub(crate) go_on: bool,
    /// Where the evidence is kept [default: `rebuilds.json` in the data directory].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of `release-check`.
#[derive(Debug, Args)]
pub(crate) struct ReleaseCheck {
    /// The earlier commit [default: the last release].
    pub(crate) earlier: Option<String>,
    /// So many comparisons of each body.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tries: u32,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorTruth {
    /// Scripts whose names hold one of these, as `torch/disk` [default: all].
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
    /// The Python of a framework, or of all others (repeat for more).
    #[arg(long, value_name = "FRAMEWORK|all=FILE")]
    pub(crate) python: Vec<String>,
    /// Seconds of each look.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) seconds: u32,
    /// The program whose `doctor` is tried [default: cargo builds it].
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
}

/// Arguments of `bill`.
#[derive(Debug, Args)]
pub(crate) struct Bill {
    /// Write it to this file [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of `ci`.
#[derive(Debug, Args)]
pub(crate) struct Ci {
    /// Print the steps and run none.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Leave out the steps of this name (repeat for more).
    #[arg(long, value_name = "STEP", value_parser = PossibleValuesParser::new(crate::ci::STEPS))]
    pub(crate) skip: Vec<String>,
    /// Fail if a test was skipped because this is not there (repeat for more).
    #[arg(
        long,
        value_name = "NEED",
        value_parser = PossibleValuesParser::new(needs::Need::ALL.map(needs::Need::name))
    )]
    pub(crate) must_run: Vec<String>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The lines in fences of a page that start the laboratory, without comments.
    fn lines(page: &str) -> impl Iterator<Item = &str> {
        let fenced = page.split("```").skip(1).step_by(2).flat_map(str::lines);
        fenced
            .filter(|line| line.starts_with("cargo lab "))
            .map(|line| line.split(" # ").next().unwrap_or(line))
    }

    fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => pages(&path, found),
                false if path.extension().is_some_and(|extension| extension == "md") => found.push(path),
                false => {}
            }
        }
    }

    #[test]
    fn every_line_of_the_laboratory_on_a_page_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut all = vec![root.join("CONTRIBUTING.md")];
        for folder in ["docs", "scenarios/docs"] {
            pages(&root.join(folder), &mut all);
        }
        let mut seen = 0;
        for page in all {
            let text = std::fs::read_to_string(&page).expect("text");
            for line in lines(&text) {
                let read = Cli::try_parse_from(line.split_whitespace().skip(1));
                // To ask for help is no mistake.
                let wrong = read.err().filter(clap::Error::use_stderr);
                assert!(wrong.is_none(), "{}: {line}: {wrong:?}", page.display());
                seen += 1;
            }
        }
        assert!(seen >= 4, "only {seen} lines were found");
    }

    #[test]
    fn a_misspelt_class_of_lies_and_a_misspelt_step_get_the_nearest_one() {
        for (line, nearest) in [
            (&["lab", "lies", "lazy-byte"][..], "lazy-bytes"),
            (&["lab", "ci", "--skip", "clipy"], "clippy"),
            (&["lab", "ci", "--must-run", "pyton3"], "python3"),
        ] {
            let error = Cli::try_parse_from(line).expect_err("misspelt").to_string();
            assert!(error.contains(nearest), "{error}");
        }
    }
}
