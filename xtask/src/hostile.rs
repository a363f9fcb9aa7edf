//! What an author could write to break out of a format, fed through everything that prints or writes what runs hold.

use std::fs;

use clap::{CommandFactory, Parser};
use quick_junit::Report;
use serde_json::Value;
use weighbridge::data::{CaseRecord, CaseStatus, Direction, Finding, RunRecord, Severity, Unit, is_unseen};
use weighbridge_loaders::contract::Experiment;

use crate::cli::Cli;
use crate::export::FORMATS;
use crate::export::tests::{exported, files};
use crate::fixtures::{Home, around, case, fed, home, metric, run, training};
use crate::said::Said;
use crate::{answer, stop};

/// Ends tags, cells, lines, quotes and paths, gives orders to a build server, calls people, is a formula, moves the cursor and
/// turns the direction of writing.
const HOSTILE: &str = "</script></details><img src=x onerror=alert(1)>::error::=1+1\r\n::error::y|\"'`@all\u{1b}[31m\
                       \u{202e}\u{2066}\u{0}../../x";

/// Commands that show nothing of what a run holds.
const OTHERS: [&str; 14] = [
const OTHERS: [&str; 10] = [
    "calibrate",
    "catalogue",
    "command",
    "coverage",
    "data",
    "flops",
    "lock",
    "peers",
    "suite",
    "truth",
];

/// A run in which every text that an author has a hand in is hostile.
fn hostile(second: u64, rate: f64) -> RunRecord {
    let mut failed = case("CV-1", "failed", &around(rate));
    failed.status = CaseStatus::Failed(HOSTILE.into());
    let mut skipped = case("CV-1", "skipped", &around(rate));
    (skipped.metrics, skipped.repeats) = (Vec::new(), Vec::new());
    skipped.status = CaseStatus::Skipped(HOSTILE.into());
    // A second system of each scenario, a measured axis and a training: something for every chart.
    let mut cases = vec![case("CV-1", "first", &around(rate)), case("CV-1", "second", &around(rate * 0.9))];
    cases[0].metrics.push(metric(&Experiment::AsItIs.metric(), Unit::SECONDS, 1.0 / rate));
    for workers in ["1", "2", "4"] {
        let mut swept = case("PC-1", "first", &around(rate));
        swept.id.point.0[0].text = workers.into();
        swept.id.point.0[0].labelled = false;
        swept.metrics.push(metric("latency_p50", Unit::SECONDS, 0.1));
        cases.push(swept);
    }
    cases.extend([training("first", 7, 100.0, Some((64.0, 0.8))), failed, skipped]);
    cases.push(fed("first", &[("variant", "tiny"), ("workers", "0")], [rate, rate * 1.1, rate * 4.0]));
    cases.push(case(&format!("NEW-{second}"), "first", &around(rate))); // added in one run, removed in the other
    for case in &mut cases {
        taint(case);
    }
    let mut record = run(second, cases);
    record.manifest.profile = HOSTILE.into();
    record.manifest.command.push(HOSTILE.into());
    record.manifest.environment.software.insert(HOSTILE.into(), HOSTILE.into());
    record.manifest.environment.machine.insert(HOSTILE.into(), HOSTILE.into());
    record
}

fn taint(case: &mut CaseRecord) {
    case.description = HOSTILE.into();
    case.category = HOSTILE.into();
    case.version = Some(HOSTILE.into());
    // The report of trainings goes by the names of their scenarios.
    if !case.id.scenario.starts_with("TRAIN-") {
        case.id.scenario.push_str(HOSTILE);
    }
    case.id.adapter = case.id.adapter.take().map(|adapter| adapter + HOSTILE);
    for axis in &mut case.id.point.0 {
        axis.axis.push_str(HOSTILE);
        if axis.labelled {
            axis.text.push_str(HOSTILE);
        }
    }
    if case.metrics.is_empty() {
        return;
    }
    let mut own = metric(HOSTILE, Unit::COUNT, 3.0);
    own.direction = Direction::Lower;
    case.metrics.push(own);
    case.findings.push(Finding {
        rule: HOSTILE.into(),
        severity: Severity::Caveat,
        repeats: vec![1],
        detail: HOSTILE.into(),
        remedy: HOSTILE.into(),
        figure: None,
    });
}

/// A baseline `main`, and a later run of half the speed.
fn stored() -> (Home, RunRecord) {
    let home = home();
    let baseline = hostile(1_000, 8.0e6);
    home.store(&baseline);
    home.promote("main", &baseline);
    let later = hostile(2_000, 4.0e6);
    home.store(&later);
    (home, later)
}

/// What a command line says, as it is typed. An error is printed as well, so it is as good an answer.
fn said(home: &Home, line: &[&str]) -> Said {
    let cli = Cli::try_parse_from([&["xtask"], line].concat()).unwrap_or_else(|error| panic!("{error}"));
    answer(cli.command, &home.place).unwrap_or_else(|error| Said {
        text: String::new(),
        remarks: vec![format!("error: {}", stop::told(&error))],
        exit: stop::exit(&error),
    })
}

/// Nothing moves the cursor, turns the direction of writing, or begins a line with an order to a build server but what is said
/// to.
fn is_plain(text: &str, what: &str) {
    let unseen: Vec<char> = text.chars().filter(|letter| *letter != '\n' && is_unseen(*letter)).collect();
    assert!(unseen.is_empty(), "{what}: {unseen:?} in {text}");
    let order = text.lines().find(|line| line.trim_start().starts_with("::"));
    assert!(order.is_none(), "{what}: {order:?}");
}

/// As Markdown besides: no tag but those of the page's own, nobody is called, and each row has the cells of its head.
fn is_markdown(text: &str, what: &str) {
    is_plain(text, what);
    for bad in ["<img", "</script", "@all"] {
        assert!(!text.contains(bad), "{what}: {bad} in {text}");
    }
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count(), "{what}: {text}");
    let mut cells = None;
    for line in text.lines() {
        let own = line.trim_start().starts_with('|').then(|| line.matches('|').count());
        assert!(own.is_none() || cells.is_none() || own == cells, "{what}: {line}");
        cells = own;
    }
}

