//! Every command on a page is run, in order, on a data directory of the page's own.
//!
//! A block of `sh` is run in the crate `tests/external`, for real, under the profile `quick`. A block of `sh
//! suite` is about the catalogue, whose runs take minutes: it is planned and not run. A comment `# exit 3`
//! behind a command says how it ends; without one it ends with 0.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::external::{
    Bench, ProcessEnd, cargo_of_ours, catalogue_command, clean, json_messages, root, two_at_a_time, xtask,
    xtask_command,
};
use crate::page::{Block, Page, page, pages};

/// A command on a page.
#[derive(Debug, PartialEq)]
struct Line {
    /// `NAME=value` before it.
    variables: Vec<(String, String)>,
    words: Vec<String>,
    exit: i32,
}

impl Line {
    /// Reads a line of a block; `None` where it is empty or a comment.
    fn parse(line: &str) -> Option<Self> {
        let (mut words, mut word, mut quote, mut comment) = (Vec::new(), None::<String>, None, "");
        for (at, letter) in line.char_indices() {
            match (letter, quote) {
                (letter, Some(open)) if letter == open => quote = None,
                ('\'' | '"', None) => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                ('#', None) if word.is_none() => {
                    comment = &line[at..];
                    break;
                }
                (' ', None) => words.extend(word.take()),
                (letter, _) => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        assert!(quote.is_none(), "a quote is never closed in {line}");
        let exit = comment.split("exit ").nth(1).map_or(0, |rest| {
            let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            rest[..digits].parse().expect("a number follows `exit`")
        });
        let is_variable =
            |word: &&String| word.contains('=') && word.starts_with(|c: char| c.is_ascii_uppercase());
        let variables: Vec<(String, String)> = words
            .iter()
            .take_while(is_variable)
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let words = words.split_off(variables.len());
        (!words.is_empty()).then_some(Self { variables, words, exit })
    }
}

/// The commands of a block: all lines of `sh`, those of ours among the steps of `yaml`.
fn lines(block: &Block<'_>) -> Vec<Line> {
    let step = |line: &'_ str| {
        let line = line.trim_start().trim_start_matches("- ").trim_start_matches("run: ");
        line.starts_with("cargo ").then(|| line.to_owned())
    };
    match block.info {
        "sh" | "sh suite" => block.text.lines().filter_map(Line::parse).collect(),
        "yaml" => block.text.lines().filter_map(step).filter_map(|line| Line::parse(&line)).collect(),
        _ => Vec::new(),
    }
}

/// The bench targets of this workspace's catalogue.
pub(crate) const FAMILIES: [&str; 4] = ["suite", "checkpoints", "training", "inference"];

/// The same, built as tests are: enough to list and to plan.
static BUILT: LazyLock<BTreeMap<String, PathBuf>> = LazyLock::new(|| {
    let mut command = Command::new(env!("CARGO"));
    // Of the whole workspace, as these tests were built: else the features of all below are others, and it is
    // built again.
    command.args(["test", "--workspace", "--no-run", "--message-format=json"]);
    let families = ["checkpoints", "training", "inference"].map(|name| format!("weighbridge-suite/{name}"));
    command.args(["--features", &families.join(",")]);
    command.args(FAMILIES.iter().flat_map(|family| ["--bench", family]));
    let messages = json_messages(command.current_dir(root()).stdin(Stdio::null()));
    let name = |message: &serde_json::Value| {
        let path = message["executable"].as_str()?;
        Some((message["target"]["name"].as_str()?.to_owned(), path.into()))
    };
    messages.iter().filter_map(name).collect()
});

/// The bench program of a family.
pub(crate) fn program(family: &str) -> &'static Path {
    BUILT.get(family).unwrap_or_else(|| panic!("the bench target `{family}` is built: {BUILT:?}"))
}

/// Runs a command as it stands on a page.
fn run(line: &Line, suite: bool, bench: &Bench) -> ProcessEnd {
    let mut words: Vec<&str> = line.words.iter().map(String::as_str).collect();
    // The installed name of the tool.
    if words.starts_with(&["cargo", "weighbridge"]) {
        words[1] = "xtask";
    }
    match words[..] {
        ["cargo", "bench"] => measure(line, &[], suite.then_some("suite"), bench),
        ["cargo", "bench", "--", ref args @ ..] => measure(line, args, suite.then_some("suite"), bench),
        ["cargo", "bench-checkpoints", "--", ref args @ ..] => {
            measure(line, args, Some("checkpoints"), bench)
        }
        ["cargo", "bench-inference", "--", ref args @ ..] => measure(line, args, Some("inference"), bench),
        ["cargo", "bench-training", "--", ref args @ ..] => measure(line, args, Some("training"), bench),
        // A bench target without `--bench` is what `cargo test` runs.
        ["cargo", "test", "--benches"] => ProcessEnd::of(&mut bench.bare(&[])),
        ["cargo", "nextest", "run", "--benches", ..] => {
            ProcessEnd::of(&mut bench.bare(&["--list", "--format", "terse"]))
        }
        // These build revisions and measure for minutes; `tests/cargo/rebuild.rs` does that for real.
        // `history accept` needs a change, which those tests plant.
        ["cargo", "xtask", "compare-baseline", "--rebuild" | "--program", ..]
        | ["cargo", "xtask", "calibrate", ..]
        | ["cargo", "xtask", "history", "backfill" | "bisect" | "accept", ..] => {
            let words: Vec<&str> = words[2..].iter().copied().take_while(|word| *word != "--").collect();
            xtask(bench, &[&words, &["--help"][..]].concat())
        }
        // `tests/cargo/installed.rs` installs it, from the work tree.
        ["cargo", "install", "--locked", "--git", _, "weighbridge-xtask", "--bin", "cargo-weighbridge"] => {
            xtask(bench, &["--help"])
        }
        // It builds what travels; `xtask/tests/launch` launches for real.
        ["cargo", "xtask", "launch", ..] => {
            let words: Vec<&str> = words[2..].iter().copied().take_while(|word| *word != "--").collect();
            xtask(bench, &[&words, &["--help"][..]].concat())
        }
        // It tells of a duel, which takes two programs.
        ["cargo", "xtask", "report", "comment", "--duel", ..] => {
            xtask(bench, &["report", "comment", "--help"])
        }
        // These write into the workspace, so their words alone are checked.
        ["cargo", "xtask", "lock", ..] | ["cargo", "xtask", .., "--commit"] => {
            xtask(bench, &[&words[2..], &["--help"]].concat())
        }
        ["cargo", "catalogue", ref args @ ..] => {
            loosely(&mut catalogue_command(bench, &with_values(args, "")))
        }
        ["cargo", "xtask", ref args @ ..] => loosely(&mut xtask_command(bench, &with_values(args, ""))),
        _ => panic!("no test knows how to run {words:?}"),
    }
}

