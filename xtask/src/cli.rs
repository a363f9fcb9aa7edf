//! The command line, as it is typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::baseline_path::LooksUp;

const EXITS: &str = "Exit codes: 0 fine, 1 unexpected, 2 usage, 3 regressed, 4 nothing to judge by, \
                     5 inconclusive, \
                     6 a case failed or did not verify.";

/// Judge, show and promote the runs of `cargo bench`.
#[derive(Debug, Parser)]
#[command(name = "weighbridge", after_help = EXITS, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// The data directory [default: `weighbridge` in cargo's target directory].
    #[arg(long, global = true, value_name = "DIR", env = "WEIGHBRIDGE_DATA", hide_env_values = true)]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: XtaskCommand,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum XtaskCommand {
    /// Judge every suite's latest run against its baseline of this name.
    CompareBaseline(LooksUp<CompareBaseline>),
    /// Show scenario, framework and metrics of the latest run, or of a named one.
    Summary(Summary),
    /// Tell the story of one case: samples, processes, disturbances, what decided about it and what would.
    Explain(LooksUp<Explain>),
    /// Promote runs to baselines, list, show and remove them.
    Baseline(LooksUp<BaselineArgs>),
    /// List, show, follow and prune runs.
    Runs(RunsArgs),
    /// Work out the digest of stored files anew that were edited on purpose.
    Digest(Digest),
    /// Write the ids that every suite must find to `benches/scenarios.lock`, or check them.
    Lock(Lock),
    /// Measure how often a duel is wrong on this machine, and what it finds.
    Calibrate(Calibrate),
    /// Write the page of all rules that can take a rank away, `docs/truth.md`, or check it.
    Truth(TruthArgs),
    /// Write the page of all scenarios, `scenarios/docs/catalogue.md`, or check it.
    Catalogue(Catalogue),
    /// List, verify and find the real data sets.
    #[command(name = "data")]
    RealData(DataArgs),
    /// Write a report on a run.
    Report(Report),
    /// Write a run in the format of another tool.
    Export(crate::export::Export),
    /// Follow a metric of a case from commit to commit, and find where it changed.
    History(crate::history::Trend),
    /// Measure every commit of a range in turns with the one before it.
    Backfill(crate::history::backfill::Backfill),
    /// Find the commit that made a case slower, by duels.
    Bisect(crate::history::bisect::Bisect),
    /// Take a change of a case for good, with the reason.
    Accept(LooksUp<crate::history::accept::Accept>),
    /// Say how many operations a model takes, and which cells of a table of throughputs cannot all be true.
    Flops(crate::flops::FlopsArgs),
    /// Say what limits each loader and training of a run, by the experiments that were made.
    Bottleneck(crate::bottleneck::Bottleneck),
    /// Write the page of what each adapter can do, `scenarios/docs/coverage.md`, or check it.
    Coverage(CoverageArgs),
    /// List, install, check and remove the Python frameworks that are compared.
    Peers(PeersArgs),
    /// Read suite files, of our own form and of Orbax's benchmarks, and run what they say.
    Suite(crate::suite::SuiteArgs),
    /// Measure commands of the shell, each as a whole process, and judge them against the first.
    #[command(name = "command")]
    Shell(crate::command::CommandArgs),
}

