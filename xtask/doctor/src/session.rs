//! The doctor's work from a command line to an answer: look, try, judge, show.

use std::fs;
use std::time::Duration;

use weighbridge::data::Exit;

use crate::args::DoctorArgs;
use crate::attempt::{Attempt, AttemptEnd, AttemptPlan, shell_code, status_text};
use crate::error::{DoctorError, failed};
use crate::hook::HookPlan;
use crate::look::{Look, LoopSight, look};
use crate::processes::available;
use crate::report::{DoctorReport, DoctorRun};
use crate::trial::{AS_IT_IS, CACHED, trial};
use crate::verdict::{Findings, Outcome, judge};
use crate::{html, page};

/// The seconds of a look, where nobody says, and how many times as long the experiments may take.
const LOOK: Duration = Duration::from_secs(20);
const TRIES: f64 = 6.0;

/// A block of steps takes about this long, and has so many steps.
const BLOCK: f64 = 0.4;
const BLOCK_STEPS: (f64, f64) = (2.0, 200.0);
/// Steps after a change that count for nothing; of slow steps one.
const SETTLE: u64 = 2;
const SLOW: f64 = 0.2;

/// The fewest changes that are tried, whatever time that takes: some numbers of workers among them.
const LEAST_ARMS: usize = 4;

/// The share of the time of the experiments that is planned.
const PLANNED: f64 = 0.8;

/// From so many threads that wait for a processor on, on average, the machine is crowded if the script has
/// less than half of it.
const CROWDED: f64 = 0.5;

/// The order in which changes are left out where there is no time for all: the last ones first.
const ARMS: [&str; 8] = [AS_IT_IS, CACHED, "worker", "parallel", "telling", "threads=", "prefetch", "saving"];

/// The page, and the end of the command.
#[derive(Debug)]
pub struct DoctorAnswer {
    /// The page, for a terminal.
    pub text: String,
    /// The end of the command.
    pub exit: Exit,
    /// The exit code of the script where that failed, which is the command's own then.
    pub script: Option<u8>,
}

/// Runs the script, and judges it. `remind` hears at once what the user should know meanwhile.
///
/// # Errors
/// A mistake on the command line; a machine that refuses a file, a process or a layer.
pub fn run(args: &DoctorArgs, remind: &mut dyn FnMut(&str)) -> Result<DoctorAnswer, DoctorError> {
    let program = std::env::current_exe().map_err(failed("find this program"))?;
    let session = Session { args, program };
    let report = session.report(remind)?;
    session.write(&report.0)?;
    let exit = match report.0.verdict.outcome {
        Outcome::Inconclusive => Exit::Inconclusive,
        Outcome::Unseen => Exit::NothingToJudge,
        Outcome::Limited | Outcome::Clean | Outcome::Looked => Exit::Fine,
    };
    Ok(DoctorAnswer { text: page::page(&report.0), exit, script: report.1 })
}

struct Session<'a> {
    args: &'a DoctorArgs,
    program: std::path::PathBuf,
}

