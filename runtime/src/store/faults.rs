//! What bad disks, killed writers, strangers and curious hands do to the store, and what it does about it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::fixtures::{FailingDisk, StoreFault, case, case_id, manifest, repeat, run};
use super::*;
use crate::compare::History;
use crate::record::{Baseline, Process, RunId, RunManifest, RunRecord, RunStatus, SCHEMA};

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn runs(home: &tempfile::TempDir) -> Runs {
    Runs::new(Layout::new(home.path()))
}

fn failing(home: &tempfile::TempDir, fault: StoreFault) -> (Arc<FailingDisk>, Runs) {
    let files = Arc::new(FailingDisk::new(fault));
    (files.clone(), Runs::on(files, Layout::new(home.path())))
}

/// Writes a run as the harness does: the journal first, the cases after it, the manifest's end last.
fn write(runs: &Runs, run: &RunRecord) -> Result<(), StoreError> {
    runs.create(&RunManifest { status: RunStatus::Running, ..run.manifest.clone() })?;
    for case in &run.cases {
        for repeat in &case.repeats {
            runs.journal(&run.manifest.id, &case.id, repeat)?;
        }
        runs.write_case(&run.manifest.id, case)?;
    }
    runs.write_manifest(&run.manifest)
}

fn spoil(path: &Path, with: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).expect("a file of text");
    fs::write(path, with(text)).expect("writable");
}

#[test]
fn a_run_comes_back_as_it_was_written() {
    let (home, run) = (home(), run(1_000, 3));
    let runs = runs(&home);
    write(&runs, &run).expect("a good disk");
    assert_eq!(runs.load_whole(&run.manifest.id).expect("just written"), run);

    let judged = runs.load(&run.manifest.id).expect("just written");
    assert!(judged.cases.iter().all(|case| case.repeats.is_empty()));
    assert_eq!(judged.cases[1], run.cases[1].summary());
    assert_eq!(runs.repeats(&run.manifest.id, &case_id(1)).expect("journalled"), run.cases[1].repeats);
    assert_eq!(runs.latest("toy/suite").expect("listed"), Some(run.manifest));
    assert_eq!(runs.latest("toy/other").expect("listed"), None);
}