/// Arguments of `compare-baseline`.
#[derive(Debug, Args)]
pub(crate) struct CompareBaseline {
    /// The baseline's name.
    #[arg(required_unless_present_any = ["rebuild", "program"])]
    pub(crate) name: Option<String>,
    /// Build this git revision and measure it in turns with the work tree, instead of using a stored baseline: finds
    /// changes of 1 % and states its error rate.
    #[arg(long, value_name = "REV", conflicts_with_all = ["name", "run", "allow_different_machine", "baseline_path"])]
    pub(crate) rebuild: Option<String>,
    /// Measure this bench program, built earlier, in turns with the work tree's: for one suite.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["name", "run", "rebuild", "allow_different_machine", "baseline_path"])]
    pub(crate) program: Option<PathBuf>,
    /// Arguments for the bench targets of `--rebuild` and `--program`: filters, `--quick`.
    #[arg(last = true, value_name = "BENCH ARGS")]
    pub(crate) bench_args: Vec<String>,
    /// The run to judge: an id, its start, or `latest`.
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// The change that matters: `5%` or `0.05`.
    #[arg(long, value_parser = share, env = "WEIGHBRIDGE_THRESHOLD", hide_env_values = true)]
    pub(crate) threshold: Option<f64>,
    /// What an inconclusive comparison is [default: as the settings say, else `fail`].
    #[arg(long, value_enum, env = "WEIGHBRIDGE_INCONCLUSIVE", hide_env_values = true)]
    pub(crate) inconclusive: Option<Inconclusive>,
    /// Also write the comparison to this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// How to print the comparison.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ComparisonFormat,
    /// Judge this suite alone: `<package>/<bench target>`.
    #[arg(long)]
    pub(crate) suite: Option<String>,
    /// Compare although the machine is another one.
    #[arg(long, env = "WEIGHBRIDGE_ALLOW_DIFFERENT_MACHINE", hide_env_values = true)]
    pub(crate) allow_different_machine: bool,
}

/// What an inconclusive comparison is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Inconclusive {
    /// Exit 0.
    Pass,
    /// Exit 5.
    Fail,
}

/// How to print a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparisonFormat {
    /// Aligned text.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// Markdown.
    Markdown,
    /// Annotations of GitHub Actions.
    Github,
}

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// Calibrate this suite alone: `<package>/<bench target>`.
    #[arg(long)]
    pub(crate) suite: Option<String>,
    /// How often each comparison is tried.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tries: u32,
    /// Arguments for the bench targets: filters, `--quick`.
    #[arg(last = true, value_name = "BENCH ARGS")]
    pub(crate) bench_args: Vec<String>,
}

/// Arguments of `digest`.
#[derive(Debug, Args)]
pub(crate) struct Digest {
    /// Files of runs or baselines, as they were edited.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Arguments of `summary`.
#[derive(Debug, Args)]
pub(crate) struct Summary {
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    pub(crate) run: Option<String>,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long)]
    pub(crate) suite: Option<String>,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The case, as a table or a listing names it.
    pub(crate) case: String,
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Look in this suite alone: `<package>/<bench target>`.
    #[arg(long)]
    pub(crate) suite: Option<String>,
    /// Draw with plain letters.
    #[arg(long)]
    pub(crate) ascii: bool,
}

/// Arguments of `baseline`.
#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) action: BaselineAction,
}

/// What can be done with baselines.
#[derive(Debug, Subcommand)]
pub(crate) enum BaselineAction {
    /// Promote the latest run of every suite, or a named one.
    Set {
        /// The baseline's name.
        name: String,
        /// The run to promote: an id, its start, or `latest`.
        #[arg(long)]
        run: Option<String>,
        /// This suite alone: `<package>/<bench target>`.
        #[arg(long)]
        suite: Option<String>,
        /// Write it to `benches/baselines`, where it can be committed.
        #[arg(long)]
        commit: bool,
    },
    /// List all baselines.
    List,
    /// Show what a baseline holds.
    Show {
        /// The baseline's name.
        name: String,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a baseline from the data directory, or from where they are kept.
    Remove {
        /// The baseline's name.
        name: String,
        /// That of this suite alone: `<package>/<bench target>`.
        #[arg(long)]
        suite: Option<String>,
    },
}

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) action: RunsAction,
}

/// What can be done with runs.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// List the newest 100 runs, newest first.
    List {
        /// List all runs.
        #[arg(long)]
        all: bool,
    },
    /// Show a run.
    Show {
        /// The run: an id, its start, or `latest`.
        run: String,
        /// Print the run with all repeats and samples as one JSON document.
        #[arg(long)]
        json: bool,
        /// Show the repeats of this case, the median repeat marked.
        #[arg(long, value_name = "ID", conflicts_with = "json")]
        case: Option<String>,
    },
    /// Judge a run again by today's rules, from the evidence that it has stored: nothing is measured.
    Judge {
        /// The run: an id, its start, or `latest`.
        run: String,
        /// Put what is found into the records of the run.
        #[arg(long)]
        write: bool,
    },
    /// Remove old runs and duels, revisions that were rebuilt to compare with, and what killed ones left.
    Prune {
        /// Keep the newest so many runs and duels of each suite.
        #[arg(long, value_name = "N", required_unless_present = "days")]
        keep: Option<usize>,
        /// Keep those of the last so many days.
        #[arg(long, value_name = "DAYS")]
        days: Option<u64>,
    },
}

