//! `launch --engine ray` on a Ray cluster of this machine.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::{LaunchEnded, SHORT, bench_of, script, xtask};

/// Starts a cluster that is this process's own, and then what follows.
const SCRIPT: &str = r#"
ray start --head --num-cpus=3 --port="$1" --dashboard-port="$2" --temp-dir="$3" > "$3.log" 2>&1 || exit 99
export RAY_ADDRESS="http://127.0.0.1:$2"
shift 3
"$@"
"#;

/// A port that nobody listens on at this moment.
fn port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

#[test]
fn tasks_of_ray_are_ranks_and_one_that_fails_fails_the_launch() {
    if !needs::ray() {
        return;
    }
    // Sockets of Ray have names of a hundred letters at most.
    let folder = tempfile::Builder::new().prefix("r").tempdir_in("/tmp").unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (shared, env) = (at("shared"), bench_of("true"));
    fs::create_dir_all(folder.path().join("data/runs")).unwrap();
    let launched = |args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SCRIPT, "ray"]);
        command.args([port(), port(), at("ray")]);
        command.args([xtask(), "launch", "--engine", "ray", "-N", "1", "-n", "2", "--heartbeat", "1"]);
        command.args(["--shared", &shared, "--data", &at("data")]).args(args);
        command.env("RAY_USAGE_STATS_ENABLED", "0").current_dir(folder.path()).stdin(Stdio::null());
        LaunchEnded::of(command.output().unwrap(), folder.path().join("shared").as_path())
    };
    let well = launched(&[&["--program", xtask(), "--env", &env][..], &SHORT].concat());
    assert_eq!(well.code, Some(0), "{}", well.said);
    well.says(&["full: ok, 2 ranks", "rank 1 on ", "the engine calls it weighbridge-"]);
    let program = script(folder.path(), "test $WEIGHBRIDGE_RANK = 1 && exit 7; exit 0");
    let badly = launched(&["--program", program.to_str().unwrap()]);
    assert_eq!(badly.code, Some(6), "{}", badly.said);
    badly.says(&["full: rank 1 on ", "exit code 7"]);
}