#[test]
fn a_full_disk_is_a_clear_error_and_leaves_nothing_half_written() {
    let run = run(1_000, 2);
    let mut failed = 0;
    for at in 0.. {
        let home = home();
        let (files, runs) = failing(&home, StoreFault::Full(at));
        match write(&runs, &run) {
            Ok(()) => break,
            Err(error) => {
                failed += 1;
                let said = error.to_string();
                assert!(said.contains("failed to") && said.contains("free some space"), "{at}: {said}");
                assert!(said.contains(&home.path().display().to_string()), "{at}: {said}");
                assert!(files.changes() > at);
            }
        }
        is_whole_as_far_as_it_goes(&home, &run, true);
    }
    assert!(failed > 13, "every write of the run was met: {failed}");
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_half_written() {
    let run = run(1_000, 2);
    for at in 0.. {
        let home = home();
        let (_, runs) = failing(&home, StoreFault::Killed(at));
        if write(&runs, &run).is_ok() {
            assert!(at >= 25, "every change of the run was met: {at}");
            break;
        }
        is_whole_as_far_as_it_goes(&home, &run, false);
    }
}

/// Asserts that all that can be seen is whole and true, by a sound disk.
fn is_whole_as_far_as_it_goes(home: &tempfile::TempDir, written: &RunRecord, tidy: bool) {
    let runs = runs(home);
    let listing = runs.list().expect("a readable disk");
    assert_eq!(listing.broken, [], "nothing half-written is visible");
    let Some(seen) = listing.runs.first() else { return };
    let whole = runs.load_whole(&seen.id).expect("all that is visible is whole");
    for case in &whole.cases {
        let same = written.cases.iter().find(|same| same.id == case.id).expect("a case of the run");
        assert_eq!(case, same);
    }
    assert_eq!(seen.status == RunStatus::Complete, whole == *written);

    let leftovers = |now| runs.prune(PrunePolicy::default(), now).expect("a writable disk").leftovers;
    let now = SystemTime::now();
    assert_eq!(leftovers(now), 0, "a young temporary file may belong to a living writer");
    let swept = leftovers(now + Duration::from_hours(2));
    assert!(swept <= 1 && !(tidy && swept > 0), "{swept} leftovers");
    assert_eq!(leftovers(now + Duration::from_hours(2)), 0);
    assert_eq!(runs.load_whole(&seen.id).expect("untouched"), whole);
}

#[test]
fn a_torn_temporary_file_is_ignored_and_pruned() {
    let (home, run) = (home(), run(1_000, 1));
    let runs = runs(&home);
    write(&runs, &run).expect("a good disk");
    let id = &run.manifest.id;
    let torn = runs.layout().repeats(id).join(".pc_1@depth=0@reference.9.json.0123456789abcdef.tmp");
    fs::write(&torn, "{\"schema\": 3, \"ki").expect("writable");
    assert_eq!(runs.load_whole(id).expect("the torn file is no repeat"), run);

    let later = SystemTime::now() + Duration::from_hours(2);
    assert_eq!(runs.prune(PrunePolicy::default(), later).expect("writable").leftovers, 1);
    assert!(!torn.exists());
}

#[test]
fn a_read_only_directory_is_a_clear_error_and_can_still_be_read() {
    let (home, run) = (home(), run(1_000, 1));
    write(&runs(&home), &run).expect("a good disk");
    let (_, runs) = failing(&home, StoreFault::ReadOnly);
    assert_eq!(runs.load_whole(&run.manifest.id).expect("reading is allowed"), run);
    for said in [
        runs.create(&manifest(2_000, 1)).expect_err("read-only").to_string(),
        runs.journal(&run.manifest.id, &case_id(0), &repeat(9, 1)).expect_err("read-only").to_string(),
        runs.remove(&run.manifest.id).expect_err("read-only").to_string(),
    ] {
        assert!(said.contains("name a directory that can be written with `--data`"), "{said}");
    }
}

#[test]
fn two_runs_that_write_at_once_do_each_other_no_harm() {
    let home = home();
    let (one, other) = (run(1_000, 2), run(1_001, 2));
    let both = [runs(&home), runs(&home)];
    for (runs, run) in both.iter().zip([&one, &other]) {
        runs.create(&RunManifest { status: RunStatus::Running, ..run.manifest.clone() }).expect("created");
    }
    for at in 0..2 {
        for number in 0..3 {
            for (runs, run) in both.iter().zip([&one, &other]) {
                let case = &run.cases[at];
                runs.journal(&run.manifest.id, &case.id, &case.repeats[number]).expect("journalled");
                let seen = both[0].list().expect("listed");
                assert!(seen.broken.is_empty() && seen.runs.len() == 2);
                let later = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000);
                let keep = PrunePolicy { newest: Some(0), within: None };
                assert_eq!(both[1].prune(keep, later).expect("pruned").runs, [], "both may still run");
            }
        }
        for (runs, run) in both.iter().zip([&one, &other]) {
            runs.write_case(&run.manifest.id, &run.cases[at]).expect("written");
        }
    }
    for (runs, run) in both.iter().zip([&one, &other]) {
        runs.write_manifest(&run.manifest).expect("written");
        assert_eq!(runs.load_whole(&run.manifest.id).expect("whole"), *run);
    }
}

#[test]
fn two_runs_of_one_name_are_refused() {
    let (home, first) = (home(), run(1_000, 1));
    let runs = runs(&home);
    write(&runs, &first).expect("a good disk");
    let error = runs.create(&first.manifest).expect_err("the name is taken");
    assert!(matches!(&error, StoreError::RunExists(id) if *id == first.manifest.id), "{error}");
    assert_eq!(runs.load_whole(&first.manifest.id).expect("untouched"), first);
    assert_eq!(fs::read_dir(runs.layout().runs()).expect("listed").count(), 1, "nothing is left behind");
}

