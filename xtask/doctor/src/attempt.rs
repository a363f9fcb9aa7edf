//! One run of the script: started, watched, and ended with all that it has started.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use weighbridge::data::Guest;

use crate::error::{DoctorError, failed};
use crate::guard::Guard;
use crate::hook::{self, HookPlan};
use crate::journal::Journal;
use crate::layer::{self, Scratch};
use crate::processes::{ProcessSums, Processes};

/// Between two looks at the processes and the journal.
const PAUSE: Duration = Duration::from_millis(100);

/// Between two looks at how much was written, and between two words on a script that has not begun.
const MEASURE: Duration = Duration::from_secs(1);
const REMIND: Duration = Duration::from_secs(30);

/// The time after the last second of a plan in which the hook itself should have ended the run.
const GRACE: Duration = Duration::from_secs(30);

/// The way in which a run is made.
#[derive(Clone, Debug)]
pub(crate) struct AttemptPlan {
    pub(crate) script: Vec<OsString>,
    /// This program, which becomes the script.
    pub(crate) program: PathBuf,
    pub(crate) hook: HookPlan,
    /// True if what the script writes goes to the scratch folder.
    pub(crate) is_layered: bool,
    /// True if the script's output is the user's to see.
    pub(crate) is_shown: bool,
    pub(crate) patience: Duration,
    /// The most bytes that it may write there.
    pub(crate) most_written: u64,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttemptEnd {
    /// By itself.
    Own(ExitStatus),
    /// The hook had seen enough.
    Enough(String),
    /// No batch came for as long as was waited.
    NoBatch,
    /// It wrote more than it may, in bytes.
    Wrote(u64),
    /// Its time was over, and nothing of the hook ended it.
    Time,
    /// The system lets nobody lay a layer over its files.
    NoLayer(String),
    /// There is no such program, or it cannot be started.
    NotStarted(String),
}

/// All that was seen of a run.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) journal: Journal,
    /// The processes from the first batch on, or from the start where there was none.
    pub(crate) processes: ProcessSums,
    pub(crate) end: AttemptEnd,
    /// Seconds to the first batch.
    pub(crate) start: Option<f64>,
    /// The end of what it printed, where that was not shown.
    pub(crate) output: String,
    /// Processes that it left behind when it ended by itself.
    pub(crate) left: usize,
    /// Folders that the script could read and not write.
    pub(crate) read_only: Vec<PathBuf>,
}

impl AttemptPlan {
    /// Makes the run. `remind` hears what the user should know meanwhile.
    ///
    /// # Errors
    /// That the machine refuses a file or a process.
    pub(crate) fn run(&self, remind: &mut dyn FnMut(&str)) -> Result<Attempt, DoctorError> {
        let scratch = Scratch::new()?;
        let state = scratch.state();
        hook::put(&state, &self.hook)?;
        let _guard = Guard::start(&self.program, scratch.path()).map_err(failed("start a guard"))?;
        let mut guest = self.start(&scratch)?;
        let mut watch = Watch::new(&guest);
        let end = loop {
            if let Some(end) = watch.look(self, &mut guest, &scratch, remind)? {
                break end;
            }
            thread::sleep(PAUSE);
        };
        watch.processes.look(&guest.members());
        let processes = watch.processes.sums();
        let (_, ended) = guest.end();
        let layer = layer::answer(&state).unwrap_or_default();
        let end = match (&layer.refused, &layer.not_started) {
            (Some(why), _) => AttemptEnd::NoLayer(why.clone()),
            (_, Some(why)) => AttemptEnd::NotStarted(why.clone()),
            _ => end,
        };
        let left = if matches!(end, AttemptEnd::Own(_)) { ended } else { 0 };
        // Those around the scratch folder hold nothing but what programs leave for a while.
        let around = |folder: &PathBuf| scratch.path().starts_with(folder);
        let read_only = layer.read_only.into_iter().filter(|folder| !around(folder)).collect();
        let output = tail(&fs::read(output_file(&scratch)).unwrap_or_default());
        Ok(Attempt {
            journal: Journal::read(&state),
            processes,
            end,
            start: watch.first,
            output,
            left,
            read_only,
        })
    }

