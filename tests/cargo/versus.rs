//! `--versus` and `--versus-adapter`: two sides in turns.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::external::Bench;

/// One case of the downstream crate's suite, measured as shortly as a duel can be.
const CASE: [&str; 3] = ["SORT-1", "--param", "len=20000"];

#[test]
fn two_adapters_of_one_scenario_are_measured_in_turns() {
    let bench = Bench::new("sorting");
    let file = bench.data().join("comparison.json");
    let name = file.display().to_string();
    let ran = bench.run(&[&CASE[..], &["--versus-adapter", "stable", "--comparison", &name]].concat());
    assert!(matches!(ran.code, Some(0 | 3 | 5)), "{}", ran.all());
    assert!(ran.stdout.contains("in a duel with `stable`"), "{}", ran.all());
    let comparison: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(comparison["method"], "duel");
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{comparison}");
    assert_eq!(rows[0]["case"]["adapter"], "unstable");
    let rounds = rows[0]["rounds"]["shifts"].as_array().unwrap().len();
    assert!([8, 12, 16, 24].contains(&rounds), "{rounds}");
    assert!(comparison["environment"]["software"]["commit"].is_string(), "{comparison}");
    let left: Vec<_> = fs::read_dir(bench.data().join("duels")).unwrap().collect();
    assert_eq!(left.len(), 1, "the duel is kept, its scratch is gone: {left:?}");
}

#[test]
fn a_program_of_another_protocol_is_incomparable_and_the_way_out_is_said() {
    let bench = Bench::new("sorting");
    let listing = bench.data().join("listing.json");
    fs::write(&listing, bench.run(&["--list", "--format", "json"]).stdout).unwrap();
    // It lists the same cases, and its children greet with the version of another time.
    let script = bench.data().join("older");
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --list ]; then cat '{}'; else \
         printf '\\027\\000\\000\\000{{\"Hello\":{{\"version\":1}}}}' >&0; sleep 5; fi\n",
        listing.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = bench.run(&[&CASE[..], &["--versus", &script.display().to_string()]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert!(ran.stderr.contains("the child speaks version 1"), "{}", ran.all());
    assert!(ran.stderr.contains("Compare with a stored baseline"), "{}", ran.all());
}

#[test]
fn what_cannot_be_measured_with_is_a_mistake_that_says_so() {
    let bench = Bench::new("sorting");
    for (flags, expected) in [
        (&["--versus", "/no/such/program"][..], "--versus /no/such/program"),
        (&["--versus", "/bin/true"], "/bin/true is no bench program"),
        (&["--versus", "x", "--versus-adapter", "y"], "choose one"),
        (&["--inject", "0.02"], "add --versus"),
        (&["--inject", "-1", "--versus", "/bin/true"], "a share such as 0.02"),
    ] {
        let ran = bench.run(&[&CASE[..], flags].concat());
        assert_eq!(ran.code, Some(2), "{flags:?}: {}", ran.all());
        assert!(ran.stderr.contains(expected), "{flags:?}: {}", ran.all());
    }
    let ran = bench.run(&[&CASE[..], &["--versus-adapter", "stabel"]].concat());
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("did you mean `stable`?"), "{}", ran.all());
}