/// Applies an edit to a file, and makes its digest fit whatever it says then.
fn fitting(with: impl FnOnce(String) -> String) -> impl FnOnce(String) -> String {
    |text| crate::record::fitting(&with(text))
}

/// Returns the error of reading a run after one of its files was spoilt.
fn said_of(
    path: impl FnOnce(&Layout, &RunId) -> std::path::PathBuf,
    with: impl FnOnce(String) -> String,
) -> String {
    let (home, run) = (home(), run(1_000, 2));
    let runs = runs(&home);
    write(&runs, &run).expect("a good disk");
    let path = path(runs.layout(), &run.manifest.id);
    spoil(&path, with);
    let said = runs.load_whole(&run.manifest.id).expect_err("spoilt").to_string();
    assert!(said.contains(&path.display().to_string()), "the file is named: {said}");
    said
}

#[test]
fn a_spoilt_file_is_named_with_what_is_the_matter() {
    let case = |layout: &Layout, run: &RunId| layout.case(run, &case_id(1));
    let journal = |layout: &Layout, run: &RunId| layout.repeat(run, &case_id(1), 2);
    let run_json = |layout: &Layout, run: &RunId| layout.manifest(run);

    let said = said_of(case, |text| text[..text.len() / 2].to_owned());
    assert!(said.contains("truncated or was edited by hand") && said.contains("line 1 column"), "{said}");
    let said = said_of(journal, |text| text[..text.len() / 2].to_owned());
    assert!(said.contains("truncated or was edited by hand"), "{said}");
    let said = said_of(run_json, |_| String::new());
    assert!(said.contains("truncated or was edited by hand"), "{said}");

    for spoilt in [case, journal, run_json] {
        let said = said_of(spoilt, |text| text.replace(&format!("\"schema\":{SCHEMA}"), "\"schema\":99"));
        assert!(said.contains("schema 99") && said.contains(&format!("reads schema {SCHEMA}: ")), "{said}");
    }
    let said = said_of(case, |text| text.replace("\"kind\":\"case\"", "\"kind\":\"baseline\""));
    assert!(said.contains("holds a `baseline` where a `case` belongs"), "{said}");
    let said =
        said_of(journal, fitting(|text| text.replace("\"samples\":[1000002", "\"samples\":[-1000002")));
    assert!(said.contains("samples: 1: expected a whole number of at least 0, found -1000002"), "{said}");
    let said = said_of(case, |text| text.replace("\"value\":0.0012", "\"value\":NaN"));
    assert!(said.contains("line 1 column"), "{said}");
    let said = said_of(case, fitting(|text| text.replace("\"value\":0.0012", "\"value\":-0.0012")));
    assert!(said.contains("metric `wall_time` is -0.0012, which is below zero"), "{said}");
    let said = said_of(case, fitting(|text| text.replacen("\"value\":0.0011", "\"value\":0.0002", 1)));
    assert!(said.contains("`wall_time` has an estimate (0.0011) that is not of its values"), "{said}");
    let said = said_of(case, fitting(|text| text.replace("\"metric_3\"", "\"wall_time\"")));
    assert!(said.contains("metric `wall_time` is there twice"), "{said}");
    let said = said_of(run_json, fitting(|text| text.replacen("requested_platform", "requested", 1)));
    assert!(said.contains("missing field `requested_platform`"), "{said}");
    let said = said_of(run_json, fitting(|text| text.replacen("active_backend", "backend", 1)));
    assert!(said.contains("missing field `active_backend`"), "{said}");
}

