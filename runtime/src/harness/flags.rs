//! Every flag of a bench target, in the order of `--help`. One slice; parser, help and environment are made
//! from it.

use super::args::BenchArgs;
use super::flag::{Flag, FlagGroup, Take};
use super::flag_values::{
    at_least_one, colour, count, dump, is_bencher, isolation, list_format, mode, number, order, param,
    passes, percent, planted_share, platform, seconds, share, size, trace,
};
use super::usage::UsageError;
use crate::tool::tool;

/// Sets a field that says yes.
macro_rules! switch {
    ($field:ident) => {
        |args, _, _| {
            args.$field = true;
            Ok(())
        }
    };
}

/// Sets a field to the text.
macro_rules! text {
    ($($field:ident).+) => {
        |args, _, value| {
            args.$($field).+ = Some(value);
            Ok(())
        }
    };
}

/// Sets a field of the outputs that says yes, no, or nothing.
macro_rules! say {
    ($field:ident, $yes:literal) => {
        |args, _, _| {
            args.outputs.$field = Some($yes);
            Ok(())
        }
    };
}

/// Adds the text to a field, or what is read off it.
macro_rules! each {
    ($field:ident) => {
        |args, _, value| {
            args.$field.push(value);
            Ok(())
        }
    };
    ($field:ident, $read:ident) => {
        |args, flag, value| {
            args.$field.push($read(flag, &value)?);
            Ok(())
        }
    };
}

/// Sets a field to what is read off the text.
macro_rules! read {
    ($($field:ident).+, $read:ident) => {
        |args, flag, value| {
            args.$($field).+ = Some($read(flag, &value)?);
            Ok(())
        }
    };
    ($($field:ident).+ = $read:ident) => {
        |args, flag, value| {
            args.$($field).+ = $read(flag, &value)?;
            Ok(())
        }
    };
}

const fn flag(
    name: &'static str,
    value: Option<&'static str>,
    group: FlagGroup,
    help: &'static str,
    take: Take,
) -> Flag {
    Flag { name, short: None, value, group, help, take }
}

const fn short(
    name: &'static str,
    short: char,
    value: Option<&'static str>,
    group: FlagGroup,
    help: &'static str,
    take: Take,
) -> Flag {
    Flag { name, short: Some(short), value, group, help, take }
}

/// Formats with commas between them.
fn add_exports(args: &mut BenchArgs, _: &Flag, value: String) -> Result<(), UsageError> {
    let formats = value.split(',').map(|format| format.trim().to_owned());
    args.outputs.export.get_or_insert_default().extend(formats);
    Ok(())
}

/// Metrics with commas between them: a name that is missing would judge less than the settings say.
fn add_gate(args: &mut BenchArgs, flag: &Flag, value: String) -> Result<(), UsageError> {
    let metrics: Vec<String> = value.split(',').map(|metric| metric.trim().to_owned()).collect();
    if metrics.iter().any(String::is_empty) {
        return Err(UsageError(format!(
            "--{} takes names of metrics with commas between them, not `{value}`",
            flag.name
        )));
    }
    args.gate.get_or_insert_default().extend(metrics);
    Ok(())
}

/// criterion's flag; what it does has a command of its own.
fn refuse_load_baseline(_: &mut BenchArgs, flag: &Flag, _: String) -> Result<(), UsageError> {
    Err(UsageError(format!(
        "--{} is not needed here: judge a stored run with `{} compare-baseline NAME --run RUN`",
        flag.name,
        tool()
    )))
}

/// A flag of the commands: a bench target keeps and finds baselines in its data directory.
fn refuse_baseline_path(_: &mut BenchArgs, flag: &Flag, place: String) -> Result<(), UsageError> {
    let tool = tool();
    Err(UsageError(format!(
        "--{name} is of the commands: after the run, `{tool} baseline set NAME --{name} {place}` keeps it \
         there, and `{tool} compare-baseline NAME --{name} {place}` judges it by what is there",
        name = flag.name,
    )))
}

use FlagGroup::{Accepted, Compare, Measure, Run, Select, Show};