    fn start(&self, scratch: &Scratch) -> Result<Guest, DoctorError> {
        let state = scratch.state();
        let over = self.is_layered.then(|| scratch.path());
        let mut command = layer::command(&self.program, &self.script, &state, over)
            .map_err(|error| failed("write down what is asked")(error.into()))?;
        command.envs(hook::variables(&state)).stdin(Stdio::null());
        if self.is_layered {
            command.env("TMPDIR", scratch.temporary());
            if env::var_os("WANDB_MODE").is_none() {
                command.env("WANDB_MODE", "offline"); // a run that is ended early is nobody's result
            }
        }
        if !self.is_shown {
            let file = File::create(output_file(scratch)).map_err(failed("make a file for the output"))?;
            let other = file.try_clone().map_err(failed("make a file for the output"))?;
            command.stdout(file).stderr(other);
        }
        Guest::start(&mut command).map_err(failed("start this program anew"))
    }
}

fn output_file(scratch: &Scratch) -> PathBuf {
    scratch.path().join("output")
}

/// The last lines of what was printed.
fn tail(bytes: &[u8]) -> String {
    const LINES: usize = 15;
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(8192)..]).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// A run that is being watched.
struct Watch {
    begun: Instant,
    processes: Processes,
    first: Option<f64>,
    measured: Instant,
    reminded: Instant,
}

impl Watch {
    fn new(guest: &Guest) -> Self {
        let now = Instant::now();
        let processes = Processes::new(&guest.members());
        Self { begun: now, processes, first: None, measured: now, reminded: now }
    }

    /// Looks once; how the run ended, if it has to.
    fn look(
        &mut self,
        plan: &AttemptPlan,
        guest: &mut Guest,
        scratch: &Scratch,
        remind: &mut dyn FnMut(&str),
    ) -> Result<Option<AttemptEnd>, DoctorError> {
        let status = guest.status().map_err(failed("ask how the script has ended"))?;
        let members = guest.members();
        self.processes.look(&members);
        let journal = Journal::read(&scratch.state());
        if self.first.is_none() && journal.has_begun() {
            self.first = Some(self.begun.elapsed().as_secs_f64());
            // What it took to start is no part of what steps take.
            self.processes = Processes::new(&members);
        }
        if let Some(why) = journal.done() {
            return Ok(Some(AttemptEnd::Enough(why.to_owned())));
        }
        if let Some(status) = status {
            return Ok(Some(AttemptEnd::Own(status)));
        }
        self.remind(remind);
        Ok(self.limit(plan, scratch))
    }

    /// The limit that is passed, if one is.
    fn limit(&mut self, plan: &AttemptPlan, scratch: &Scratch) -> Option<AttemptEnd> {
        let waited = self.begun.elapsed();
        if self.first.is_none() && waited > plan.patience && (plan.is_layered || plan.hook.seconds.is_some())
        {
            return Some(AttemptEnd::NoBatch);
        }
        if let (Some(first), Some(seconds)) = (self.first, plan.hook.seconds)
            && waited.as_secs_f64() > first + seconds + GRACE.as_secs_f64()
        {
            return Some(AttemptEnd::Time);
        }
        if plan.is_layered && self.measured.elapsed() > MEASURE {
            self.measured = Instant::now();
            let written = scratch.written();
            return (written > plan.most_written).then_some(AttemptEnd::Wrote(written));
        }
        None
    }

    fn remind(&mut self, remind: &mut dyn FnMut(&str)) {
        if self.first.is_none() && self.reminded.elapsed() > REMIND {
            self.reminded = Instant::now();
            remind(&format!("no batch yet, after {:.0} s", self.begun.elapsed().as_secs_f64()));
        }
    }
}

/// The end of a program, in words.
pub(crate) fn status_text(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "no word of how".to_owned(),
    }
}

/// The exit code with which a shell tells of this end.
pub(crate) fn shell_code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
