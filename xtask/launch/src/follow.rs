//! Follows a launch: hands events to the table of states, and carries out what it asks for.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::agent::{Beat, RankReport, RankResult, Silence, StageVerdict};
use crate::ask::{ask, newest};
use crate::engine::{Engine, JobId, LOOK};
use crate::error::{LaunchError, Result};
use crate::folder::{LaunchFolder, RankFiles, read_json, write_json};
use crate::machine::{Event, JobState, LaunchAct, Machine, Phase};
use crate::progress::{Progress, Shown};
use crate::spec::LaunchSpec;

/// The time between two looks at files.
const PACE: Duration = Duration::from_millis(200);
/// Engines that do not answer are asked again; a few times in a row is a note.
const SILENT_ENGINE: u32 = 5;
/// Characters of each log in the diagnosis.
const TAIL: usize = 4_000;

/// A job that is followed.
pub(crate) struct Follower<'a> {
    pub(crate) engine: &'a mut dyn Engine,
    pub(crate) spec: &'a LaunchSpec,
    pub(crate) folder: &'a LaunchFolder,
    pub(crate) job_file: &'a str,
    /// The same for hosts that may be taken away again, where there are such.
    pub(crate) spot_file: Option<&'a str>,
    /// Attempts that left files before this job.
    pub(crate) attempt: u32,
    pub(crate) machine: Machine,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) show: &'a mut dyn FnMut(Shown<'_>),
}

/// A launch that was followed to its end.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) machine: Machine,
    pub(crate) job: Option<JobId>,
    pub(crate) used_spot: bool,
    /// The last state before the end.
    pub(crate) step: Phase,
    pub(crate) elapsed: Duration,
    /// The newest attempt, whose files count.
    pub(crate) attempt: u32,
}

/// The state of a follower between two looks.
struct Looking {
    begun: Instant,
    files: RankFiles,
    silence: Silence,
    job: Option<JobId>,
    used_spot: bool,
    asked: Option<Instant>,
    unanswered: u32,
    beat: u64,
    /// Bytes that ranks and the engine have written, with the stages that they are at.
    written: (u64, Vec<String>),
    progress: Progress,
}

/// One command of a diagnosis.
#[derive(Serialize)]
struct Diagnosed {
    command: String,
    code: Option<i32>,
    said: String,
}

/// The facts that are kept of a job that was late or silent.
#[derive(Serialize)]
struct Diagnosis<'a> {
    end: String,
    job: Option<&'a str>,
    queue_reason: &'a str,
    engine: Vec<Diagnosed>,
    ranks: Vec<Option<Beat>>,
    logs: Vec<(String, String)>,
}

