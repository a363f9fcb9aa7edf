//! What servers promise, and what becomes of those that do not keep it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use weighbridge::{Bencher, Budget, Purpose, RepeatResult, Result, Settings};
use weighbridge_load::Api;

use super::serve;
use super::server_liars::{LyingServer, ServerLie};
use crate::adapters::native::{NdarrayServer, ReferenceServer};
use crate::contract::{Patience, Serve, Server, ServerProcess, StartedServer, free_port};
use crate::workload::{NamedModel, OfferedLoad, ServingSpec};

const USERS: OfferedLoad = OfferedLoad::Users(2);

/// Patience with a busy machine: what is tested here is not how fast it is.
const PATIENCE: Patience =
    Patience { ready: Duration::from_mins(2), stop: Duration::from_mins(1), delay: Duration::from_hours(1) };

/// A bencher with a folder of its own: tests run side by side in one process.
fn bencher(purpose: Purpose, folder: &Path) -> Bencher {
    let budget = Budget { warmup: 1, batches: 30, min_time: Duration::from_nanos(1), max_time: None };
    let budget = if purpose == Purpose::Smoke { Budget::SMOKE } else { budget };
    Bencher::new(Settings { scratch: folder.join("scratch"), ..Settings::new(purpose, budget) })
}

/// The scenario with a machine that may be busy.
fn served_with(server: &mut dyn Server, spec: &ServingSpec, patience: Patience) -> Result<RepeatResult> {
    let folder = tempfile::tempdir()?;
    let bencher = bencher(Purpose::Measure, folder.path());
    super::serve1_servers::prove(&bencher, spec, bencher.serve_with(server, spec, patience)?)?;
    bencher.finish()
}

fn served(server: &mut dyn Server, spec: &ServingSpec) -> Result<RepeatResult> {
    served_with(server, spec, PATIENCE)
}

fn text() -> ServingSpec {
    ServingSpec::new(NamedModel::TextForTests, USERS)
}

fn refusal(lie: ServerLie) -> String {
    served(&mut LyingServer(lie), &text()).unwrap_err().to_string()
}

#[test]
fn servers_by_hand_answer_as_the_reference_does_with_texts_and_with_logits() {
    for load in [USERS, OfferedLoad::Rate(40.0)] {
        for model in [NamedModel::TextForTests, NamedModel::ForTests, NamedModel::Mlp] {
            let spec = ServingSpec::new(model, load);
            let servers: [Box<dyn Server>; 2] = [Box::new(ReferenceServer), Box::new(NdarrayServer)];
            for mut server in servers {
                let done = served(&mut *server, &spec).unwrap();
                let content = done.work.expect("it tells its work").content;
                assert_eq!(content.elements, 1, "an answer is handed in");
                let names: Vec<&str> = done.seen.custom.iter().map(|metric| metric.name.as_str()).collect();
                for due in ["answer_p50", "answer_rate", "ready_after", "stopped_after"] {
                    assert!(names.contains(&due), "{spec:?}: {names:?}");
                }
                assert_eq!(names.contains(&"ttft_p50"), spec.tokens().is_some(), "{names:?}");
                assert_eq!(names[0], "answer_p50", "it stands for the case");
            }
        }
    }
}

#[test]
fn answers_of_another_request_or_of_a_part_of_the_work_are_refused_and_an_honest_twin_is_not() {
    served(&mut LyingServer(ServerLie::Honest), &text()).unwrap();
    for lie in [ServerLie::TellsTheLastAnswer, ServerLie::RepeatsTheFirst] {
        let said = refusal(lie);
        assert!(said.contains("of those that were timed is not the reference's"), "{lie:?}: {said}");
    }
}

#[test]
fn a_server_that_remembers_prompts_is_found_by_asking_them_again() {
    let said = refusal(ServerLie::Remembers);
    assert!(said.contains("INVALID") && said.contains("answers repeated prompts faster"), "{said}");
}

#[test]
fn answers_that_are_cut_are_refused_with_their_number() {
    let said = refusal(ServerLie::Breaks);
    assert!(said.contains("INVALID") && said.contains("no [DONE]"), "{said}");
}