/// Every flag.
pub(super) const FLAGS: &[Flag] = &[
    flag("scenario", Some("ID"), Select, "run this scenario (repeat for more)", each!(scenarios)),
    flag(
        "adapter",
        Some("NAME"),
        Select,
        "run this adapter, by its exact name (repeat for more)",
        each!(adapters),
    ),
    flag("set", Some("SET"), Select, "run the scenarios of this set; `all` is every one", text!(set)),
    flag(
        "suite",
        Some("FILE"),
        Select,
        "run the benchmarks of this suite file; other flags go over it",
        text!(suite),
    ),
    flag("skip", Some("FILTER"), Select, "leave out the cases that match (repeat for more)", each!(skip)),
    flag("exact", None, Select, "filters are whole names", switch!(exact)),
    flag(
        "param",
        Some("AXIS=V,..."),
        Select,
        "run these values of an axis; `all` for every value; ID.AXIS=V for one scenario",
        each!(params, param),
    ),
    flag("profile", Some("NAME"), Measure, "the budget to run under (default ci_cpu)", text!(profile)),
    flag(
        "quick",
        None,
        Measure,
        "the profile `quick`, three short repeats, in a minute: what does not fit is left out",
        switch!(quick),
    ),
    flag(
        "platform",
        Some("cpu|gpu|tpu"),
        Measure,
        "where to run (default cpu)",
        read!(run.platform = platform),
    ),
    flag(
        "mode",
        Some("sync|event|cold|hot"),
        Measure,
        "how bodies are timed on a device, whatever their scenario says",
        read!(run.mode, mode),
    ),
    flag("repeats", Some("N"), Measure, "measured repeats of each case", read!(run.asked.repeats, count)),
    flag(
        "samples",
        Some("N"),
        Measure,
        "the least number of samples in a repeat",
        read!(run.asked.samples, at_least_one),
    ),
    flag(
        "min-time",
        Some("SECS"),
        Measure,
        "the least time that a repeat measures",
        read!(run.asked.min_time, seconds),
    ),
    flag(
        "max-time",
        Some("SECS"),
        Measure,
        "the most that samples of a body take: a slow one gets fewer (default 5)",
        read!(run.asked.max_time, seconds),
    ),
    flag(
        "target",
        Some("PERCENT"),
        Measure,
        "go on until the interval is the median plus or minus this: 1%",
        read!(together.target, percent),
    ),
    flag("warmup", Some("N"), Measure, "batches left out at the start of each pass", read!(warmup, number)),
    flag(
        "isolation",
        Some("LEVEL"),
        Measure,
        "what shares a process: repeat (nothing, the default), case, run, none",
        read!(together.isolation = isolation),
    ),
    flag(
        "order",
        Some("ORDER"),
        Measure,
        "shuffled (the default) or declared",
        read!(together.order = order),
    ),
    flag(
        "no-samples",
        None,
        Measure,
        "do not look at the machine's use ten times a second while a repeat is measured",
        switch!(no_samples),
    ),
    flag("seed", Some("N"), Measure, "seed of order, data and draws (default 42)", read!(run.seed = number)),
    flag("allow-debug", None, Measure, "measure although debug assertions are on", switch!(allow_debug)),
    flag(
        "profile-time",
        Some("SECS"),
        Measure,
        "run each body this long in this process for a profiler; nothing is stored",
        read!(profile_time, seconds),
    ),
    flag(
        "trace",
        Some("KIND"),
        Run,
        "afterwards trace each case once: torch, jax, perf, tracemalloc (repeat for more)",
        each!(traces, trace),
    ),
    flag(
        "dump",
        Some("KIND"),
        Run,
        "afterwards keep what the compiler of each case makes: hlo",
        each!(traces, dump),
    ),
    flag(
        "budget",
        Some("SECS"),
        Run,
        "break the run off after this many seconds; with --quick share them (default 60)",
        read!(budget, seconds),
    ),
    flag("timeout", Some("SECS"), Run, "the longest that one repeat may take", read!(run.timeout, seconds)),
    flag(
        "python",
        Some("PATH"),
        Run,
        "run every framework under this interpreter, which has them, instead of what is installed",
        text!(python),
    ),
    flag(
        "data",
        Some("DIR"),
        Run,
        "where runs and baselines are kept (default target/weighbridge)",
        text!(data),
    ),
    flag("data-root", Some("DIR"), Run, "where real data sets lie", text!(data_root)),
    flag(
        "data-cache",
        Some("DIR"),
        Run,
        "where data sets are kept once they are made (default ~/.cache/weighbridge)",
        text!(data_cache),
    ),
    flag(
        "data-cache-cap",
        Some("SIZE"),
        Run,
        "the most that it holds (default 16GiB); least recently used goes first",
        read!(data_cache_cap, size),
    ),
    flag(
        "ranks",
        Some("N"),
        Run,
        "start this many copies of the program here, which measure as one run",
        read!(ranks, at_least_one),
    ),
    flag(
        "rank-patience",
        Some("SECS"),
        Run,
        "how long ranks wait for one that does not come (default 60)",
        read!(rank_patience, seconds),
    ),
    flag("no-lock", None, Run, "do not wait for other measuring runs on this machine", switch!(no_lock)),
    flag("resume", Some("RUN"), Run, "run the missing repeats of a run that was broken off", text!(resume)),
    flag(
        "anyway",
        None,
        Run,
        "with --resume: go on in other surroundings, and mark what is measured in them",
        switch!(anyway),
    ),
    flag("dry-run", None, Run, "print the plan and run nothing", switch!(dry_run)),
    short(
        "save-baseline",
        's',
        Some("NAME"),
        Compare,
        "keep this run as a baseline; `@commit` is the commit",
        text!(save_baseline),
    ),
    short(
        "baseline",
        'b',
        Some("NAME"),
        Compare,
        "judge this run against a baseline; there must be one",
        text!(baseline),
    ),
    flag(
        "baseline-lenient",
        Some("NAME"),
        Compare,
        "judge this run against a baseline if there is one",
        text!(baseline_lenient),
    ),
    flag(
        "threshold",
        Some("PERCENT"),
        Compare,
        "the change that counts (default 5%)",
        read!(threshold, percent),
    ),
    flag(
        "gate",
        Some("METRIC,..."),
        Compare,
        "judge these metrics beside the one that stands for each case, whatever the settings say",
        add_gate,
    ),
    flag(
        "inconclusive",
        Some("pass|fail"),
        Compare,
        "whether an inconclusive verdict fails the run (default fail)",
        read!(inconclusive_passes, passes),
    ),
    flag(
        "versus",
        Some("PATH"),
        Compare,
        "measure in turns with this bench program, and judge by that",
        text!(versus),
    ),
    flag(
        "versus-adapter",
        Some("NAME"),
        Compare,
        "measure the other adapters in turns with this one, and judge",
        text!(versus_adapter),
    ),
    flag(
        "versus-param",
        Some("AXIS=V"),
        Compare,
        "measure the other values of an axis in turns with this one, and judge",
        text!(versus_param),
    ),
    flag(
        "inject",
        Some("SHARE"),
        Compare,
        "plant a slowdown on this side of a duel: 0.02 repeats 2 % of the iterations",
        read!(inject, planted_share),
    ),
    flag(
        "comparison",
        Some("FILE"),
        Compare,
        "also write the comparison to this file, as JSON",
        text!(comparison),
    ),
    flag(
        "accepted",
        Some("FILE"),
        Compare,
        "changes that were accepted (default benches/accepted.toml; none in a duel)",
        text!(accepted),
    ),
    flag(
        "allow-different-machine",
        None,
        Compare,
        "compare although the baseline is from another machine",
        switch!(allow_different_machine),
    ),
    flag("list", None, Show, "print the cases and run nothing", switch!(list)),
    flag("list-metrics", None, Show, "print every metric with unit and direction", switch!(list_metrics)),
    flag("format", Some("terse|pretty|json"), Show, "the form of --list", read!(format = list_format)),
    flag("color", Some("auto|always|never"), Show, "colour in tables", read!(color = colour)),
    flag(
        "export",
        Some("FORMAT,..."),
        Show,
        "afterwards write the run in formats of other tools: junit, csv, bencher, ...; `none` for none",
        add_exports,
    ),
    flag("html", None, Show, "afterwards write the run as a page with charts", say!(html, true)),
    flag("no-html", None, Show, "write no page, whatever the settings say", say!(html, false)),
    flag("charts", None, Show, "afterwards draw the run as SVG files", say!(charts, true)),
    flag("no-charts", None, Show, "draw no charts, whatever the settings say", say!(charts, false)),
    flag(
        "tracker",
        Some("wandb|mlflow|none"),
        Show,
        "afterwards hand the run to an experiment tracker, off line",
        text!(outputs.tracker),
    ),
    flag(
        "project",
        Some("NAME"),
        Show,
        "the tracker's project (default weighbridge)",
        text!(outputs.project),
    ),
    flag("entity", Some("NAME"), Show, "the team or user whose project it is", text!(outputs.entity)),
    flag(
        "outputs",
        Some("DIR"),
        Show,
        "where all that is written (default `outputs` in the data directory)",
        text!(outputs.folder),
    ),
    flag(
        "show-output",
        None,
        Show,
        "print what bodies print, after each repeat; the run's logs have it anyway",
        switch!(show_output),
    ),
    short("quiet", 'q', None, Show, "no progress, no table", switch!(quiet)),
    short("verbose", 'v', None, Show, "every metric of every case", switch!(verbose)),
    short("help", 'h', None, Show, "this text", switch!(help)),
    short("version", 'V', None, Show, "the version", switch!(version)),
    flag("bench", None, Accepted, "measure: cargo bench passes it", switch!(bench)),
    flag(
        "test",
        None,
        Accepted,
        "run each case once and store nothing, also under cargo bench",
        switch!(test),
    ),
    flag("ignored", None, Accepted, "nothing is ignored: selects nothing", switch!(ignored)),
    flag("nocapture", None, Accepted, "as --show-output", switch!(show_output)),
    flag("no-capture", None, Accepted, "as --show-output", switch!(show_output)),
    flag("shuffle-seed", Some("N"), Accepted, "as --seed", read!(run.seed = number)),
    flag("sample-size", Some("N"), Accepted, "as --repeats", read!(run.asked.repeats, count)),
    flag("measurement-time", Some("SECS"), Accepted, "as --min-time", read!(run.asked.min_time, seconds)),
    flag(
        "noise-threshold",
        Some("SHARE"),
        Accepted,
        "as --threshold, as a share: 0.05",
        read!(threshold, share),
    ),
    flag(
        "output-format",
        Some("criterion|bencher"),
        Accepted,
        "`bencher` prints one line a case for tools that read it",
        read!(bencher_lines = is_bencher),
    ),
    flag(
        "load-baseline",
        Some("NAME"),
        Accepted,
        "refused: `compare-baseline NAME --run RUN` judges a stored run",
        refuse_load_baseline,
    ),
    flag(
        "baseline-path",
        Some("WHERE"),
        Accepted,
        "refused: `baseline set` and `compare-baseline` keep and judge by baselines that lie elsewhere",
        refuse_baseline_path,
    ),
];