impl Session<'_> {
    fn report(&self, remind: &mut dyn FnMut(&str)) -> Result<(DoctorReport, Option<u8>), DoctorError> {
        let looking = self.looking();
        let looked = looking.run(remind)?;
        refused(&looked, self.args)?;
        let sight = look(&looked.journal);
        let mut runs = vec![doctor_run("look", &looking, &looked)];
        let code = match &looked.end {
            AttemptEnd::Own(status) if !status.success() => Some(shell_code(*status)),
            _ => None,
        };
        let mut notes = notes(&looked);
        let main = sight.main().filter(|_| !self.args.only_look && code.is_none());
        let tried = match main {
            Some(main) => {
                let trying = self.trying(main, &sight);
                let tried = trying.run(remind)?;
                runs.push(doctor_run("experiments", &trying, &tried));
                notes.extend(notes_of_trial(&tried));
                Some(trial(&tried.journal))
            }
            None => None,
        };
        let findings = Findings {
            look: &sight,
            trial: tried.as_ref(),
            processes: looked.processes,
            available: available(),
        };
        let mut verdict = judge(&findings);
        if verdict.outcome == Outcome::Unseen {
            notes.insert(0, unseen(&looked, &sight, self.args));
        }
        notes.dedup();
        verdict.notes = notes;
        Ok((DoctorReport { schema: 1, script: self.args.typed(), verdict, runs }, code))
    }

    fn looking(&self) -> AttemptPlan {
        let args = self.args;
        let is_cut = !args.only_look || args.steps.is_some() || args.seconds.is_some();
        let seconds = args
            .seconds
            .or_else(|| is_cut.then_some(LOOK).filter(|_| args.steps.is_none() || !args.only_look));
        let hook = HookPlan {
            mode: "look",
            doctor: std::process::id(),
            steps: args.steps,
            seconds: seconds.map(|seconds| seconds.as_secs_f64()),
            ..HookPlan::default()
        };
        self.plan(hook, is_cut && !args.write_through, true)
    }

    fn trying(&self, main: &LoopSight, sight: &Look) -> AttemptPlan {
        let seconds = self.args.seconds.unwrap_or(LOOK).as_secs_f64() * TRIES;
        let period = main.period().max(1e-6);
        // Shorter, where else there is no time for all arms.
        let share = PLANNED * seconds / (self.args.rounds * ARMS.len() as u64) as f64;
        let block = (BLOCK.min(share) / period).ceil().clamp(BLOCK_STEPS.0, BLOCK_STEPS.1) as u64;
        let settle = if period < SLOW { SETTLE } else { 1 };
        let one = (block + settle) as f64 * period * self.args.rounds as f64;
        let most = ((PLANNED * seconds / one) as usize).max(LEAST_ARMS);
        let hook = HookPlan {
            mode: "try",
            doctor: std::process::id(),
            seconds: Some(seconds),
            main: Some(main.key.clone()),
            block,
            settle,
            rounds: self.args.rounds,
            seed: 1,
            arms: Some(arms(main, sight, most)),
            ..HookPlan::default()
        };
        self.plan(hook, !self.args.write_through, false)
    }

    fn plan(&self, hook: HookPlan, is_layered: bool, is_shown: bool) -> AttemptPlan {
        AttemptPlan {
            script: self.args.script.clone(),
            program: self.program.clone(),
            hook,
            is_layered,
            is_shown,
            patience: self.args.patience,
            most_written: (self.args.most_written * 1e9) as u64,
        }
    }

    fn write(&self, report: &DoctorReport) -> Result<(), DoctorError> {
        if let Some(file) = &self.args.json {
            let text =
                serde_json::to_string_pretty(report).map_err(|error| failed("write JSON")(error.into()))?;
            fs::write(file, text + "\n").map_err(failed(format!("write `{}`", file.display())))?;
        }
        if let Some(file) = &self.args.html {
            fs::write(file, html::html(report)).map_err(failed(format!("write `{}`", file.display())))?;
        }
        Ok(())
    }
}

/// The changes for which there is time, the most telling first.
fn arms(main: &LoopSight, sight: &Look, most: usize) -> Vec<String> {
    let mut known: Vec<String> = [AS_IT_IS, CACHED].map(str::to_owned).to_vec();
    let is_called = |kind: &&str| sight.calls.iter().any(|call| call.kind == *kind);
    known.extend(["telling", "saving"].into_iter().filter(is_called).map(str::to_owned));
    known.extend(main.arms.iter().cloned());
    let rank = |arm: &String| ARMS.iter().position(|prefix| arm.starts_with(prefix)).unwrap_or(ARMS.len());
    // Of numbers of workers first that of the processors, which most scripts are well served with.
    let number = |arm: &String| arm.split_once('=').and_then(|(_, number)| number.parse::<usize>().ok());
    let off = |arm: &String| number(arm).map_or(0, |number| number.abs_diff(available()));
    known.sort_by_key(|arm| (rank(arm), off(arm)));
    known.truncate(most);
    known
}

fn doctor_run(purpose: &'static str, plan: &AttemptPlan, attempt: &Attempt) -> DoctorRun {
    DoctorRun {
        purpose,
        start: attempt.start,
        seconds: attempt.processes.seconds,
        end: end_text(&attempt.end),
        is_layered: plan.is_layered,
    }
}

