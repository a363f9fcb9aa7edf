use std::fs;
use std::path::PathBuf;

use clap::Parser;
use serde_json::json;
use weighbridge::data::{CaseRecord, CaseStatus};

use super::*;

/// Files that guidellm 0.8.1 and aiperf 0.13.0 wrote of a server whose first token takes 50 ms, then one each
/// 10 ms; what nobody reads is cut. That of vLLM is made by hand, after the fields that it writes.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/load/import/fixtures").join(name)
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: LoadArgs,
}

/// Imports these files into a data directory, and gives the cases of the newest run.
fn import(data: &Path, files: &[&Path], flags: &[&str]) -> Result<(CommandOutput, Vec<CaseRecord>)> {
    let files = files.iter().map(|file| file.display().to_string());
    let line: Vec<String> = ["load".to_owned(), "--import".to_owned()].into_iter().chain(files).collect();
    let line = line.into_iter().chain(flags.iter().map(|flag| (*flag).to_owned()));
    let args = Line::try_parse_from(line)?.args;
    let output = run(&args, data)?;
    let runs = Runs::new(Layout::new(data));
    let newest = runs.newest_first()?.next().expect("there is a run");
    Ok((output, runs.load_whole(&newest.id)?.cases))
}

fn median(case: &CaseRecord, metric: &str) -> f64 {
    case.metric(metric).and_then(|metric| metric.estimate).unwrap_or_else(|| panic!("no {metric}")).median
}

#[test]
fn files_of_each_tool_are_samples_of_the_level_that_they_name() {
    for (file, has_gaps) in [("vllm.json", true), ("guidellm.json", false), ("profile_export.jsonl", true)] {
        let data = tempfile::tempdir().unwrap();
        let (output, cases) = import(data.path(), &[&fixture(file)], &[]).unwrap();
        assert_eq!(output.exit, Exit::Fine, "{file}: {}", output.text);
        let [case] = &cases[..] else { panic!("{file}: one case") };
        assert_eq!(case.id.to_string(), "LOAD/4 users/server", "{file}");
        assert!((0.049..0.2).contains(&median(case, "ttft_p50")), "{file}: {}", median(case, "ttft_p50"));
        assert!(median(case, "answer_p50") > median(case, "ttft_p50"), "{file}");
        assert!(
            (median(case, "requests") - 40.0).abs() < 1e-9 && median(case, "answer_rate") > 0.0,
            "{file}"
        );
        assert_eq!(case.metric("gap_p50").is_some(), has_gaps, "{file}");
        assert!(case.metric("client_busy").is_none(), "nobody knows it");
    }
}

#[test]
fn several_files_of_a_level_are_its_windows_and_another_level_is_another_case() {
    let data = tempfile::tempdir().unwrap();
    let file = fixture("vllm.json");
    let (_, cases) = import(data.path(), &[&file, &file, &file], &[]).unwrap();
    assert_eq!(cases[0].metric("ttft_p50").unwrap().values.len(), 3);
    let (_, cases) = import(data.path(), &[&file], &["--level", "mine"]).unwrap();
    assert_eq!(cases[0].id.to_string(), "LOAD/mine/server");
}

#[test]
fn an_import_says_nothing_of_this_machine_and_where_its_times_count_from() {
    let data = tempfile::tempdir().unwrap();
    let (_, cases) = import(data.path(), &[&fixture("vllm.json")], &[]).unwrap();
    assert!(cases[0].description.contains("was sent"), "{}", cases[0].description);
    let runs = Runs::new(Layout::new(data.path()));
    let manifest = runs.newest_first().unwrap().next().unwrap();
    let machine: Vec<(String, String)> = manifest.environment.machine.into_iter().collect();
    assert_eq!(machine, [("imported from".to_owned(), "vllm".to_owned())]);
}

#[test]
fn a_window_with_too_many_failures_or_with_empty_answers_is_a_failed_case() {
    let data = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(fixture("vllm.json")).unwrap();
    let mut result: Value = serde_json::from_str(&text).unwrap();
    result["errors"][0] = json!("Service Unavailable");
    result["output_lens"][1] = json!(0);
    let file = data.path().join("bad.json");
    fs::write(&file, result.to_string()).unwrap();
    let (output, cases) = import(data.path(), &[&file], &[]).unwrap();
    assert_eq!(output.exit, Exit::Failed);
    let CaseStatus::Failed(why) = &cases[0].status else { panic!("it failed") };
    let why = why.to_string();
    assert!(why.contains("1 x failed, as the other tool says") && why.contains("1 x no content"), "{why}");
}

#[test]
fn what_is_no_result_or_contradicts_itself_is_refused_with_what_would_do() {
    let data = tempfile::tempdir().unwrap();
    let vllm = fs::read_to_string(fixture("vllm.json")).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut result: Value = serde_json::from_str(&vllm).unwrap();
        change(&mut result);
        result.to_string()
    };
    let summaries = fs::read_to_string(fixture("profile_export_aiperf.json")).unwrap();
    let record = fs::read_to_string(fixture("profile_export.jsonl")).unwrap();
    let record = record.lines().next().unwrap();
    let cases = [
        (String::new(), "it is empty"),
        ("nonsense".to_owned(), "no JSON"),
        ("{}".to_owned(), "no result of"),
        ("[1]".to_owned(), "no result of"),
        (summaries, "profile_export.jsonl"),
        (changed(&|result| drop(result.as_object_mut().unwrap().remove("ttfts"))), "--save-detailed"),
        (changed(&|result| drop(result["ttfts"].as_array_mut().unwrap().pop())), "39 first tokens"),
        (changed(&|result| result["ttfts"][0] = json!(-1.0)), "cannot be"),
        (changed(&|result| result["itls"][0][0] = json!(1e300)), "cannot be"),
        (changed(&|result| result["duration"] = json!(0.0)), "it took 0 s"),
        (changed(&|result| result["ttfts"] = json!("many")), "invalid type"),
        (
            changed(&|result| {
                for name in ["ttfts", "itls", "output_lens"] {
                    result[name] = json!([]);
                }
            }),
            "no requests",
        ),
        ("{\"benchmarks\":[]}".to_owned(), "no benchmark"),
        ("{\"benchmarks\":[{}]}".to_owned(), "no report of guidellm 0.8"),
        (record.replace("\"ms\"", "\"us\""), "in us, and not in ms"),
        (format!("{record}\n{{}}"), "line 2 is no record"),
    ];
    for (text, words) in cases {
        let file = data.path().join("file.json");
        fs::write(&file, &text).unwrap();
        let error = import(data.path(), &[&file], &[]).map(|_| ()).unwrap_err();
        let error = stop::told(&error);
        assert!(error.contains(words) && error.contains("file.json"), "{words}: {error}");
    }
    let missing = import(data.path(), &[&data.path().join("none.json")], &[]).map(|_| ()).unwrap_err();
    assert!(stop::told(&missing).contains("none.json"));
}
