//! What pages say of the catalogue: its scenarios, its sets, and what is planned of them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::commands::{FAMILIES, program};
use crate::external::{Bench, ProcessEnd, catalogue, clean, root};

/// The suite of this workspace with these arguments, planning alone.
fn suite(args: &[&str]) -> ProcessEnd {
    let ran = start(args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.all());
    ran
}

/// The same, however it ends.
fn start(args: &[&str]) -> ProcessEnd {
    start_of("suite", args)
}

/// The same of a family.
fn start_of(family: &str, args: &[&str]) -> ProcessEnd {
    let mut command = Command::new(program(family));
    command.args(args).args(["--bench", "--dry-run"]).current_dir(root()).stdin(Stdio::null());
    clean(&mut command);
    ProcessEnd::of(&mut command)
}

#[test]
fn the_listing_has_every_scenario_with_its_description_and_axes() {
    let listing = suite(&["--list"]).stdout;
    let ids = [
        "AUG-1", "AUG-2", "AUG-3", "CV-1", "CV-2", "CV-3", "CV-4", "DIST-1", "DIST-2", "HCV-1", "HCV-2",
        "HDIST-1", "HMM-1", "HNLP-1", "HNLP-2", "HPC-1", "HPC-2", "HTAB-1", "IO-1", "IO-2", "IO-3", "IO-4",
        "MM-1", "MM-2", "NLP-1", "NLP-2", "NNX-1", "PC-1", "PC-2", "PC-3", "PC-4", "PC-5", "PR-1", "PR-2",
        "TAB-1", "TAB-2", "XFMR-1",
    ];
    assert_eq!(ids.len(), 37);
    for id in ids {
        let line = listing.lines().find(|line| line.trim_start().starts_with(id));
        let words = line.unwrap_or_else(|| panic!("{id} is missing: {listing}")).split_whitespace().count();
        assert!(words > 3, "{id} has no description: {listing}");
    }
    assert!(listing.matches("variant: ").count() >= ids.len(), "{listing}");
}

#[test]
fn the_page_of_the_catalogue_is_what_the_suite_lists() {
    let place = tempfile::tempdir().unwrap();
    let listings = FAMILIES.map(|family| {
        let listing = place.path().join(format!("{family}.json"));
        std::fs::write(&listing, start_of(family, &["--list", "--format", "json"]).stdout).unwrap();
        listing.display().to_string()
    });
    let from = listings.iter().flat_map(|listing| ["--from", listing.as_str()]);
    let bench = Bench::new("sorting");
    let ran = catalogue(&bench, &["scenarios", "--check"].into_iter().chain(from).collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{}", ran.all());
}

#[test]
fn every_framework_of_the_table_is_registered_by_its_exact_name_and_tier() {
    let listings = FAMILIES.map(|family| start_of(family, &["--list", "--format", "json"]).stdout);
    let adapters: Vec<serde_json::Value> = listings
        .iter()
        .map(|listing| serde_json::from_str(listing).expect("it is JSON"))
        .flat_map(|listing: serde_json::Value| listing["adapters"].as_array().expect("some").clone())
        .collect();
    for peer in weighbridge_python::PEERS {
        let found = adapters.iter().find(|adapter| adapter["name"] == peer.name);
        assert_eq!(found.map(|found| &found["tier"]), Some(&peer.tier.into()), "{}", peer.name);
    }
}

#[test]
fn what_a_user_has_installed_is_not_seen_by_the_commands_of_tests() {
    let mut command = Command::new("true");
    clean(&mut command);
    let (_, home) = command.get_envs().find(|(name, _)| *name == "WEIGHBRIDGE_PEERS").expect("it is named");
    let home = Path::new(home.expect("it has a value"));
    assert!(home.is_absolute() && !home.exists(), "{}", home.display());
}

#[test]
fn an_interpreter_that_is_named_is_asked_for_its_frameworks_and_nothing_else_is() {
    let place = tempfile::tempdir().unwrap();
    let python = place.path().join("python");
    std::fs::write(&python, "#!/bin/sh\necho '{\"torch\": \"2.9.1+cu126\"}'\n").unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let listing = FAMILIES
        .map(|family| start_of(family, &["--list", "--python", &python.display().to_string()]).stdout)
        .concat();
    for peer in weighbridge_python::PEERS {
        let lacks = format!("--python {} has no {};", python.display(), peer.package);
        let found = listing.lines().find(|line| line.trim_start().starts_with(&format!("{}  ", peer.name)));
        assert_eq!(found.is_some_and(|line| line.contains(&lacks)), peer.package != "torch", "{listing}");
    }
    let ran = start(&["--list", "--python", "/nowhere/python"]);
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.all().contains("--python /nowhere/python: there is no such file"), "{}", ran.all());
}

#[test]
fn pc_1_plans_seven_depths_for_each_adapter() {
    let plan = suite(&["PC-1", "--param", "variant=all"]).stdout;
    for depth in [1, 2, 5, 10, 20, 50, 100] {
        for adapter in ["Reference", "Reference (fused)", "rayon"] {
            let case = format!("  PC-1/depth_{depth}/workers=0/{adapter}  ");
            assert_eq!(plan.matches(&case).count(), 1, "{case}: {plan}");
        }
    }
    // What is not installed here is planned as a skip.
    let cases = plan.lines().filter(|line| line.starts_with("  PC-1/")).count();
    assert_eq!(cases, 21, "{plan}");
}

#[test]
fn the_gate_set_and_the_canonical_set_can_be_named() {
    let gate = ["CV-1", "IO-1", "NLP-1", "PC-1", "PR-2", "TAB-1"];
    let more = ["CV-2", "DIST-1", "IO-2", "NLP-2", "PC-2", "PR-1", "TAB-2"];
    for (set, has_more) in [("gate", false), ("canonical", true)] {
        let plan = suite(&["--set", set]).stdout;
        for id in gate {
            assert!(plan.contains(&format!("{id}/")), "{set}: {id}: {plan}");
        }
        for id in more {
            assert_eq!(plan.contains(&format!("{id}/")), has_more, "{set}: {id}: {plan}");
        }
    }
}

#[test]
fn the_header_of_a_run_prints_warm_up_batches_and_repeats() {
    let said = suite(&["--profile", "ci_cpu"]).stderr;
    assert!(said.contains("7 repeats of 20 batches after 3 of warm-up, at least 200ms each"), "{said}");
    let said = suite(&["--repeats", "4", "--warmup", "9"]).stderr;
    assert!(said.contains("4 repeats of 20 batches after 9 of warm-up"), "{said}");
}
