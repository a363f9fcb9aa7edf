//! Kills at moments that nobody chose: of a run, of its resume, of what measures, and the ends that a user
//! asks for.

use std::fs;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::draw::StormDraws;
use super::lab::{ARGS, FaultTrial, Lab, last};
use super::toll::{Harm, Toll};

/// The process that is ended, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The run, by this signal.
    Run(Signal),
    /// A run that is taken up again after a kill.
    Resume,
    /// The process that measures.
    Child,
}

/// Which fault comes after which.
const TURNS: [Victim; 8] = [
    Victim::Run(Signal::SIGKILL),
    Victim::Child,
    Victim::Run(Signal::SIGKILL),
    Victim::Resume,
    Victim::Run(Signal::SIGKILL),
    Victim::Run(Signal::SIGINT),
    Victim::Run(Signal::SIGKILL),
    Victim::Run(Signal::SIGTERM),
];

/// Tries so many kills.
pub(super) fn storm(lab: &Lab, draw: &mut StormDraws, faults: usize) -> Result<Toll> {
    let mut toll = Toll::new("kills");
    for (number, victim) in TURNS.iter().cycle().take(faults).enumerate() {
        let trial = lab.trial(&format!("kill-{number}"))?;
        let after = lab.length.mul_f64(draw.share());
        let fault = format!("{number}: {victim:?} after {} ms", after.as_millis());
        eprintln!("kills: {fault}");
        let mut harm = Harm::default();
        strike(lab, &trial, *victim, after, draw, &mut harm)?;
        trial.expect_whole_records(&mut harm);
        if *victim == Victim::Child {
            trial.expect_nothing_left(&mut harm);
        } else {
            trial.expect_a_resume(lab, &mut harm)?;
            trial.expect_nothing_left(&mut harm);
        }
        trial.clear();
        toll.add(&fault, &harm);
    }
    Ok(toll)
}

/// Starts a run, and ends what is to be ended.
fn strike(
    lab: &Lab,
    trial: &FaultTrial,
    victim: Victim,
    after: Duration,
    draw: &mut StormDraws,
    harm: &mut Harm,
) -> Result<()> {
    let child = trial.start(&mut lab.bench(trial, ARGS))?;
    thread::sleep(after);
    let run = Pid::from_raw(child.id() as i32);
    match victim {
        Victim::Run(signal) => {
            let _ = kill(run, signal); // it may have ended by now
        }
        Victim::Resume => {
            let _ = kill(run, Signal::SIGKILL);
        }
        Victim::Child => {
            for process in children(run) {
                let _ = kill(process, Signal::SIGKILL);
            }
        }
    }
    let ended = trial.wait(child)?;
    if ended.signal != Some(Signal::SIGKILL as i32) && ended.signal != Some(Signal::SIGTERM as i32) {
        trial.expect_an_end(&ended, "the run", harm);
    }
    trial.expect_no_process(harm);
    match (victim, ended.code) {
        // A repeat that was killed has failed, and the run goes on.
        (Victim::Child, Some(0 | 6)) | (Victim::Run(_) | Victim::Resume, _) => {}
        (Victim::Child, code) => {
            harm.lost.push(format!("the run ended with {code:?}: {}", last(&ended.said)));
        }
    }
    if victim == Victim::Resume
        && let Some(run) = trial.runs().pop()
    {
        let resumed = trial.start(&mut lab.bench(trial, &["--resume", &run]))?;
        thread::sleep(lab.length.mul_f64(draw.share()));
        let _ = kill(Pid::from_raw(resumed.id() as i32), Signal::SIGKILL);
        trial.wait(resumed)?;
        trial.expect_no_process(harm);
    }
    Ok(())
}

/// The processes that another one has started.
fn children(of: Pid) -> Vec<Pid> {
    let listed = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|id| id.parse().ok()).map(Pid::from_raw).collect()
}