#[test]
fn a_server_that_dies_never_takes_requests_does_not_stop_or_is_elsewhere_says_so() {
    assert!(refusal(ServerLie::Dies).contains("the server died: exit code 3"));
    assert!(refusal(ServerLie::DoesNotStop).contains("did not stop within"));
    assert!(refusal(ServerLie::IsElsewhere).contains("192.0.2.1:1, which is no address of this machine"));
    let patience = Patience { ready: Duration::from_millis(50), ..PATIENCE };
    let said = served_with(&mut LyingServer(ServerLie::NeverReady), &text(), patience).unwrap_err();
    assert!(said.to_string().contains("took no requests within 50ms"), "{said}");
}

#[test]
fn a_smoke_run_asks_a_few_times_and_proves_it_all_the_same() {
    let smoke = |lie| {
        let folder = tempfile::tempdir().unwrap();
        serve(&bencher(Purpose::Smoke, folder.path()), &mut LyingServer(lie), &text())
    };
    smoke(ServerLie::Honest).unwrap();
    let said = smoke(ServerLie::RepeatsTheFirst).unwrap_err().to_string();
    assert!(said.contains("is not the reference's"), "{said}");
}

/// A server that is a script of the shell.
fn script(text: &str) -> ServerProcess {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    ServerProcess::start(command, free_port().unwrap(), Api::Completions, "/v1/completions", "/ready")
        .unwrap()
}

/// Waits until a file has been written by a script.
fn written(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => assert!(begun.elapsed() < Duration::from_mins(2), "{} was never written", path.display()),
        }
        std::thread::yield_now();
    }
}

fn is_there(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state stands behind the name, which is in brackets. What is dead and not yet waited for is gone.
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

/// A folder, and a script in it that starts something, notes its number, and goes on.
fn starts_another(then: &str) -> (tempfile::TempDir, PathBuf, String) {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("started");
    let text = format!("sleep 1000 & echo $! > '{}'; {then}", note.display());
    (folder, note, text)
}

#[test]
fn a_program_that_dies_says_how_with_its_last_words() {
    let mut server = script("echo 'loading' ; echo 'no model here' >&2; exit 3");
    let why = std::iter::repeat_with(|| server.look()).find_map(Result::err).unwrap().to_string();
    // Its words come by a pipe, and its end does not: they may be a moment late.
    assert!(why.starts_with("the server died: exit code 3"), "{why}");
    let begun = Instant::now();
    while !server.look().unwrap_err().to_string().ends_with("its last words: no model here") {
        assert!(begun.elapsed() < Duration::from_mins(2), "its words never came");
        std::thread::yield_now();
    }
}

#[test]
fn a_program_that_is_dropped_leaves_nothing_that_it_has_started() {
    let (_folder, note, text) = starts_another("wait");
    let server = script(&text);
    let started = written(&note);
    assert!(is_there(&started));
    drop(server);
    assert!(!is_there(&started), "{started} is left");
}

#[test]
fn a_program_that_stops_when_it_is_asked_to_has_stopped_and_one_that_does_not_is_killed_and_told() {
    let (_folder, note, text) = starts_another("trap 'kill $!; exit 0' TERM; wait");
    let mut polite = script(&text);
    written(&note);
    polite.stop(Duration::from_mins(2)).unwrap();
    let (_folder, note, text) = starts_another("trap '' TERM; while true; do wait; done");
    let mut stubborn = script(&format!("trap '' TERM; {text}"));
    let started = written(&note);
    let why = stubborn.stop(Duration::from_millis(50)).unwrap_err().to_string();
    assert!(why.contains("did not stop within 50ms") && why.contains("it was killed"), "{why}");
    assert!(!is_there(&started), "{started} is left");
    let (_folder, note, text) = starts_another("trap 'exit 0' TERM; wait");
    let mut careless = script(&format!("(trap '' TERM; {text}) & wait"));
    written(&note);
    let why = careless.stop(Duration::from_millis(50)).unwrap_err().to_string();
    assert!(why.contains("left processes behind"), "{why}");
}

#[test]
fn a_server_that_other_machines_reach_is_refused() {
    let listener = std::net::TcpListener::bind(("0.0.0.0", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let answers = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.read(&mut [0; 1 << 10]).unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        listener
    });
    let mut command = Command::new("sleep");
    command.arg("1000");
    let mut server = ServerProcess::start(command, port, Api::Chat, "", "/ready").unwrap();
    let why = server.look().unwrap_err().to_string();
    assert!(why.contains("where other machines reach it"), "{why}");
    drop(answers.join());
}