#[test]
fn no_digit_of_a_stored_file_can_be_changed_unseen() {
    let (home, run) = (home(), run(1_000, 1));
    let runs = runs(&home);
    write(&runs, &run).expect("a good disk");
    let name = "main".parse().expect("a name");
    let baselines = Baselines::new(runs.layout().clone());
    let baseline = baselines.set(&name, &run).expect("promoted").path;
    let id = &run.manifest.id;
    let machine = run.manifest.environment.machine_id();
    let files = [
        runs.layout().manifest(id),
        runs.layout().case(id, &case_id(0)),
        runs.layout().repeat(id, &case_id(0), 2),
        baseline,
    ];
    for path in files {
        let text = fs::read_to_string(&path).expect("written");
        for at in (0..text.len()).filter(|at| text.as_bytes()[*at].is_ascii_digit()) {
            let other = if &text[at..=at] == "7" { "3" } else { "7" };
            fs::write(&path, format!("{}{other}{}", &text[..at], &text[at + 1..])).expect("writable");
            let seen = runs.load_whole(id).is_err() || baselines.find(&machine, "toy/suite", &name).is_err();
            assert!(seen, "digit {at} of {}", path.display());
        }
        fs::write(&path, text).expect("writable");
    }
    runs.load_whole(id).expect("as it was");
}

#[test]
fn processes_that_do_not_follow_from_their_samples_are_refused() {
    let (home, mut run) = (home(), run(1_000, 1));
    let runs = runs(&home);
    run.cases[0].processes = vec![Process { iterations: 5, ..Process::default() }; 3];
    write(&runs, &run).expect("a good disk");
    runs.load_whole(&run.manifest.id).expect("five samples each");
    let path = runs.layout().case(&run.manifest.id, &case_id(0));
    spoil(&path, fitting(|text| text.replacen("\"iterations\":[5,5,5]", "\"iterations\":[5,5,6]", 1)));
    let said = runs.load_whole(&run.manifest.id).expect_err("an edit").to_string();
    assert!(said.contains("do not follow from the samples"), "{said}");
}

#[test]
fn a_pipe_in_a_records_place_is_named_and_not_waited_for() {
    let (home, run) = (home(), run(1_000, 1));
    let runs = runs(&home);
    write(&runs, &run).expect("a good disk");
    let path = runs.layout().manifest(&run.manifest.id);
    fs::remove_file(&path).expect("writable");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let said = runs.load(&run.manifest.id).expect_err("a pipe").to_string();
    assert!(said.contains("run.json") && said.contains("it is no file"), "{said}");
    assert_eq!(runs.list().expect("listed").broken.len(), 1);
}

#[test]
fn a_file_in_another_files_place_is_seen() {
    let case = |layout: &Layout, run: &RunId| layout.case(run, &case_id(1));
    let said = said_of(case, fitting(|text| text.replacen("\"text\":\"1\"", "\"text\":\"0\"", 1)));
    assert!(said.contains("case PC-1/depth=0/Reference where case PC-1/depth=1/Reference belongs"), "{said}");
    let journal = |layout: &Layout, run: &RunId| layout.repeat(run, &case_id(1), 2);
    let said = said_of(journal, fitting(|text| text.replacen("\"number\":2", "\"number\":3", 1)));
    assert!(said.contains("repeat 3 of PC-1/depth=1/Reference"), "{said}");
    let run_json = |layout: &Layout, run: &RunId| layout.manifest(run);
    let said = said_of(run_json, fitting(|text| text.replace("19700101-001640", "19700101-001641")));
    assert!(said.contains("was it renamed or copied by hand?"), "{said}");
}

#[test]
fn no_path_in_a_file_is_followed() {
    let run_json = |layout: &Layout, run: &RunId| layout.manifest(run);
    let said = said_of(run_json, fitting(|text| text.replace("19700101-001640-000007", "../../../etc")));
    assert!(said.contains("`../../../etc` is no run id"), "{said}");
    let (home, mut run) = (home(), run(1_000, 1));
    let runs = runs(&home);
    run.manifest.planned.cases[0].scenario = "../../../etc/passwd".into();
    run.manifest.suite = "../..".into();
    run.cases[0].id = run.manifest.planned.cases[0].clone();
    write(&runs, &run).expect("a harmless name is made of it");
    assert_eq!(runs.load_whole(&run.manifest.id).expect("written"), run);
    let name = "main".parse().expect("a name");
    let stored = Baselines::new(runs.layout().clone()).set(&name, &run).expect("promoted");
    let inside = stored.path.canonicalize().expect("it is there");
    assert!(inside.starts_with(home.path().canonicalize().expect("it is there")), "{}", inside.display());
}