#[test]
fn every_command_is_tried_or_shows_nothing_of_a_run() {
    let tried = [
        "compare-baseline",
        "summary",
        "explain",
        "baseline",
        "runs",
        "report",
        "export",
        "history",
        "bottleneck",
    ];
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(tried.contains(&name) != OTHERS.contains(&name), "{name}: is what it prints tried here?");
    }
}

#[test]
fn what_is_printed_stays_in_its_line() {
    let (home, later) = stored();
    let mut lines: Vec<Vec<&str>> = vec![
        vec!["summary"],
        vec!["runs", "list"],
        vec!["bottleneck"],
        vec!["runs", "show", "latest"],
        vec!["runs", "judge", "latest"],
        vec!["baseline", "list"],
        vec!["baseline", "show", "main"],
        vec!["compare-baseline", "main"],
        vec!["compare-baseline", HOSTILE],
        vec!["explain", HOSTILE],
        vec!["history", HOSTILE],
    ];
    let names: Vec<String> = later.cases.iter().map(|case| case.id.to_string()).collect();
    for name in &names {
        lines.push(vec!["runs", "show", "latest", "--case", name]);
        lines.push(vec!["explain", name, "--ascii"]);
        lines.push(vec!["history", name]);
    }
    for line in lines {
        let said = said(&home, &line);
        assert!(!said.text.is_empty() || !said.remarks.is_empty(), "{line:?}");
        is_plain(&said.text, line[0]);
        is_plain(&said.printed_remarks(), line[0]);
    }
}

#[test]
fn what_a_build_server_is_told_is_an_annotation_a_line() {
    let (home, _) = stored();
    let said = said(&home, &["compare-baseline", "main", "--format", "github"]);
    let (last, annotations) =
        said.text.trim_end().rsplit_once('\n').map(|(all, last)| (last, all)).expect("lines");
    assert!(last.starts_with("weighbridge: compared="), "{last}");
    assert!(annotations.lines().count() > 3, "{annotations}");
    for line in annotations.lines() {
        let parts: Vec<&str> = line.splitn(4, "::").collect();
        let [_, order, _] = parts[..3] else { panic!("{line}") };
        assert!(parts[0].is_empty(), "{line}");
        let (level, title) = order.split_once(" title=").expect("a title");
        assert!(["error", "warning"].contains(&level) && !title.contains([':', ',']), "{line}");
        assert!(!line.chars().any(is_unseen), "{line:?}");
    }
}

#[test]
fn what_is_markdown_is_text_in_its_cells() {
    let (home, _) = stored();
    for line in [
        &["compare-baseline", "main", "--format", "markdown"][..],
        &["report", "comment"],
        &["report", "comparison"],
        &["report", "training"],
    ] {
        let said = said(&home, line);
        assert!(!said.text.is_empty(), "{line:?}: {:?}", said.remarks);
        is_markdown(&said.text, line[1]);
    }
}