/// Flags of other harnesses that have no effect here: each with its short name, what its value is called, and
/// why.
pub(super) const WITHOUT_EFFECT: &[(&str, Option<char>, Option<&str>, &str)] = &[
    ("include-ignored", None, None, "nothing is ignored"),
    ("test-threads", None, Some("N"), "one thing is measured at a time"),
    ("report-time", None, None, "times are what is reported"),
    ("logfile", None, Some("PATH"), "the run's directory has the logs"),
    ("shuffle", None, None, "rounds are shuffled"),
    ("discard-baseline", None, None, "a run becomes a baseline only when asked"),
    ("warm-up-time", None, Some("SECS"), "the profile counts batches"),
    ("nresamples", None, Some("N"), "intervals are exact"),
    ("confidence-level", None, Some("SHARE"), "it is 95 %"),
    ("significance-level", None, Some("SHARE"), "verdicts go by intervals"),
    ("noplot", Some('n'), None, "there are no plots"),
    ("plotting-backend", None, Some("NAME"), "there are no plots"),
    ("unstable-options", Some('Z'), Some("OPTION"), "nothing is unstable"),
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
    fn every_flag_does_something_but_those_that_are_listed_as_without_effect() {
        for flag in FLAGS {
            let mut args = BenchArgs::default();
            let value = flag.value.map(|_| "1".to_owned()).unwrap_or_default();
            let is_taken = (flag.take)(&mut args, flag, value).is_err() || args != BenchArgs::default();
            assert!(is_taken, "--{} does nothing", flag.name);
        }
    }

    #[test]
    fn no_two_flags_share_a_name() {
        let without = WITHOUT_EFFECT.iter().map(|(name, short, ..)| (*name, *short));
        let all: Vec<_> = FLAGS.iter().map(|flag| (flag.name, flag.short)).chain(without).collect();
        let names: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
        let shorts: Vec<char> = all.iter().filter_map(|(_, short)| *short).collect();
        assert_eq!(names.len(), all.len());
        assert_eq!(shorts.iter().collect::<BTreeSet<_>>().len(), shorts.len());
    }
}
