//! Surroundings that are odd or poor: no home, no descriptors, no threads, a terminal that is none.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::lab::{ARGS, FaultTrial, Lab, last};
use super::toll::{Harm, Toll};

/// How a run should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedEnd {
    /// As any other.
    Well,
    /// With an error that says what is missing.
    Refused,
    /// Well, or with an error: that is up to the system.
    Either,
}

/// What is odd about the surroundings.
#[derive(Clone, Copy, Debug)]
enum Odd {
    /// Variables are set.
    Set(&'static [(&'static str, &'static str)]),
    /// Variables are not.
    Unset(&'static [&'static str]),
    /// There is no variable but those that say where things are.
    Bare,
    /// The program is started by this script of the shell, as `"$0" "$@"`.
    Script(&'static str),
    /// The same, by a user that may do nothing, where the storm may choose one.
    Nobody(&'static str),
    /// The same, with mounts of its own.
    Mounts(&'static str),
}

use ExpectedEnd::{Either, Refused, Well};
use Odd::{Bare, Mounts, Nobody, Script, Set, Unset};

/// Each with how a run ends in it.
const SURROUNDINGS: &[(&str, ExpectedEnd, Odd)] = &[
    ("no HOME", Well, Unset(&["HOME"])),
    ("no PATH", Either, Unset(&["PATH"])),
    ("no variables", Either, Bare),
    ("TERM is unset", Well, Unset(&["TERM"])),
    ("TERM=dumb", Well, Set(&[("TERM", "dumb")])),
    ("TERM has an escape", Well, Set(&[("TERM", "\x1b[2J")])),
    ("COLUMNS=0", Well, Set(&[("COLUMNS", "0")])),
    ("COLUMNS=1", Well, Set(&[("COLUMNS", "1"), ("CARGO_TERM_COLOR", "always")])),
    ("COLUMNS is endless", Well, Set(&[("COLUMNS", "18446744073709551616")])),
    ("a Turkish locale", Well, Set(&[("LC_ALL", "tr_TR.UTF-8"), ("LANG", "tr_TR.UTF-8")])),
    ("a locale that is none", Well, Set(&[("LC_ALL", "xx_YY.bogus"), ("LANG", "\u{1f4a9}")])),
    ("a time zone that is none", Well, Set(&[("TZ", "Nowhere/None")])),
    ("RUST_BACKTRACE=full", Well, Set(&[("RUST_BACKTRACE", "full")])),
    ("RUST_MIN_STACK is tiny", Either, Set(&[("RUST_MIN_STACK", "1")])),
    ("temporary files nowhere", Either, Set(&[("TMPDIR", "/nowhere/at/all")])),
    ("CARGO_TARGET_TMPDIR nowhere", Well, Set(&[("CARGO_TARGET_TMPDIR", "/nowhere/at/all")])),
    ("a variable of ours that is none", Either, Set(&[("WEIGHBRIDGE_NOTHING", "x")])),
    ("a variable that is no text", Well, Script("ODD=$(printf '\\377') exec \"$0\" \"$@\"")),
    ("no stdin", Well, Script("exec \"$0\" \"$@\" <&-")),
    ("no stdout", Well, Script("exec \"$0\" \"$@\" >&-")),
    ("no stderr", Well, Script("exec \"$0\" \"$@\" 2>&-")),
    ("no stdin, stdout and stderr", Well, Script("exec \"$0\" \"$@\" <&- >&- 2>&-")),
    ("stdout is full", Either, Script("exec \"$0\" \"$@\" >/dev/full")),
    ("stdout and stderr are full", Either, Script("exec \"$0\" \"$@\" >/dev/full 2>&1")),
    ("nobody reads stdout", Either, Script("\"$0\" \"$@\" | :")),
    ("nobody reads stderr", Either, Script("\"$0\" \"$@\" 2>&1 >/dev/null | :")),
    ("a folder that is gone", Either, Script("mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\"")),
    ("the data directory is a file", Refused, Script("rmdir data; : > data; exec \"$0\" \"$@\"")),
    (
        "the data directory is a link to itself",
        Refused,
        Script("rmdir data; ln -s data data; exec \"$0\" \"$@\""),
    ),
    ("the data directory is not there", Well, Script("rmdir data; exec \"$0\" \"$@\"")),
    ("the data directory is read-only", Refused, Nobody("chmod 555 data; exec \"$0\" \"$@\"")),
    ("the runs are read-only", Refused, Nobody("mkdir data/runs; chmod 555 data/runs; exec \"$0\" \"$@\"")),
    (
        "a pipe for the manifest of an earlier run",
        Well,
        Script(
            "mkdir -p data/runs/19991231T235959Z-000000; mkfifo data/runs/19991231T235959Z-000000/run.json; \
             exec \"$0\" \"$@\"",
        ),
    ),
    ("the index is a folder", Well, Script("mkdir -p data/runs.index/x; exec \"$0\" \"$@\"")),
    ("the runs are a file", Refused, Script(": > data/runs; exec \"$0\" \"$@\"")),
    ("the program is removed meanwhile", Well, Script("cp \"$0\" p; (sleep 0.2; rm -f p) & exec ./p \"$@\"")),
    (
        "another program is put in its place meanwhile",
        Well,
        Script("cp \"$0\" p; (sleep 0.2; cp /bin/sh q; mv q p) & exec ./p \"$@\""),
    ),
    ("no program to be compared with", Refused, Script("exec \"$0\" \"$@\" --versus /nowhere/at/all")),
    ("one processor", Well, Script("exec taskset -c 0 \"$0\" \"$@\"")),
    ("8 descriptors", Either, Script("ulimit -n 8; exec \"$0\" \"$@\"")),
    ("16 descriptors", Either, Script("ulimit -n 16; exec \"$0\" \"$@\"")),
    ("24 descriptors", Either, Script("ulimit -n 24; exec \"$0\" \"$@\"")),
    ("a stack of 256 KiB", Either, Script("ulimit -s 256; exec \"$0\" \"$@\"")),
    ("100 MB of addresses", Either, Script("ulimit -v 100000; exec \"$0\" \"$@\"")),
    ("2 seconds of processor time", Either, Script("ulimit -t 2; exec \"$0\" \"$@\"")),
    ("no core files", Well, Script("ulimit -c 0; exec \"$0\" \"$@\"")),
    ("a mask that denies all", Either, Nobody("umask 777; exec \"$0\" \"$@\"")),
    ("no process", Either, Nobody("exec prlimit --nproc=1 \"$0\" \"$@\"")),
    ("2 processes", Either, Nobody("exec prlimit --nproc=2 \"$0\" \"$@\"")),
    ("3 processes", Either, Nobody("exec prlimit --nproc=3 \"$0\" \"$@\"")),
    ("4 processes", Either, Nobody("exec prlimit --nproc=4 \"$0\" \"$@\"")),
    ("6 processes", Either, Nobody("exec prlimit --nproc=6 \"$0\" \"$@\"")),
    ("8 processes", Either, Nobody("exec prlimit --nproc=8 \"$0\" \"$@\"")),
    ("no /dev/shm", Well, Mounts("umount -l /dev/shm; exec \"$0\" \"$@\"")),
    ("no /proc", Either, Mounts("umount -l /proc; exec \"$0\" \"$@\"")),
    ("no /sys", Well, Mounts("umount -l /sys; exec \"$0\" \"$@\"")),
];

/// How many there are.
pub(super) const ALL: usize = SURROUNDINGS.len();

/// Tries so many of them, evenly spread.
pub(super) fn storm(lab: &Lab, faults: usize) -> Result<Toll> {
    let mut toll = Toll::new("surroundings");
    let step = ALL.div_ceil(faults.max(1));
    for (number, (fault, end, odd)) in SURROUNDINGS.iter().enumerate().step_by(step) {
        let trial = lab.trial(&format!("odd-{number}"))?;
        if let Some(why) = missing(*odd) {
            toll.skip(fault, why);
            trial.clear();
            continue;
        }
        eprintln!("surroundings: {fault}");
        let mut harm = Harm::default();
        let ended = trial.finish(&mut command(lab, &trial, *odd)?)?;
        open(&trial);
        trial.expect_an_end(&ended, "the run", &mut harm);
        let fits = match end {
            ExpectedEnd::Well => ended.code == Some(0),
            ExpectedEnd::Refused => ended.code.is_some_and(|code| code != 0),
            ExpectedEnd::Either => true,
        };
        if !fits {
            let what = format!("the run ended with {:?}: {}", ended.code, last(&ended.said));
            harm.lost.push(what);
        }
        after(lab, &trial, *odd, &mut harm)?;
        trial.clear();
        toll.add(fault, &harm);
    }
    Ok(toll)
}

/// In sound surroundings all that was stored can be read, and a run that was broken off is finished.
fn after(lab: &Lab, trial: &FaultTrial, odd: Odd, harm: &mut Harm) -> Result<()> {
    // One that was put there is no run.
    let _ = fs::remove_dir_all(trial.data().join("runs/19991231T235959Z-000000"));
    if trial.data().join("runs").is_dir() {
        trial.expect_whole_records(harm);
        let failed = trial.store().list().is_ok_and(|listing| {
            listing.runs.iter().any(|run| {
                trial
                    .store()
                    .load(&run.id)
                    .is_ok_and(|run| run.cases.iter().any(weighbridge::data::CaseRecord::has_failed))
            })
        });
        // A case that failed for want of something is not tried again; and a machine without its mounts is
        // another one.
        if !failed && !matches!(odd, Mounts(_)) {
            trial.expect_a_resume(lab, harm)?;
        }
        trial.expect_nothing_left(harm);
    }
    trial.expect_no_process(harm);
    Ok(())
}

/// What the machine has not that these surroundings need.
fn missing(odd: Odd) -> Option<&'static str> {
    let has = |line: &str| {
        let tried = Command::new("sh").args(["-c", line]).stdin(Stdio::null()).output();
        tried.is_ok_and(|ended| ended.status.success())
    };
    match odd {
        Nobody(_) if !nix::unistd::geteuid().is_root() => Some("another user is chosen by root alone"),
        Nobody(script) if script.contains("prlimit") && !has("prlimit --version") => {
            Some("there is no `prlimit`")
        }
        Mounts(_) if !has("unshare --mount true") => Some("mounts of its own are not allowed"),
        Script(script) if script.contains("taskset") && !has("taskset -c 0 true") => {
            Some("there is no `taskset`")
        }
        Script(script) if script.contains("/dev/full") && !has("test -c /dev/full") => {
            Some("there is no `/dev/full`")
        }
        _ => None,
    }
}

/// A user that may do nothing.
const NOBODY: u32 = 65_534;

fn command(lab: &Lab, trial: &FaultTrial, odd: Odd) -> Result<Command> {
    let mut command = match odd {
        Script(script) => lab.through(trial, script, ARGS),
        Nobody(script) => {
            for path in [trial.folder.clone(), trial.data(), trial.temporary()] {
                chown(path, Some(NOBODY), Some(NOBODY))?;
            }
            let mut command = lab.through(trial, script, ARGS);
            command.uid(NOBODY).gid(NOBODY);
            command
        }
        Mounts(script) => {
            let within = format!("exec unshare --mount --propagation private sh -c '{script}' \"$0\" \"$@\"");
            lab.through(trial, &within, ARGS)
        }
        _ => lab.bench(trial, ARGS),
    };
    match odd {
        Set(variables) => {
            command.envs(variables.iter().copied());
        }
        Unset(names) => {
            for name in names {
                command.env_remove(name);
            }
        }
        Bare => {
            command.env_clear();
        }
        // Scripts make and remove things beside the data directory.
        _ => {
            command.current_dir(&trial.folder);
        }
    }
    Ok(command)
}

/// Whatever was closed can be looked into again.
fn open(trial: &FaultTrial) {
    for path in [trial.data(), trial.data().join("runs")] {
        let _ = fs::set_permissions(path, Permissions::from_mode(0o755)); // it may be none
    }
}