/// Arguments of `lock`.
#[derive(Debug, Args)]
pub(crate) struct Lock {
    /// Write nothing; fail when an id is missing or new.
    #[arg(long)]
    pub(crate) check: bool,
}

/// Arguments of `truth`.
#[derive(Debug, Args)]
pub(crate) struct TruthArgs {
    /// Write nothing; fail when the page is stale.
    #[arg(long)]
    pub(crate) check: bool,
}

/// Arguments of `catalogue`.
#[derive(Debug, Args)]
pub(crate) struct Catalogue {
    /// Write nothing; fail when the page is stale.
    #[arg(long)]
    pub(crate) check: bool,
    /// Take the listing of a bench target from this file, as `cargo bench -- --list --format json` prints it, instead of asking for
    /// it (repeat for more).
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Vec<PathBuf>,
}

/// Arguments of `data`.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// The directory of real data.
    #[arg(long, global = true, value_name = "DIR", env = "WEIGHBRIDGE_DATA_ROOT", hide_env_values = true)]
    pub(crate) data_root: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: DataAction,
}

/// What can be done with real data sets.
#[derive(Debug, Subcommand)]
pub(crate) enum DataAction {
    /// List all sets: what they are, whether they are there, where they come from.
    List,
    /// Hold the files of a set, or of all that are there, against what is published or was recorded.
    Verify {
        /// The set.
        name: Option<String>,
    },
    /// Print where the files of a set lie, or what to fetch.
    Path {
        /// The set.
        name: String,
    },
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(subcommand)]
    pub(crate) what: ReportKind,
}

/// What can be reported on.
#[derive(Debug, Subcommand)]
pub(crate) enum ReportKind {
    /// Compare a framework with all others: strengths, parity, gaps, and what to do about them. Markdown.
    Comparison(ReportComparison),
    /// Write the training steps of a run: throughput mode by mode, where a step goes, operations and peaks. Markdown.
    Training(ReportTraining),
    /// Write a run as one page that needs nothing else: tables, charts, the run beside earlier ones.
    Html(LooksUp<crate::report::html::ReportHtml>),
    /// Write the comment of a pull request: the verdict, what changed, the rest folded.
    Comment(LooksUp<crate::report::comment::ReportComment>),
    /// Draw a run: bars, radar, latencies, memory, curves, a heat map, as SVG and PNG.
    Charts(crate::report::charts::ReportCharts),
}

/// Arguments of `report comparison`.
#[derive(Debug, Args)]
pub(crate) struct ReportComparison {
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    pub(crate) run: Option<String>,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long)]
    pub(crate) suite: Option<String>,
    /// The adapter whose strengths and gaps these are [default: `Datarax`, or the reference where that was not measured].
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// Compare it with these alone (repeat for more) [default: for a framework all other frameworks].
    #[arg(long, value_name = "NAME")]
    pub(crate) rival: Vec<String>,
    /// Write it to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of `report training`.
#[derive(Debug, Args)]
pub(crate) struct ReportTraining {
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    pub(crate) run: Option<String>,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long)]
    pub(crate) suite: Option<String>,
    /// Write it to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of `coverage`.
