//! One stage of one rank: the program is started with the rank's variables, and its end is written down.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use weighbridge::data::{Layout, RunStatus, Runs};

use super::beat::Heart;
use super::judge::StageVerdict;
use super::names::{ATTEMPT, DUEL, LAUNCH_FOLDER, PER_HOST};
use super::rank::LaunchRank;
use super::report::host;
use crate::error::{LaunchError, Result};
use crate::folder::{LaunchFolder, RankFiles};
use crate::spec::{LaunchSpec, SpecStage};

/// The end of a stage on one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankResult {
    pub(crate) rank: u32,
    pub(crate) host: String,
    /// The program's exit code; `None` where a signal ended it.
    pub(crate) code: Option<u8>,
    pub(crate) signal: Option<i32>,
    pub(crate) seconds: f64,
    /// The reason why this rank's agent ended the program, if it did.
    pub(crate) ended: Option<String>,
}

impl RankResult {
    /// The end of a stage that this rank went through before the launch was broken off.
    fn of_before(rank: u32) -> Self {
        Self { rank, host: host(), code: Some(0), signal: None, seconds: 0.0, ended: None }
    }

    /// Tells whether the program ended as one that may have a verdict: 3 is a regression, 5 is open.
    pub(crate) fn is_measured(&self) -> bool {
        self.ended.is_none() && matches!(self.code, Some(0 | 3 | 5))
    }

    /// The end, in words.
    pub(crate) fn told(&self) -> String {
        let how = match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".to_owned(),
        };
        let why = self.ended.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        format!("rank {} on {}: {how}{why}", self.rank, self.host)
    }
}

/// Judges a stage from the results of its ranks, of which those that are missing are `None`.
pub(crate) fn judge(results: &[Option<RankResult>]) -> StageVerdict {
    let mut wrong = Vec::new();
    for (rank, result) in results.iter().enumerate() {
        match result {
            None => wrong.push(format!("rank {rank} is gone without a word")),
            Some(result) if result.is_measured() => {}
            Some(result) => wrong.push(result.told()),
        }
    }
    StageVerdict { goes_on: wrong.is_empty(), wrong, notes: Vec::new() }
}

/// Flags that hold of a run that is gone on with: what selects or measures is in its plan.
const BESIDE_RESUME: [&str; 3] = ["--allow-different-machine", "--no-lock", "--quiet"];

/// A rank that is to go through a stage.
pub(super) struct StageRun<'a> {
    pub(super) spec: &'a LaunchSpec,
    pub(super) rank: LaunchRank,
    pub(super) folder: &'a LaunchFolder,
    pub(super) files: &'a RankFiles,
    pub(super) attempt: u32,
    pub(super) heart: &'a Heart,
}

impl StageRun<'_> {
    /// Runs the program of a stage to its end.
    pub(super) fn measure(&self, stage: &SpecStage) -> Result<RankResult> {
        let (rank, log) = (self.rank.rank, self.files.log(&stage.name, self.rank.rank));
        let data = self.folder.data(&stage.name, rank);
        // Rank 0's run is that of all ranks: what each has lost of it is measured by all once more.
        let is_resumed = self.spec.is_resumed && self.spec.duel.is_none();
        let before = is_resumed.then(|| newest(&self.folder.data(&stage.name, 0))).flatten();
        if let Some((_, RunStatus::Complete)) = before {
            return Ok(RankResult::of_before(rank));
        }
        let rendezvous = self.folder.rendezvous(&stage.name, self.attempt);
        let comparison = self.files.comparison(&stage.name, rank);
        for folder in [Some(data.as_path()), Some(&rendezvous), log.parent(), comparison.parent()] {
            let folder = folder.expect("files of a launch lie in folders");
            fs::create_dir_all(folder).map_err(LaunchError::io("make", folder))?;
        }
        let out = File::create(&log).map_err(LaunchError::io("write", &log))?;
        let err = out.try_clone().map_err(LaunchError::io("write", &log))?;
        // Of two programs neither is the judge of both: this one is, in a process of its own.
        let is_duel = self.spec.duel.is_some();
        let program = if is_duel { self.folder.tool() } else { self.folder.program() };
        let mut command = Command::new(&program);
        if is_duel {
            command.arg(DUEL).arg(self.folder.root()).arg(&stage.name).arg(self.rank.local.to_string());
            command.arg(&comparison);
        } else if let Some((run, _)) = before {
            let beside = stage.args.iter().filter(|flag| BESIDE_RESUME.contains(&flag.as_str()));
            command.args(["--bench", "--resume", &run]).args(beside);
        } else {
            command.arg("--bench").args(&stage.args);
        }
        // Ranks of one host measure at the same time, and mean to.
        command.args((self.rank.local > 0 && !is_duel).then_some("--no-lock"));
        command.current_dir(self.folder.bundle()).stdin(Stdio::null()).stdout(out).stderr(err);
        for (name, value) in [
            ("WEIGHBRIDGE_RANK", rank.to_string()),
            ("WEIGHBRIDGE_RANKS", self.rank.ranks.to_string()),
            ("WEIGHBRIDGE_LOCAL_RANK", self.rank.local.to_string()),
            ("WEIGHBRIDGE_LAUNCH", format!("{}.{}.{}", self.spec.launch, stage.name, self.attempt)),
        ] {
            command.env(name, value);
        }
        command.env("WEIGHBRIDGE_RENDEZVOUS", &rendezvous).env("WEIGHBRIDGE_DATA", &data);
        command.env_remove(LAUNCH_FOLDER).env_remove(ATTEMPT);
        self.heart.begin(&stage.name, Some(log));
        let begun = Instant::now();
        let mut child = command.spawn().map_err(LaunchError::io("start", &program))?;
        self.heart.has(Some(child.id()));
        // A wait and no looks: nothing of this process runs beside what is measured but the beats.
        let ended = child.wait().map_err(LaunchError::io("wait for", &program))?;
        self.heart.has(None);
        self.heart.done();
        Ok(RankResult {
            rank,
            host: host(),
            code: ended.code().map(|code| code as u8),
            signal: ended.signal(),
            seconds: begun.elapsed().as_secs_f64(),
            ended: self.heart.ended(),
        })
    }
}