fn end_text(end: &AttemptEnd) -> String {
    match end {
        AttemptEnd::Own(status) => format!("by itself, with {}", status_text(*status)),
        AttemptEnd::Enough(why) => format!("by the doctor, after enough {why}"),
        AttemptEnd::NoBatch => "by the doctor: no batch came".to_owned(),
        AttemptEnd::Wrote(bytes) => {
            format!("by the doctor: it had written {:.1} GB", *bytes as f64 / 1e9)
        }
        AttemptEnd::Time => "by the doctor: its time was over".to_owned(),
        AttemptEnd::NoLayer(why) | AttemptEnd::NotStarted(why) => why.clone(),
    }
}

/// Stops where the script could not be run at all.
fn refused(looked: &Attempt, args: &DoctorArgs) -> Result<(), DoctorError> {
    match &looked.end {
        AttemptEnd::NoLayer(why) => Err(DoctorError::Usage(format!(
            "this system lets nobody lay a layer over the script's files ({why}), and a run that is ended \
             early \
             would write them. --only-look without --steps and --seconds runs the script once, whole; \
             --write-through lets it write its own files in both runs"
        ))),
        AttemptEnd::NotStarted(why) => Err(DoctorError::Usage(format!(
            "failed to start `{}`: {why}",
            args.script.first().map(|word| word.to_string_lossy()).unwrap_or_default()
        ))),
        _ => Ok(()),
    }
}

/// Things to know of a run.
fn notes(attempt: &Attempt) -> Vec<String> {
    let mut notes = Vec::new();
    match &attempt.end {
        AttemptEnd::Own(status) if !status.success() => {
            let error =
                attempt.journal.failure().map(|(name, text)| format!(": {name}: {text}")).unwrap_or_default();
            notes.push(format!("the script failed with {}{error}", status_text(*status)));
            if attempt.journal.failure().is_some_and(|(name, _)| name == "EOFError") {
                notes.push("it asks for input: the doctor has no terminal for it".to_owned());
            }
        }
        AttemptEnd::Wrote(bytes) => notes.push(format!(
            "the script had written {:.1} GB when it was ended: --most-written lets it write more",
            *bytes as f64 / 1e9
        )),
        AttemptEnd::Time => {
            notes.push("the script did not come to its loader any more, and was ended".to_owned());
        }
        _ => {}
    }
    if attempt.left > 0 {
        notes.push(format!(
            "the script had ended and left {} processes behind, which were ended",
            attempt.left
        ));
    }
    let processes = attempt.processes;
    if processes.queued > CROWDED && processes.processors < available() as f64 / 2.0 {
        notes.push(format!(
            "other programs hold the processors: the script's threads wait for one, and it has {:.1} of {}. \
             Figures \
             of a machine that is at rest may be others",
            processes.processors,
            available()
        ));
    }
    if !attempt.read_only.is_empty() {
        let folders: Vec<String> =
            attempt.read_only.iter().map(|folder| folder.display().to_string()).collect();
        notes.push(format!("the script could read and not write: {}", folders.join(", ")));
    }
    notes.extend(attempt.journal.troubles());
    notes
}

fn notes_of_trial(tried: &Attempt) -> Vec<String> {
    let mut notes = tried.journal.troubles();
    match &tried.end {
        AttemptEnd::Enough(_) => {}
        AttemptEnd::Own(_) => {
            notes.push(format!(
                "the run with experiments ended {}, before all were made. It printed last:\n{}",
                end_text(&tried.end),
                tried.output
            ));
        }
        end => notes.push(format!("the run with experiments: {}", end_text(end))),
    }
    notes
}

/// The reason why no step was seen.
fn unseen(looked: &Attempt, sight: &Look, args: &DoctorArgs) -> String {
    if looked.journal.python().is_none() {
        return "no Python was seen that loads what PYTHONPATH names: the program is none, or was started \
                with \
                -I, -E or -S. Its processes alone were looked at"
            .to_owned();
    }
    if !sight.loops.is_empty() {
        return "one batch or none was delivered, and no step after it was seen to end".to_owned();
    }
    match &looked.end {
        AttemptEnd::NoBatch => format!(
            "no batch of a loader that the doctor knows came within {} s: --patience waits longer. Its \
             processes \
             alone were looked at",
            args.patience.as_secs_f64()
        ),
        _ => "no batch of a loader that the doctor knows was seen. Its processes alone were looked at"
            .to_owned(),
    }
}
