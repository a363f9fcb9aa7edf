//! Every flag of a bench target, in the order of `--help`. One slice; parser, help and environment are made from it.

/// A flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// Its long name, without dashes.
    pub(super) name: &'static str,
    /// Its short name.
    pub(super) short: Option<char>,
    /// What its value is called; `None` if it takes none.
    pub(super) value: Option<&'static str>,
    /// Where it stands in the help.
    pub(super) group: FlagGroup,
    /// One line of help.
    pub(super) help: &'static str,
}

/// The parts of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagGroup {
    Select,
    Measure,
    Run,
    Compare,
    Show,
    /// Accepted because scripts pass it to libtest, criterion or nextest; says what becomes of it.
    Accepted,
}

impl FlagGroup {
    pub(super) const ALL: &'static [(Self, &'static str)] = &[
        (Self::Select, "What runs"),
        (Self::Measure, "How it is measured"),
        (Self::Run, "How the run goes"),
        (Self::Compare, "Baselines"),
        (Self::Show, "What is shown"),
        (Self::Accepted, "Accepted for the sake of scripts written for libtest, criterion or nextest"),
    ];
}

impl Flag {
    /// The environment variable that stands for it: `WEIGHBRIDGE_SAVE_BASELINE`.
    pub(super) fn variable(&self) -> Option<String> {
        let own =
            self.group != FlagGroup::Accepted && !["help", "version", "bench", "test"].contains(&self.name);
        own.then(|| format!("WEIGHBRIDGE_{}", self.name.to_uppercase().replace('-', "_")))
    }
}

const fn flag(name: &'static str, value: Option<&'static str>, group: FlagGroup, help: &'static str) -> Flag {
    Flag { name, short: None, value, group, help }
}

const fn short(
    name: &'static str,
    short: char,
    value: Option<&'static str>,
    group: FlagGroup,
    help: &'static str,
) -> Flag {
    Flag { name, short: Some(short), value, group, help }
}

use FlagGroup::{Accepted, Compare, Measure, Run, Select, Show};