impl Follower<'_> {
    /// Goes from the first state to the last.
    pub(crate) fn follow(mut self) -> Followed {
        let mut looking = Looking {
            begun: Instant::now(),
            files: self.folder.attempt(self.attempt),
            silence: Silence::new(self.spec.ranks),
            job: None,
            used_spot: false,
            asked: None,
            unanswered: 0,
            beat: 0,
            written: (0, Vec::new()),
            progress: Progress::default(),
        };
        let (mut act, mut step) = (LaunchAct::Submit, Phase::Submitting);
        while self.machine.phase() != Phase::Ended {
            if self.machine.end().is_none() {
                step = self.machine.phase();
            }
            if act != LaunchAct::Nothing {
                let event = self.perform(act, &mut looking);
                act = self.hand_in(event, &mut looking);
                continue;
            }
            let events = self.look(&mut looking);
            for event in events {
                act = self.hand_in(event, &mut looking);
                if act != LaunchAct::Nothing {
                    break;
                }
            }
            if act == LaunchAct::Nothing {
                thread::sleep(PACE);
            }
        }
        let attempt = self.attempt + self.machine.restarts();
        let elapsed = looking.begun.elapsed();
        Followed {
            job: looking.job,
            used_spot: looking.used_spot,
            step,
            elapsed,
            attempt,
            machine: self.machine,
        }
    }

    fn hand_in(&mut self, event: Event, looking: &mut Looking) -> LaunchAct {
        let (before, restarts) = (self.machine.phase(), self.machine.restarts());
        let act = self.machine.next(event, looking.begun.elapsed());
        if self.machine.restarts() != restarts {
            looking.files = self.folder.attempt(self.attempt + self.machine.restarts());
            looking.silence = Silence::new(self.spec.ranks);
            self.line(looking, "the engine started the job again");
        }
        if self.machine.phase() != before {
            self.line(looking, self.machine.phase().name());
            if let Some(end) = self.machine.end().filter(|_| before == Phase::Running) {
                self.line(looking, &end.told());
            }
        }
        act
    }

    fn line(&mut self, looking: &Looking, text: &str) {
        let at = looking.begun.elapsed().as_secs();
        (self.show)(Shown::Line(&format!("launch: [{at} s] {text}")));
    }

    /// Looks at the signals, the ranks' files, the engine and the clock.
    fn look(&mut self, looking: &mut Looking) -> Vec<Event> {
        let mut events = Vec::new();
        if self.stop.load(Ordering::Relaxed) {
            events.push(Event::Interrupted);
        }
        self.sign(looking);
        self.look_at_ranks(looking, &mut events);
        if looking.asked.is_none_or(|asked| asked.elapsed() >= self.engine.pace()) {
            looking.asked = Some(Instant::now());
            self.ask_engine(looking, &mut events);
        }
        if self.machine.due().is_some_and(|due| looking.begun.elapsed() >= due) {
            events.push(Event::Due);
        }
        events
    }

    /// A sign of life for the ranks: without it they end themselves.
    fn sign(&self, looking: &mut Looking) {
        let now = looking.begun.elapsed().as_secs() + 1;
        if now > looking.beat {
            looking.beat = now;
            drop(write_json(&self.folder.follower(), &now));
        }
    }

    fn look_at_ranks(&mut self, looking: &mut Looking, events: &mut Vec<Event>) {
        let beats: Vec<Option<Beat>> =
            (0..self.spec.ranks).map(|rank| read_json(&looking.files.beat(rank)).ok().flatten()).collect();
        let there = beats.iter().flatten().count();
        if there > 0 {
            events.push(Event::FirstRank);
        }
        let mut written = self.written_by_engine();
        written += beats.iter().flatten().map(|beat| beat.written).sum::<u64>();
        let stages: Vec<String> = beats.iter().flatten().map(|beat| beat.stage.clone()).collect();
        let written = (written, stages);
        if written != looking.written {
            events.push(Event::NewLine);
            looking.written = written;
        }
        if let Some(lost) = self.lost(looking, &beats) {
            events.push(Event::Lost(lost));
        }
        let (phase, elapsed) = (self.machine.phase(), looking.begun.elapsed());
        let reason = self.machine.queue_reason().to_owned();
        looking.progress.show(self.spec, phase, &reason, &beats, elapsed, self.show);
    }

    /// Bytes of what the engine's commands say, where ranks' files are not seen.
    fn written_by_engine(&self) -> u64 {
        if self.engine.shares_folder() {
            return 0;
        }
        let entries = fs::read_dir(self.folder.engine()).into_iter().flatten().flatten();
        let outputs = entries.filter(|entry| entry.path().extension().is_some_and(|of| of == "out"));
        outputs.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
    }

    /// Ranks that had signs of life and have none any more, while their part is not done.
    fn lost(&self, looking: &mut Looking, beats: &[Option<Beat>]) -> Option<String> {
        let mut lost = Vec::new();
        for (rank, beat) in (0..).zip(beats) {
            let Some(beat) = beat else { continue };
            let silent = looking.silence.hear(rank, Some(beat.count));
            if silent > Duration::from_secs(self.spec.rank_patience) {
                lost.push(format!("rank {rank} on {}, for {} s", beat.host, silent.as_secs()));
            }
        }
        // Whoever has nothing to do any more may be silent.
        (!lost.is_empty() && !self.is_over(&looking.files)).then(|| lost.join("; "))
    }

    fn is_over(&self, files: &RankFiles) -> bool {
        let last = self.spec.stages.last().map(|stage| stage.name.as_str());
        let stages = self.spec.stages.iter().map(|stage| stage.name.as_str());
        let mut stages = stages.chain([crate::agent::PREFLIGHT]);
        stages.any(|stage| {
            let verdict: Option<StageVerdict> = read_json(&files.verdict(stage)).ok().flatten();
            verdict.is_some_and(|verdict| !verdict.goes_on || Some(stage) == last)
        })
    }

    fn ask_engine(&mut self, looking: &mut Looking, events: &mut Vec<Event>) {
        let Some(job) = looking.job.clone() else { return };
        match self.engine.status(&job) {
            Ok(state) => {
                looking.unanswered = 0;
                let runs = matches!(state, JobState::Running { .. });
                events.push(Event::Seen(state));
                if runs && !self.engine.shares_folder() {
                    events.push(Event::FirstRank);
                }
            }
            // The deadline of the state goes on: an engine that never answers ends the launch.
            Err(error) => {
                looking.unanswered += 1;
                if looking.unanswered == SILENT_ENGINE {
                    self.line(looking, &format!("the engine does not answer: {error}"));
                }
            }
        }
    }

    /// Does what the table asks for, and returns what came of it.
    fn perform(&mut self, act: LaunchAct, looking: &mut Looking) -> Event {
        match act {
            LaunchAct::Nothing => Event::Done,
            LaunchAct::Submit => self.submit(self.job_file, looking),
            LaunchAct::LookFor => {
                let state = looking.job.as_ref().map(|job| self.engine.status(job));
                let is_there = matches!(state, Some(Ok(JobState::Queued { .. } | JobState::Running { .. })));
                Event::LookedFor { is_there }
            }
            LaunchAct::Retry => {
                self.line(looking, "late, and the engine has the job: waiting once more");
                let file = self.folder.job_file(self.job_file);
                let retried = looking.job.as_ref().map_or(Ok(()), |job| self.engine.retry(job, &file));
                done(retried)
            }
            LaunchAct::FallBackToSpot => self.fall_back(looking),
            LaunchAct::Diagnose => done(self.diagnose(looking)),
            LaunchAct::Cancel => self.cancel(looking),
            LaunchAct::Collect => {
                let collected = looking.job.as_ref().map_or(Ok(()), |job| {
                    self.engine.collect(job, self.folder)?;
                    crate::collect::normalise(self.folder)
                });
                done(collected)
            }
            LaunchAct::TearDown => done(self.engine.tear_down(looking.job.as_ref())),
        }
    }

    fn submit(&mut self, file: &str, looking: &mut Looking) -> Event {
        let limit = self.machine.due().unwrap_or(LOOK);
        match self.engine.submit(&self.folder.job_file(file), limit) {
            Ok(job) => {
                self.line(looking, &format!("the engine calls it {}", job.0));
                looking.job = Some(job);
                Event::Submitted
            }
            Err(error) => {
                // It may have been taken all the same, without an answer.
                looking.job = self.engine.find(&format!("weighbridge-{}", self.spec.launch));
                if let Some(job) = &looking.job
                    && let Err(error) = self.engine.cancel(job)
                {
                    return Event::NotSubmitted(format!("{error}; end the job {} yourself", job.0));
                }
                Event::NotSubmitted(error.to_string())
            }
        }
    }

    fn fall_back(&mut self, looking: &mut Looking) -> Event {
        let Some(file) = self.spot_file else { return Event::NotSubmitted("no spot hosts".into()) };
        self.line(looking, "no host came: falling back to hosts that may be taken away again");
        if let Err(error) = self.engine.tear_down(looking.job.as_ref()) {
            return Event::NotSubmitted(format!("the first hosts were not given back: {error}"));
        }
        looking.used_spot = true;
        self.submit(file, looking)
    }

    /// Ends the job, and waits until the engine says that it has ended.
    fn cancel(&mut self, looking: &mut Looking) -> Event {
        let Some(job) = looking.job.clone() else { return Event::Done };
        if let Err(error) = self.engine.cancel(&job) {
            return Event::Failed(error.to_string());
        }
        let due = self.machine.due().unwrap_or_default();
        loop {
            match self.engine.status(&job) {
                Ok(JobState::Queued { .. } | JobState::Running { .. }) | Err(_) => {}
                Ok(_) => return Event::Done,
            }
            if looking.begun.elapsed() >= due {
                return Event::Due;
            }
            thread::sleep(PACE);
        }
    }

    /// Keeps what the engine and the ranks know.
    fn diagnose(&mut self, looking: &mut Looking) -> Result<()> {
        let mut engine = Vec::new();
        for mut command in looking.job.as_ref().map(|job| self.engine.diagnostics(job)).unwrap_or_default() {
            let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let (code, said) = match ask(&mut command, LOOK) {
                Ok(answer) => (answer.code, format!("{}{}", answer.out, answer.err)),
                Err(error) => (None, error.to_string()),
            };
            engine.push(Diagnosed { command: words.join(" "), code, said });
        }
        let ranks: Vec<Option<Beat>> =
            (0..self.spec.ranks).map(|rank| read_json(&looking.files.beat(rank)).ok().flatten()).collect();
        let mut logs: Vec<_> = (0..self.spec.ranks)
            .zip(&ranks)
            .filter_map(|(rank, beat)| Some(looking.files.log(&beat.as_ref()?.stage, rank)))
            .collect();
        let outputs = fs::read_dir(self.folder.engine()).into_iter().flatten().flatten();
        logs.extend(
            outputs.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|of| of == "out")),
        );
        let diagnosis = Diagnosis {
            end: self.machine.end().map(crate::machine::LaunchEnd::told).unwrap_or_default(),
            job: looking.job.as_ref().map(|job| job.0.as_str()),
            queue_reason: self.machine.queue_reason(),
            engine,
            ranks,
            logs: logs.iter().filter_map(|log| Some((log.display().to_string(), tail(log)?))).collect(),
        };
        write_json(&self.folder.stall(), &diagnosis)
    }
}

fn done(result: Result<(), LaunchError>) -> Event {
    result.map_or_else(|error| Event::Failed(error.to_string()), |()| Event::Done)
}

/// The end of a log, without secrets.
fn tail(log: &std::path::Path) -> Option<String> {
    let text = newest(fs::File::open(log).ok()?).ok()?;
    let from = text.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
    Some(weighbridge::data::without_secrets(&text[from..]))
}

/// The files of the ranks of an attempt, read at the end.
pub(crate) fn reports(files: &RankFiles, ranks: u32) -> Vec<Option<RankReport>> {
    (0..ranks).map(|rank| read_json(&files.report(rank)).ok().flatten()).collect()
}

/// The results of the ranks of a stage, read at the end.
pub(crate) fn results(files: &RankFiles, stage: &str, ranks: u32) -> Vec<Option<RankResult>> {
    (0..ranks).map(|rank| read_json(&files.result(stage, rank)).ok().flatten()).collect()
}