/// The newest run of a data directory, and how it ended.
fn newest(data: &Path) -> Option<(String, RunStatus)> {
    let manifest = Runs::new(Layout::new(data)).newest_first().ok()?.next()?;
    Some((manifest.id.to_string(), manifest.status))
}

/// Starts the ranks of this host, and waits for all; the worst exit code of theirs.
pub(super) fn per_host(
    spec: &LaunchSpec,
    number: impl Fn(&str) -> Option<u32>,
) -> std::result::Result<u8, String> {
    let node = match spec.engine.as_str() {
        "sky" => number("SKYPILOT_NODE_RANK").ok_or("SKYPILOT_NODE_RANK is not set")?,
        "kubernetes" => number("JOB_COMPLETION_INDEX").ok_or("JOB_COMPLETION_INDEX is not set")?,
        _ => 0,
    };
    let tool = std::env::current_exe().map_err(|error| error.to_string())?;
    let first = node * spec.ranks_per_node();
    let last = (first + spec.ranks_per_node()).min(spec.ranks);
    let mut started: Vec<Child> = Vec::new();
    for rank in first..last {
        let mut command = Command::new(&tool);
        command.env_remove(PER_HOST).env("WEIGHBRIDGE_RANK", rank.to_string());
        command.env("WEIGHBRIDGE_RANKS", spec.ranks.to_string());
        command.env("WEIGHBRIDGE_LOCAL_RANK", (rank - first).to_string()).stdin(Stdio::null());
        started.push(command.spawn().map_err(|error| format!("failed to start rank {rank}: {error}"))?);
    }
    let mut worst = 0;
    for child in &mut started {
        let ended = child.wait().map_err(|error| error.to_string())?;
        worst = worst.max(ended.code().map_or(1, |code| code as u8));
    }
    Ok(worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(rank: u32, code: u8) -> Option<RankResult> {
        Some(RankResult {
            rank,
            host: format!("node{rank}"),
            code: Some(code),
            signal: None,
            seconds: 1.0,
            ended: None,
        })
    }

    #[test]
    fn a_stage_goes_on_when_every_rank_has_measured() {
        assert!(judge(&[result(0, 0), result(1, 3), result(2, 5)]).goes_on);
        let killed = RankResult { code: None, signal: Some(9), ..result(1, 0).unwrap() };
        let ended = RankResult { ended: Some("the job was ended".into()), ..result(2, 0).unwrap() };
        let verdict = judge(&[result(0, 7), Some(killed), Some(ended), None]);
        assert_eq!(
            verdict.wrong,
            [
                "rank 0 on node0: exit code 7",
                "rank 1 on node1: signal 9",
                "rank 2 on node2: exit code 0 (the job was ended)",
                "rank 3 is gone without a word"
            ]
        );
        assert!(!verdict.goes_on);
    }
}
