//! The protocol of nextest, spoken by hand, and by nextest itself where it is installed.

use crate::external::{Bench, ProcessEnd, cargo};

#[test]
fn the_terse_list_is_names_alone_and_has_no_side_effects() {
    let bench = Bench::new("sorting");
    let ran = ProcessEnd::of(&mut bench.bare(&["--list", "--format", "terse"]));
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let expected = "sort_1::len=1000::stable: benchmark\n\
                    sort_1::len=1000::unstable: benchmark\n\
                    sort_1::len=20000::stable: benchmark\n\
                    sort_1::len=20000::unstable: benchmark\n\
                    sum_1::short: benchmark\n";
    assert_eq!(ran.stdout, expected);
    let ignored = ProcessEnd::of(&mut bench.bare(&["--list", "--format", "terse", "--ignored"]));
    assert_eq!((ignored.code, ignored.stdout.as_str()), (Some(0), ""));
    assert!(bench.runs().is_empty());
}

#[test]
fn a_name_from_the_list_runs_alone_once_and_stores_nothing() {
    let bench = Bench::new("sorting");
    let ran = ProcessEnd::of(&mut bench.bare(&["sort_1::len=1000::stable", "--nocapture", "--exact"]));
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stdout.contains("test sort_1::len=1000::stable ... ok"), "{}", ran.all());
    assert!(!ran.stdout.contains("unstable"), "{}", ran.all());
    assert!(bench.runs().is_empty());
}

#[test]
fn nextest_itself_lists_and_runs_the_cases_where_it_is_installed() {
    if !needs::nextest() {
        return;
    }
    let ran = ProcessEnd::of(&mut cargo(&[
        "nextest",
        "run",
        "--benches",
        "--cargo-profile",
        "bench", // which the other tests have built
        "-E",
        "binary(sorting)",
    ]));
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stderr.contains("5 tests run: 5 passed"), "{}", ran.all());
}
