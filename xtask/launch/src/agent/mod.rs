//! The tool on a host: it starts as one of the ranks, tells of its host, runs the program, and tells how that
//! ended. One start line serves every engine, and no engine's word is needed for what a rank did.
//!
//! Rank 0 judges each stage from the files of all; the others wait for its verdict. Nobody waits for a file
//! while something is measured.

mod beat;
mod duel;
mod judge;
mod names;
mod rank;
mod report;
mod stage;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use beat::{Beat, Silence};
pub(crate) use judge::StageVerdict;
pub(crate) use names::{ATTEMPT, LAUNCH_FOLDER, PER_HOST, PREFLIGHT};
pub(crate) use report::RankReport;
pub(crate) use stage::RankResult;

use crate::error::Result;
use crate::folder::{LaunchFolder, RankFiles, read_json, write_json};
use crate::spec::LaunchSpec;
use beat::Heart;
use names::DUEL;
use rank::{AgentError, LaunchRank};
use stage::StageRun;

/// The exit code of a rank that has nothing to do since a verdict was against it.
const STOPPED: u8 = 6;
/// The time between two looks for a verdict.
const LOOK: Duration = Duration::from_millis(50);

/// Works as a rank of a launch, if this process was started as one; `None` in all others.
pub fn rank() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ended = if words.first().is_some_and(|word| word == DUEL) {
        duel::judge(&words[1..]).map_err(AgentError)
    } else {
        begin(&LaunchFolder::at(PathBuf::from(std::env::var_os(LAUNCH_FOLDER)?)))
    };
    let ended = ended.unwrap_or_else(|error| {
        eprintln!("weighbridge launch: {error}");
        2
    });
    Some(ExitCode::from(ended))
}

fn begin(folder: &LaunchFolder) -> Result<u8, AgentError> {
    let told = |error: crate::error::LaunchError| AgentError(error.to_string());
    let spec = LaunchSpec::read(&folder.spec()).map_err(told)?;
    let get = |name: &str| std::env::var(name).ok();
    let number = |name: &str| get(name).and_then(|text| text.parse().ok());
    if get(PER_HOST).is_some() {
        return stage::per_host(&spec, number).map_err(AgentError);
    }
    let attempt = number(ATTEMPT).unwrap_or(0) + number("SLURM_RESTART_COUNT").unwrap_or(0);
    let rank = rank::find(&spec.engine, spec.ranks, get)?;
    Agent::new(spec, rank, folder.clone(), attempt).run().map_err(told)
}

/// One rank at work.
struct Agent {
    spec: LaunchSpec,
    rank: LaunchRank,
    folder: LaunchFolder,
    files: RankFiles,
    attempt: u32,
    heart: Heart,
}

impl Agent {
    fn new(spec: LaunchSpec, rank: LaunchRank, folder: LaunchFolder, attempt: u32) -> Self {
        let files = folder.attempt(attempt);
        let every = Duration::from_secs(spec.heartbeat.max(u64::from(spec.ranks) / 200));
        let orphaned = spec.orphaned_after.map(Duration::from_secs);
        let heart = Heart::start(&files, &folder, rank.rank, every, orphaned);
        let own = heart.clone();
        // Whoever ends the job ends the program, and the program may then say what it has.
        let heard = ctrlc::set_handler(move || own.end("the job was ended"));
        if let Err(error) = heard {
            eprintln!("weighbridge launch: no signal is heard: {error}");
        }
        Self { spec, rank, folder, files, attempt, heart }
    }

    fn run(&self) -> Result<u8> {
        let report = report::look(&self.spec, self.rank, &self.folder);
        write_json(&self.files.report(self.rank.rank), &report)?;
        if !self.agreed(PREFLIGHT, || self.judge_hosts())? {
            return Ok(STOPPED);
        }
        for stage in &self.spec.stages {
            let Self { spec, rank, folder, files, attempt, heart } = self;
            let run = StageRun { spec, rank: *rank, folder, files, attempt: *attempt, heart };
            let result = run.measure(stage)?;
            write_json(&self.files.result(&stage.name, self.rank.rank), &result)?;
            if !self.agreed(&stage.name, || self.judge_stage(&stage.name))? {
                return Ok(result.code.filter(|code| *code != 0).unwrap_or(STOPPED));
            }
        }
        Ok(0)
    }

    /// The verdict on a stage: rank 0 comes to it, the others wait for it.
    fn agreed(&self, stage: &str, judge: impl FnOnce() -> Result<StageVerdict>) -> Result<bool> {
        let place = self.files.verdict(stage);
        if self.rank.rank == 0 {
            let verdict = judge()?;
            for line in &verdict.wrong {
                eprintln!("weighbridge launch: {stage}: {line}");
            }
            write_json(&place, &verdict)?;
            return Ok(verdict.goes_on);
        }
        let mut silence = Silence::new(1);
        loop {
            if let Some(verdict) = read_json::<StageVerdict>(&place)? {
                return Ok(verdict.goes_on);
            }
            let beat = read_json::<Beat>(&self.files.beat(0))?.map(|beat| beat.count);
            if silence.hear(0, beat) > self.patience() {
                eprintln!("weighbridge launch: {stage}: rank 0 has no sign of life");
                return Ok(false);
            }
            if self.heart.ended().is_some() {
                return Ok(false);
            }
            thread::sleep(LOOK);
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.spec.rank_patience)
    }

    /// Waits for the reports of all ranks, as long as one may be silent.
    fn judge_hosts(&self) -> Result<StageVerdict> {
        let begun = Instant::now();
        loop {
            let reports: Vec<Option<RankReport>> = (0..self.spec.ranks)
                .map(|rank| read_json(&self.files.report(rank)))
                .collect::<Result<_>>()?;
            let is_over = begun.elapsed() > self.patience() || self.heart.ended().is_some();
            if is_over || reports.iter().all(Option::is_some) {
                return Ok(judge::hosts(&self.spec, &reports));
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits for the results of all ranks, as long as those that lack one show signs of life.
    fn judge_stage(&self, stage: &str) -> Result<StageVerdict> {
        let mut silence = Silence::new(self.spec.ranks);
        loop {
            let mut results: Vec<Option<RankResult>> = Vec::new();
            let mut is_waiting = false;
            for rank in 0..self.spec.ranks {
                let result = read_json(&self.files.result(stage, rank))?;
                if result.is_none() {
                    let beat = read_json::<Beat>(&self.files.beat(rank))?.map(|beat| beat.count);
                    is_waiting |= silence.hear(rank, beat) <= self.patience();
                }
                results.push(result);
            }
            if !is_waiting || self.heart.ended().is_some() {
                return Ok(stage::judge(&results));
            }
            thread::sleep(LOOK);
        }
    }
}