#[derive(Debug, Args)]
pub(crate) struct CoverageArgs {
    /// Write nothing; fail when an outcome is another than on the page.
    #[arg(long)]
    pub(crate) check: bool,
    /// Try these adapters alone, by their exact names.
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Vec<String>,
    /// Try these scenarios alone: of the others what is known is kept.
    #[arg(long, value_name = "ID")]
    pub(crate) scenario: Vec<String>,
    /// Try nothing: write the page from what is known.
    #[arg(long, conflicts_with_all = ["adapter", "scenario"])]
    pub(crate) render: bool,
    /// Try nothing: take what the last `peers check` has found.
    #[arg(long, conflicts_with_all = ["adapter", "scenario", "render"])]
    pub(crate) last: bool,
}

/// Arguments of `peers`.
#[derive(Debug, Args)]
pub(crate) struct PeersArgs {
    /// Where they are installed [default: `weighbridge/peers` among the user's data].
    #[arg(long, global = true, value_name = "DIR", env = "WEIGHBRIDGE_PEERS", hide_env_values = true)]
    pub(crate) home: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: PeersAction,
}

/// What can be done with Python frameworks.
#[derive(Debug, Subcommand)]
pub(crate) enum PeersAction {
    /// List all: name, tier, pinned version, whether it is installed, its size, what it supports.
    List,
    /// Install each into a virtual environment of its own, with `uv`.
    Install {
        #[command(flatten)]
        which: PeerChoice,
        /// The Python to take: 3.11, 3.12, 3.13, or 3.13t without a global lock [default: the first of them that is found].
        #[arg(long, value_name = "VERSION")]
        python: Option<String>,
        /// Install anew what is installed.
        #[arg(long)]
        again: bool,
    },
    /// Import each, and verify ten batches of every variant of every scenario: verified, unequal or declined.
    Check {
        /// Their exact or short names [default: what is installed].
        names: Vec<String>,
        /// All of them.
        #[arg(long)]
        all: bool,
        /// These scenarios alone.
        #[arg(long, value_name = "ID")]
        scenario: Vec<String>,
        /// Scenarios of this set.
        #[arg(long, value_name = "SET", default_value = "all")]
        set: String,
    },
    /// Hold what the harness says a batch of each costs against a loop by hand. Exit 3: a difference that nothing explains;
    /// 4: not installed; 5: one on which the rounds do not agree; 6: a case or a script failed.
    Calibrate {
        #[command(flatten)]
        which: PeerChoice,
        /// How often each side is measured, in turns.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
        rounds: u32,
    },
    /// Remove the environments of these.
    Remove {
        #[command(flatten)]
        which: PeerChoice,
    },
    /// Write the requirement files anew, every package with its version and hashes.
    Lock {
        /// Those of these peers alone.
        names: Vec<String>,
        /// Take the newest versions, instead of keeping those that hold.
        #[arg(long)]
        upgrade: bool,
    },
}

/// Which peers.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PeerChoice {
    /// Their exact or short names.
    pub(crate) names: Vec<String>,
    /// All of them.
    #[arg(long)]
    pub(crate) all: bool,
}

/// A share: `5%`, `5 %` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number * scale),
        _ => Err("a share is a number like `5%` or `0.05`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_share_is_a_percentage_or_a_number() {
        let near = |text: &str, expected: f64| (share(text).expect(text) - expected).abs() < 1e-12;
        assert!(
            near("5%", 0.05)
                && near("5 %", 0.05)
                && near("0.05", 0.05)
                && near("100%", 1.0)
                && near("0", 0.0)
        );
        for bad in ["", "%", "five", "-5%", "NaN", "inf"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn help_names_every_command_and_the_exit_codes() {
        let help = Cli::command().render_help().to_string();
        for word in
            ["compare-baseline", "summary", "explain", "baseline", "runs", "lock", "--data", "3 regressed"]
        {
            assert!(help.contains(word), "{word} is missing in:\n{help}");
        }
    }

    #[test]
    fn a_misspelt_command_gets_the_nearest_one() {
        let error =
            Cli::try_parse_from(["xtask", "compare-baselin", "main"]).expect_err("misspelt").to_string();
        assert!(error.contains("compare-baseline"), "{error}");
        let error =
            Cli::try_parse_from(["xtask", "runs", "list", "--dta", "x"]).expect_err("misspelt").to_string();
        assert!(error.contains("--data"), "{error}");
    }
}