#[test]
fn a_case_that_is_gone_from_a_run_that_came_to_its_end_is_named_and_not_passed_over() {
    let home = home();
    let (runs, mut run) = (runs(&home), run(1_000, 1));
    write(&runs, &run).expect("a good disk");
    let gone = runs.layout().case(&run.manifest.id, &run.cases[0].id);
    fs::remove_file(&gone).expect("it is there");
    let said = runs.load(&run.manifest.id).expect_err("it is gone").to_string();
    assert!(said.contains("is damaged") && said.contains("the record of PC-1"), "{said}");
    // A reference that nobody selected is verified and has no record.
    run.manifest.planned.only_verified = vec![run.cases[0].id.clone()];
    runs.write_manifest(&run.manifest).expect("a good disk");
    assert_eq!(runs.load(&run.manifest.id).expect("nothing is gone").cases.len(), run.cases.len() - 1);
    run.manifest.planned.only_verified.clear();
    // Of one that was broken off the rest was never written.
    run.manifest.status = RunStatus::Interrupted;
    runs.write_manifest(&run.manifest).expect("a good disk");
    assert_eq!(runs.load(&run.manifest.id).expect("it can be read").cases.len(), run.cases.len() - 1);
}

#[test]
fn a_broken_run_is_listed_apart_and_hides_no_other() {
    let home = home();
    let runs = runs(&home);
    let (old, new) = (run(1_000, 1), run(2_000, 1));
    write(&runs, &old).expect("a good disk");
    write(&runs, &new).expect("a good disk");
    spoil(&runs.layout().manifest(&new.manifest.id), |text| text[..9].to_owned());
    fs::create_dir(runs.layout().runs().join("holiday")).expect("writable");
    let listing = runs.list().expect("readable");
    assert_eq!(listing.runs, [old.manifest]);
    let names: Vec<&str> = listing.broken.iter().map(|broken| broken.name.as_str()).collect();
    assert_eq!(names, ["holiday", new.manifest.id.as_str()]);
    assert!(listing.broken[0].why.contains("no run id") && listing.broken[1].why.contains("truncated"));
}

#[test]
fn the_newest_runs_are_found_without_a_look_at_an_older_manifest() {
    let home = home();
    let runs = runs(&home);
    let all = [1_000, 2_000, 3_000].map(|second| run(second, 1));
    for run in &all {
        write(&runs, run).expect("a good disk");
    }
    spoil(&runs.layout().manifest(&all[0].manifest.id), |text| text[..9].to_owned());
    let (newest, count) = runs.newest(2).expect("readable");
    assert_eq!(newest.runs, [all[2].manifest.clone(), all[1].manifest.clone()]);
    assert_eq!((newest.broken, count), (Vec::new(), 3));
    assert_eq!(runs.latest("toy/suite").expect("readable"), Some(all[2].manifest.clone()));
}

#[test]
fn a_run_that_is_not_there_is_told_with_the_command_that_lists_them() {
    let said = runs(&home()).load(&RunId::new(5, 5)).expect_err("no such run").to_string();
    assert!(said.contains("no run `19700101-000005-000005`") && said.contains("runs list"), "{said}");
    assert!(runs(&home()).list().expect("none is no error").runs.is_empty());
}

#[test]
fn pruning_keeps_the_newest_of_each_suite_and_the_recent() {
    let home = home();
    let runs = runs(&home);
    let all: Vec<RunRecord> = [1_000, 2_000, 3_000, 4_000].map(|second| run(second, 1)).into();
    for (at, run) in all.iter().enumerate() {
        let suite = if at == 0 { "toy/other".to_owned() } else { "toy/suite".to_owned() };
        let manifest = RunManifest { suite, ..run.manifest.clone() };
        write(&runs, &RunRecord { manifest, cases: run.cases.clone() }).expect("a good disk");
    }
    let id = |at: usize| all[at].manifest.id.clone();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000);
    let prune = |newest, within| {
        let keep = PrunePolicy { newest, within: Option::map(within, Duration::from_secs) };
        runs.prune(keep, now).expect("writable").runs
    };
    assert_eq!(prune(None, None), []);
    assert_eq!(prune(Some(2), None), [id(1)], "the other suite has only one");
    assert_eq!(prune(None, Some(2_500)), [id(0)]);
    assert_eq!(runs.list().expect("readable").runs.len(), 2);
}

