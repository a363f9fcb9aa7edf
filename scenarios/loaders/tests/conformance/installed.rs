//! What a user has installed changes nothing here.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use weighbridge_python::{Installation, PEERS};

/// One test that runs all loaders and one that runs all learners.
const SOME: [&str; 2] =
    ["the_work_report_says_what_was_executed", "learners::a_gradient_is_there_when_somebody_went_back"];

#[test]
fn what_a_user_has_installed_changes_no_result() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join("weighbridge/peers");
    for peer in PEERS {
        let python = peer.python(&home);
        fs::create_dir_all(python.parent().unwrap()).unwrap();
        // It looks installed, and breaks whatever is asked of it.
        fs::write(&python, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        if peer.environment == peer.short {
            let installed = Installation::new(peer, "1.0".into(), "3.12.1".into(), b"");
            fs::write(peer.installed_file(&home), serde_json::to_string(&installed).unwrap()).unwrap();
        }
        // A package in the environment of another has its version there.
        let package = format!("{}-1.0.dist-info", peer.package.replace('-', "_"));
        let packages = peer.folder(&home).join("venv/lib/python3.12/site-packages");
        fs::create_dir_all(packages.join(package)).unwrap();
        assert_eq!(peer.missing(&home), None, "{}", peer.name);
    }
    // Among the user's data, and where a variable says.
    for (variable, value) in [("XDG_DATA_HOME", place.path()), ("WEIGHBRIDGE_PEERS", &home)] {
        let mut ourselves = Command::new(std::env::current_exe().unwrap());
        ourselves.args(SOME).arg("--exact").env_remove("WEIGHBRIDGE_PEERS").env(variable, value);
        let ran = ourselves.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains(" 2 passed; 0 failed;"), "{variable}: {said}");
    }
}