/// `cargo bench -- ARGS`, of a family of the catalogue where one is named.
fn measure(line: &Line, args: &[&str], family: Option<&str>, bench: &Bench) -> ProcessEnd {
    let last = bench.runs().pop().unwrap_or_default();
    let args = with_values(args, &last);
    let mut command = if let Some(family) = family {
        let mut command = Command::new(program(family));
        command.args(args).arg("--bench").current_dir(root()).stdin(Stdio::null());
        clean(&mut command);
        command.env("WEIGHBRIDGE_DRY_RUN", "1");
        command
    } else {
        // A profile that the page names is run as it is, and a run that is taken up again has the plan that
        // it had.
        let more: &[&str] = match () {
            () if args.contains(&"--resume") => &[],
            () if args.contains(&"--profile") => &["--measurement-time", "0.005"],
            () => &["--profile", "quick", "--measurement-time", "0.005"],
        };
        let mut command = bench.command(&[&args, more].concat());
        // What a run writes at its end is written by the workspace's command.
        command.env("CARGO", cargo_of_ours(bench.data()));
        command
    };
    loosely(command.envs(line.variables.clone()))
}

/// The arguments of a page as a test can use them: the last run where a page says RUN, a budget that a quick
/// run spends, a threshold that no quick run passes.
fn with_values<'a>(args: &[&'a str], last: &'a str) -> Vec<&'a str> {
    let before = std::iter::once("").chain(args.iter().copied());
    let value = |(before, arg)| match (before, arg) {
        (_, "RUN") => last,
        // One of everybody's on a machine that is set up so.
        ("--baseline-path", "/srv/weighbridge") => concat!(env!("CARGO_TARGET_TMPDIR"), "/shared-baselines"),
        ("--budget", _) => "0.05",
        ("--threshold", _) => LOOSE,
        // What a job writes beside its checkout is not to lie in ours.
        ("--out", file) if !file.starts_with('/') => &*format!("/tmp/weighbridge-{file}").leak(),
        (_, arg) => arg,
    };
    before.zip(args.iter().copied()).map(value).collect()
}

/// A threshold that noise does not pass.
const LOOSE: &str = "900%";

/// Runs a command that may judge. A quick run says little about time: what is checked is that the command
/// does its part.
fn loosely(command: &mut Command) -> ProcessEnd {
    ProcessEnd::of(command.env("WEIGHBRIDGE_THRESHOLD", LOOSE).env("WEIGHBRIDGE_INCONCLUSIVE", "pass"))
}

/// Whether something else holds a line: the laboratory reads its own, in a test of its command line; and this
/// test is part of what `cargo test --workspace` runs.
fn is_elsewhere(line: &Line) -> bool {
    line.words.starts_with(&["cargo", "lab"].map(str::to_owned))
        || line.words == ["cargo", "test", "--workspace"]
}

fn check(page: &Page) {
    let bench = Bench::new("sorting");
    for block in page.blocks() {
        for line in lines(&block).into_iter().filter(|line| !is_elsewhere(line)) {
            let suite = block.info == "sh suite";
            let ran = run(&line, suite, &bench);
            let expected = if suite { 0 } else { line.exit };
            let at = format!("{}:{}", page.path.display(), block.line);
            assert_eq!(ran.code, Some(expected), "{at}: {line:?}: {}", ran.all());
        }
    }
}

#[test]
fn every_command_on_a_page_is_run_and_ends_as_the_page_says() {
    let pages = pages();
    // A page's commands follow from each other; two pages know nothing of one another.
    two_at_a_time(&pages, check);
    let seen: usize = pages.iter().flat_map(Page::blocks).map(|block| lines(&block).len()).sum();
    assert!(seen > 20, "only {seen} commands were found");
}

#[test]
fn the_readme_has_the_two_commands() {
    let readme = page("README.md");
    let all: Vec<Line> = readme.blocks().iter().flat_map(lines).collect();
    for command in ["cargo bench", "cargo test --workspace"] {
        assert!(all.contains(&Line::parse(command).unwrap()), "{command}");
    }
}

#[test]
fn a_line_is_read_as_a_shell_reads_it() {
    let line = Line::parse("A=1 cargo bench -- \"x y\" 'z' --a=b   # exit 3: it is slower").unwrap();
    assert_eq!(line.variables, [("A".to_owned(), "1".to_owned())]);
    assert_eq!(line.words, ["cargo", "bench", "--", "x y", "z", "--a=b"]);
    assert_eq!(line.exit, 3);
    assert_eq!(Line::parse("# nothing"), None);
    assert!(Path::new(env!("CARGO")).exists());
}