#[test]
fn what_is_json_can_be_read_back() {
    let (home, later) = stored();
    for line in [
        &["compare-baseline", "main", "--format", "json"][..],
        &["runs", "show", "latest", "--json"],
        &["baseline", "show", "main", "--json"],
    ] {
        let text = said(&home, line).text;
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        assert!(!text.contains('\u{1b}') && !text.contains('\u{0}'), "{line:?}");
    }
    let shown = said(&home, &["runs", "show", "latest", "--json"]).text;
    let shown: RunRecord = serde_json::from_str(&shown).expect("a run");
    assert_eq!(shown.cases.len(), later.cases.len());
}

#[test]
fn a_page_has_no_script_tag_or_turn_but_its_own() {
    let (home, _) = stored();
    let out = home.directory.path().join("report.html");
    let said = said(&home, &["report", "html", "--out", out.to_str().expect("UTF-8")]);
    let page = fs::read_to_string(&out).unwrap_or_else(|error| panic!("{error}: {:?}", said.remarks));
    assert_eq!(page.matches("<script").count(), 5, "three of ours and two blocks of data");
    assert!(!page.contains("<img src=x"), "no tag comes of it");
    let unseen: Vec<char> =
        page.chars().filter(|letter| !"\n\t".contains(*letter) && is_unseen(*letter)).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

#[test]
fn a_chart_is_drawn_with_it_as_text() {
    let (home, _) = stored();
    let out = home.directory.path().join("charts");
    let said = said(&home, &["report", "charts", "--out", out.to_str().expect("UTF-8")]);
    let charts = files(&out);
    assert!(charts.len() >= 8, "{charts:?} {:?}", said.remarks);
    for file in charts {
        assert!(file.parent() == Some(&out) || file.starts_with(&out), "{}", file.display());
        if file.extension().is_some_and(|extension| extension == "svg") {
            let text = fs::read_to_string(&file).expect("just written");
            is_plain(&text, "svg");
            assert!(!text.contains("<img") && !text.contains("</script"), "{text}");
            assert!(file.with_extension("png").exists(), "it is XML that can be drawn: {}", file.display());
        }
    }
}

#[test]
fn no_format_of_another_tool_is_broken() {
    let (home, _) = stored();
    for format in FORMATS.map(|format| format.name) {
        let said = exported(&home, format);
        match format {
            "jsonl" | "jsonl-samples" => {
                for line in said.lines() {
                    serde_json::from_str::<Value>(line).expect("a document a line");
                }
            }
            "csv" | "csv-samples" => {
                assert!(!said.contains("\n=") && !said.contains(",="), "no cell is a formula: {said}");
                assert!(rows(&said) > 1, "{said}");
            }
            "bmf" | "smaller-is-better" | "bigger-is-better" => {
                serde_json::from_str::<Value>(&said).expect("one document");
            }
            "bencher" => {
                assert!(said.is_ascii() && said.lines().all(|line| line.starts_with("test ")), "{said}");
            }
            "junit" => {
                Report::deserialize_from_str(&said).expect("it can be read back");
                assert!(!said.contains("</script>") && !said.contains('\u{0}'), "{said}");
            }
            "openmetrics" => {
                for line in said.lines().filter(|line| !line.starts_with('#')) {
                    let name = line.split('{').next().unwrap_or_default();
                    assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{line}");
                    let value = line.rsplit("} ").next();
                    assert!(value.is_some_and(|value| value.parse::<f64>().is_ok()), "{line}");
                }
                assert!(said.ends_with("# EOF\n"), "{said}");
            }
            // Nothing lies outside of the folder, and no text of an author is a path.
            _ => {
                for file in files(&home.directory.path().join(format!("out-{format}"))) {
                    let name = file.display().to_string();
                    assert!(!name.contains(['\n', '\u{1b}', '"']), "{name}");
                }
            }
        }
    }
    let outside: Vec<_> = fs::read_dir(home.directory.path())
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    let expected = |name: &str| name.starts_with("out-") || ["workspace", "data"].contains(&name);
    assert!(outside.iter().all(|name| expected(&name.to_string_lossy())), "{outside:?}");
}

/// Records of CSV: line ends outside of quotes.
fn rows(text: &str) -> usize {
    let mut quoted = false;
    let mut rows = 0;
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            '\n' if !quoted => rows += 1,
            _ => {}
        }
    }
    rows
}