#[test]
fn history_is_of_complete_runs_like_the_baseline() {
    let home = home();
    let runs = runs(&home);
    let records: Vec<RunRecord> =
        [(1_000, 3.0), (2_000, 2.0), (3_000, 1.0), (4_000, 9.0), (5_000, 8.0), (6_000, 7.0)]
            .into_iter()
            .map(|(second, value)| {
                let mut run = run(second, 1);
                run.cases[0] = case(case_id(0), &[value], 1);
                match second {
                    4_000 => run.manifest.status = RunStatus::Interrupted,
                    5_000 => run.manifest.environment.machine.clear(),
                    _ => {}
                }
                write(&runs, &run).expect("a good disk");
                run
            })
            .collect();
    let baseline = Baseline::promote("main", &records[0]);
    let candidate = &records[5].manifest.id;
    let expected = |of: &[RunRecord]| History::gather(&baseline, candidate, of);
    assert_eq!(runs.history(&baseline, candidate, 9).expect("readable"), expected(&records[..3]));
    assert_eq!(runs.history(&baseline, candidate, 2).expect("readable"), expected(&records[1..3]));

    spoil(&runs.layout().case(&records[1].manifest.id, &case_id(0)), |_| String::new());
    let rest = [records[0].clone(), records[2].clone()];
    assert_eq!(runs.history(&baseline, candidate, 9).expect("readable"), expected(&rest));

    // The run that was promoted is in the baseline: its cases are not read again.
    spoil(&runs.layout().case(&records[0].manifest.id, &case_id(0)), |_| String::new());
    assert_eq!(runs.history(&baseline, candidate, 9).expect("readable"), expected(&rest));
}

#[test]
fn a_run_that_lost_a_file_is_damaged_and_says_what_it_lost() {
    let (home, mut run) = (home(), run(1_000, 2));
    run.manifest.journalled = Some(6);
    let (runs, id) = (runs(&home), run.manifest.id.clone());
    write(&runs, &run).expect("a good disk");
    assert_eq!(runs.manifest(&id).expect("readable").status, RunStatus::Complete);
    let lost = [runs.layout().case(&id, &case_id(1)), runs.layout().repeat(&id, &case_id(0), 2)];
    for (path, told) in lost.iter().zip(["the record of PC-1", "it lacks 2"]) {
        let was = fs::read(path).expect("it is there");
        fs::remove_file(path).expect("writable");
        let listed = runs.list().expect("readable").runs;
        assert_eq!(listed[0].status, RunStatus::Damaged);
        assert_eq!(runs.latest("toy/suite").expect("readable"), None);
        for said in [runs.load(&id), runs.load_whole(&id)] {
            let said = said.expect_err("a file is gone").to_string();
            assert!(said.contains(told) && said.contains("--resume"), "{said}");
        }
        fs::write(path, was).expect("writable");
        assert_eq!(runs.load_whole(&id).expect("it is back"), run);
    }
}

#[test]
fn what_stands_in_the_way_of_a_data_directory_is_named() {
    let home = home();
    let (link, file) = (home.path().join("link"), home.path().join("file"));
    std::os::unix::fs::symlink("/nowhere/at/all", &link).expect("writable");
    fs::write(&file, "in the way").expect("writable");
    let refused = |data: std::path::PathBuf| {
        let runs = Runs::new(Layout::new(data));
        runs.create(&manifest(1_000, 1)).expect_err("it cannot be made").to_string()
    };
    for data in [link.clone(), link.join("below")] {
        let said = refused(data);
        assert!(said.contains("is a link to `/nowhere/at/all`, which is not there: make that"), "{said}");
        assert!(said.contains("--data"), "{said}");
    }
    for data in [file.clone(), file.join("below")] {
        let said = refused(data);
        assert!(said.contains("file` is no folder: remove it"), "{said}");
    }
}
