//! What an author could write to break out of a format, fed through everything that prints or writes what
//! runs hold.

use std::fs;

use clap::{CommandFactory, Parser};
use quick_junit::Report;
use serde_json::Value;
use weighbridge::data::{RunRecord, is_unseen};

use crate::cli::Cli;
use crate::command_output::CommandOutput;
use crate::export::FORMATS;
use crate::export::tests::{exported, files};
use crate::fixtures::Home;
use crate::fixtures::hostile::{HOSTILE, is_markdown, is_plain, is_visible, stored};
use crate::{answer, stop};

/// Commands that show nothing of what a run holds.
const OTHERS: [&str; 7] = ["calibrate", "command", "doctor", "launch", "load", "lock", "suite"];

/// Answers a command line, as it is typed. An error is printed as well, so it is as good an answer.
fn said(home: &Home, line: &[&str]) -> CommandOutput {
    let cli = Cli::try_parse_from([&["xtask"], line].concat()).unwrap_or_else(|error| panic!("{error}"));
    answer(&cli.command, &home.place).unwrap_or_else(|error| CommandOutput {
        remarks: vec![format!("error: {}", stop::told(&error))],
        exit: stop::exit(&error),
        ..CommandOutput::fine("")
    })
}

#[test]
fn every_command_is_tried_or_shows_nothing_of_a_run() {
    let tried = ["compare-baseline", "summary", "explain", "baseline", "runs", "report", "export", "history"];
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(tried.contains(&name) != OTHERS.contains(&name), "{name}: is what it prints tried here?");
    }
}

#[test]
fn what_is_printed_stays_in_its_line() {
    let (home, later) = stored(|_| Vec::new());
    let mut lines: Vec<Vec<&str>> = vec![
        vec!["summary"],
        vec!["runs", "list"],
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
        is_plain(&said.printed(), line[0]);
        is_plain(&said.printed_remarks(), line[0]);
    }
}

#[test]
fn what_a_build_server_is_told_is_an_annotation_a_line() {
    let (home, _) = stored(|_| Vec::new());
    let said = said(&home, &["compare-baseline", "main", "--format", "github"]);
    let printed = said.printed();
    let (last, annotations) =
        printed.trim_end().rsplit_once('\n').map(|(all, last)| (last, all)).expect("lines");
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
    let (home, _) = stored(|_| Vec::new());
    for line in [&["compare-baseline", "main", "--format", "markdown"][..], &["report", "comment"]] {
        let said = said(&home, line);
        assert!(!said.text.is_empty(), "{line:?}: {:?}", said.remarks);
        is_markdown(&said.text, line[1]);
    }
}

#[test]
fn what_is_json_can_be_read_back() {
    let (home, later) = stored(|_| Vec::new());
    for line in [
        &["compare-baseline", "main", "--format", "json"][..],
        &["runs", "show", "latest", "--json"],
        &["baseline", "show", "main", "--json"],
    ] {
        let text = said(&home, line).printed();
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        is_plain(&text, line[0]);
    }
    let shown = said(&home, &["runs", "show", "latest", "--json"]).text;
    let shown: RunRecord = serde_json::from_str(&shown).expect("a run");
    assert_eq!(shown.cases.len(), later.cases.len());
}

#[test]
fn a_page_has_no_script_tag_or_turn_but_its_own() {
    let (home, _) = stored(|_| Vec::new());
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
    let (home, _) = stored(|_| Vec::new());
    let out = home.directory.path().join("charts");
    let format = if cfg!(feature = "png") { "both" } else { "svg" };
    let said = said(&home, &["report", "charts", "--format", format, "--out", out.to_str().expect("UTF-8")]);
    let charts = files(&out);
    let drawn = charts.iter().filter(|file| file.extension().is_some_and(|extension| extension == "svg"));
    assert!(drawn.count() >= 5, "{charts:?} {:?}", said.remarks);
    for file in charts {
        assert!(file.parent() == Some(&out) || file.starts_with(&out), "{}", file.display());
        if file.extension().is_some_and(|extension| extension == "svg") {
            let text = fs::read_to_string(&file).expect("just written");
            is_visible(&text, "svg");
            assert!(!text.contains("<img") && !text.contains("</script"), "{text}");
            assert_eq!(
                file.with_extension("png").exists(),
                cfg!(feature = "png"),
                "it is XML that can be drawn: {}",
                file.display()
            );
        }
    }
}

#[test]
fn no_format_of_another_tool_is_broken() {
    let (home, _) = stored(|_| Vec::new());
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
                assert!(!said.contains('\u{fffe}'), "XML knows it in no form");
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