/// Every flag.
pub(super) const FLAGS: &[Flag] = &[
    flag("scenario", Some("ID"), Select, "run this scenario (repeat for more)"),
    flag("adapter", Some("NAME"), Select, "run this adapter, by its exact name (repeat for more)"),
    flag("set", Some("SET"), Select, "run the scenarios of this set; `all` is every one"),
    flag("suite", Some("FILE"), Select, "run the benchmarks of this suite file; other flags go over it"),
    flag("skip", Some("FILTER"), Select, "leave out the cases that match (repeat for more)"),
    flag("exact", None, Select, "filters are whole names"),
    flag(
        "param",
        Some("AXIS=V,..."),
        Select,
        "run these values of an axis; `all` for every value; ID.AXIS=V for one scenario",
    ),
    flag("profile", Some("NAME"), Measure, "the budget to run under (default ci_cpu)"),
    flag("quick", None, Measure, "the profile `quick`: three short repeats"),
    flag("platform", Some("cpu|gpu|tpu"), Measure, "where to run (default cpu)"),
    flag(
        "mode",
        Some("sync|event|cold|hot"),
        Measure,
        "how bodies are timed on a device, whatever their scenario says",
    ),
    flag("repeats", Some("N"), Measure, "measured repeats of each case"),
    flag("samples", Some("N"), Measure, "the least number of samples in a repeat"),
    flag("min-time", Some("SECS"), Measure, "the least time that a repeat measures"),
    flag(
        "max-time",
        Some("SECS"),
        Measure,
        "the most that samples of a body take: a slow one gets fewer (default 5)",
    ),
    flag("target", Some("PERCENT"), Measure, "go on until the interval is the median plus or minus this: 1%"),
    flag("warmup", Some("N"), Measure, "batches left out at the start of each pass"),
    flag(
        "isolation",
        Some("LEVEL"),
        Measure,
        "what shares a process: repeat (nothing, the default), case, run, none",
    ),
    flag("order", Some("ORDER"), Measure, "shuffled (the default) or declared"),
    flag("seed", Some("N"), Measure, "seed of order, data and draws (default 42)"),
    flag("allow-debug", None, Measure, "measure although debug assertions are on"),
    flag(
        "profile-time",
        Some("SECS"),
        Measure,
        "run each body this long in this process for a profiler; nothing is stored",
    ),
    flag("budget", Some("SECS"), Run, "end the run after this many seconds"),
    flag("timeout", Some("SECS"), Run, "the longest that one repeat may take"),
    flag(
        "python",
        Some("PATH"),
        Run,
        "run every framework under this interpreter, which has them, instead of what is installed",
    ),
    flag("data", Some("DIR"), Run, "where runs and baselines are kept (default target/weighbridge)"),
    flag("data-root", Some("DIR"), Run, "where real data sets lie"),
    flag(
        "data-cache",
        Some("DIR"),
        Run,
        "where data sets are kept once they are made (default ~/.cache/weighbridge)",
    ),
    flag(
        "data-cache-cap",
        Some("SIZE"),
        Run,
        "the most that it holds (default 16GiB); least recently used goes first",
    ),
    flag("no-lock", None, Run, "do not wait for other measuring runs on this machine"),
    flag("resume", Some("RUN"), Run, "run the missing repeats of a run that was broken off"),
    flag("dry-run", None, Run, "print the plan and run nothing"),
    short("save-baseline", 's', Some("NAME"), Compare, "keep this run as a baseline"),
    short("baseline", 'b', Some("NAME"), Compare, "judge this run against a baseline; there must be one"),
    flag("baseline-lenient", Some("NAME"), Compare, "judge this run against a baseline if there is one"),
    flag("threshold", Some("PERCENT"), Compare, "the change that counts (default 5%)"),
    flag(
        "inconclusive",
        Some("pass|fail"),
        Compare,
        "whether an inconclusive verdict fails the run (default fail)",
    ),
    flag("versus", Some("PATH"), Compare, "measure in turns with this bench program, and judge by that"),
    flag(
        "versus-adapter",
        Some("NAME"),
        Compare,
        "measure the other adapters in turns with this one, and judge",
    ),
    flag(
        "inject",
        Some("SHARE"),
        Compare,
        "plant a slowdown on this side of a duel: 0.02 repeats 2 % of the iterations",
    ),
    flag("comparison", Some("FILE"), Compare, "also write the comparison to this file, as JSON"),
    flag(
        "accepted",
        Some("FILE"),
        Compare,
        "changes that were accepted (default benches/accepted.toml; none in a duel)",
    ),
    flag("allow-different-machine", None, Compare, "compare although the baseline is from another machine"),
    flag("list", None, Show, "print the cases and run nothing"),
    flag("list-metrics", None, Show, "print every metric with unit and direction"),
    flag("format", Some("terse|pretty|json"), Show, "the form of --list"),
    flag("color", Some("auto|always|never"), Show, "colour in tables"),
    flag("html", None, Show, "afterwards have the run written as a page with charts"),
    flag(
        "show-output",
        None,
        Show,
        "print what bodies print, after each repeat; the run's logs have it anyway",
    ),
    short("quiet", 'q', None, Show, "no progress, no table"),
    short("verbose", 'v', None, Show, "every metric of every case"),
    short("help", 'h', None, Show, "this text"),
    short("version", 'V', None, Show, "the version"),
    flag("bench", None, Accepted, "measure: cargo bench passes it"),
    flag("test", None, Accepted, "run each case once and store nothing, also under cargo bench"),
    flag("ignored", None, Accepted, "nothing is ignored: selects nothing"),
    flag("include-ignored", None, Accepted, "no effect: nothing is ignored"),
    flag("nocapture", None, Accepted, "as --show-output"),
    flag("no-capture", None, Accepted, "as --show-output"),
    flag("test-threads", Some("N"), Accepted, "no effect: one thing is measured at a time"),
    flag("report-time", None, Accepted, "no effect"),
    flag("logfile", Some("PATH"), Accepted, "no effect: see the run's directory"),
    flag("shuffle", None, Accepted, "no effect: rounds are shuffled"),
    flag("shuffle-seed", Some("N"), Accepted, "as --seed"),
    flag(
        "load-baseline",
        Some("NAME"),
        Accepted,
        "refused: `compare-baseline NAME --run RUN` judges a stored run",
    ),
    flag("discard-baseline", None, Accepted, "no effect: a run becomes a baseline only when asked"),
    flag("sample-size", Some("N"), Accepted, "as --repeats"),
    flag("warm-up-time", Some("SECS"), Accepted, "no effect: the profile counts batches"),
    flag("measurement-time", Some("SECS"), Accepted, "as --min-time"),
    flag("nresamples", Some("N"), Accepted, "no effect: intervals are exact"),
    flag("noise-threshold", Some("SHARE"), Accepted, "as --threshold, as a share: 0.05"),
    flag("confidence-level", Some("SHARE"), Accepted, "no effect: 95 %"),
    flag("significance-level", Some("SHARE"), Accepted, "no effect"),
    short("noplot", 'n', None, Accepted, "no effect: there are no plots"),
    flag("plotting-backend", Some("NAME"), Accepted, "no effect"),
    flag(
        "output-format",
        Some("criterion|bencher"),
        Accepted,
        "`bencher` prints one line a case for tools that read it",
    ),
    short("unstable-options", 'Z', Some("OPTION"), Accepted, "no effect"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_shown_of_a_run_is_no_part_of_its_environment_and_how_it_is_measured_is() {
        for flag in FLAGS {
            let Some(variable) = flag.variable() else { continue };
            let is_shown = flag.group == FlagGroup::Show;
            assert_eq!(crate::record::is_kept(&variable), !is_shown, "{variable}");
        }
    }

    #[test]
    fn no_two_flags_share_a_name() {
        let names: BTreeSet<&str> = FLAGS.iter().map(|flag| flag.name).collect();
        let shorts: Vec<char> = FLAGS.iter().filter_map(|flag| flag.short).collect();
        assert_eq!(names.len(), FLAGS.len());
        assert_eq!(shorts.iter().collect::<BTreeSet<_>>().len(), shorts.len());
    }
}
