//! Where faults are made: the bench program, a folder for each fault, and what is found there afterwards.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weighbridge::data::{Layout, PrunePolicy, RunStatus, Runs};

use super::toll::Harm;
use crate::programs::BuiltProgram;

/// Holds the mark of a fault, by which all processes are found that it left.
const MARK: &str = "STORM_MARK";
/// Holds the file into which each body writes that it was executed.
const LOG: &str = "STORM_LOG";

/// What no command takes on a busy machine.
pub(super) const DEADLINE: Duration = Duration::from_mins(1);
/// How long processes may go on after the one that started them was killed.
const GONE: Duration = Duration::from_secs(5);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// A run of every scenario: as short as a run can be.
pub(super) const ARGS: &[&str] = &["--profile=quick", "--measurement-time", "0.002", "--repeats", "2"];

/// Where faults are made.
#[derive(Debug)]
pub(super) struct Lab {
    /// The bench program, in the lab's folder, where every user can run it.
    pub(super) program: PathBuf,
    /// Where cargo would run it.
    directory: PathBuf,
    /// The tool.
    xtask: PathBuf,
    folder: PathBuf,
    /// The names of the journal of an unbroken run.
    pub(super) journal: Vec<String>,
    /// How long an unbroken run takes.
    pub(super) length: Duration,
}

/// The place of one fault.
#[derive(Debug)]
pub(super) struct FaultTrial {
    pub(super) folder: PathBuf,
    mark: String,
}

/// A command that has ended, or was ended at its deadline.
#[derive(Debug)]
pub(super) struct EndedCommand {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) hung: bool,
    /// What it said on both of its outputs.
    pub(super) said: String,
}

impl Lab {
    /// A folder for temporary files, with the program in it.
    ///
    /// # Errors
    /// When it cannot be made, or the program does not run.
    pub(super) fn new(program: &BuiltProgram, xtask: PathBuf) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("weighbridge-storm-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
        let own = folder.join("program");
        fs::copy(&program.path, &own).with_context(|| format!("failed to write `{}`", own.display()))?;
        for path in [&folder, &own] {
            fs::set_permissions(path, Permissions::from_mode(0o755))?;
        }
        let directory = program.directory.clone();
        let mut lab =
            Self { program: own, directory, xtask, folder, journal: Vec::new(), length: Duration::default() };
        let whole = lab.trial("whole")?;
        let begun = Instant::now();
        let ended = whole.finish(&mut lab.bench(&whole, ARGS))?;
        lab.length = begun.elapsed();
        let Some(run) = whole.runs().pop().filter(|_| ended.code == Some(0)) else {
            bail!("a run that nothing is done to fails: {}", ended.said);
        };
        lab.journal = whole.journal(&run).into_keys().collect();
        Ok(lab)
    }

    /// A place for a fault, with an empty data directory and a folder of its own for temporary files.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn trial(&self, name: &str) -> Result<FaultTrial> {
        let trial =
            FaultTrial { folder: self.folder.join(name), mark: format!("{}-{name}", std::process::id()) };
        let made = fs::create_dir_all(trial.data()).and_then(|()| fs::create_dir_all(trial.temporary()));
        made.with_context(|| format!("failed to make `{}`", trial.folder.display()))?;
        Ok(trial)
    }

    /// The bench program with these arguments, for a place of its own.
    pub(super) fn bench(&self, trial: &FaultTrial, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).args(["--no-lock", "--bench", "--data"]).arg(trial.data());
        self.settle(command, trial)
    }

    /// The same, started by a script of the shell, which has the program and its arguments as `"$0" "$@"`.
    pub(super) fn through(&self, trial: &FaultTrial, script: &str, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&self.program).args(args);
        command.args(["--no-lock", "--bench", "--data"]).arg(trial.data());
        self.settle(command, trial)
    }

    /// A command of the tool over the fault's data directory.
    pub(super) fn xtask(&self, trial: &FaultTrial, args: &[&str]) -> Command {
        let mut command = Command::new(&self.xtask);
        command.arg("--data").arg(trial.data()).args(args);
        self.settle(command, trial)
    }

    fn settle(&self, mut command: Command, trial: &FaultTrial) -> Command {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("WEIGHBRIDGE_") {
                command.env_remove(&name);
            }
        }
        command.env("TMPDIR", trial.temporary()).env(MARK, &trial.mark).env("CARGO_TERM_COLOR", "never");
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Removes all that was made here.
    pub(super) fn close(&self) {
        let _ = fs::remove_dir_all(&self.folder); // temporary files: the system removes them some day
    }
}

impl FaultTrial {
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    pub(super) fn store(&self) -> Runs {
        Runs::new(Layout::new(self.data()))
    }

    /// The names of the runs, oldest first.
    pub(super) fn runs(&self) -> Vec<String> {
        let mut names = names(&self.data().join("runs"));
        names.retain(|name| !name.starts_with('.'));
        names
    }

    /// What the repeats of all runs have printed, and what was found after each.
    fn logs(&self) -> String {
        let folders = self.runs().into_iter().map(|run| self.run(&run).join("logs"));
        let files = folders.flat_map(|logs| names(&logs).into_iter().map(move |name| logs.join(name)));
        files
            .filter_map(|file| fs::read(file).ok())
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .collect()
    }

    fn run(&self, run: &str) -> PathBuf {
        self.data().join("runs").join(run)
    }

    /// The names and contents of a run's journal.
    pub(super) fn journal(&self, run: &str) -> BTreeMap<String, Vec<u8>> {
        let folder = self.run(run).join("repeats");
        let whole = names(&folder).into_iter().filter(|name| !name.starts_with('.'));
        whole.filter_map(|name| Some((name.clone(), fs::read(folder.join(name)).ok()?))).collect()
    }

    /// Starts a command whose outputs go to a file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(&self, command: &mut Command) -> Result<Child> {
        let said = File::create(self.said())?;
        command.stdout(said.try_clone()?).stderr(said);
        command.spawn().with_context(|| format!("failed to start {}", command.get_program().display()))
    }

    fn said(&self) -> PathBuf {
        self.folder.join("said.txt")
    }

    /// Runs a command to its end, or to its deadline.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn finish(&self, command: &mut Command) -> Result<EndedCommand> {
        let child = self.start(command)?;
        self.wait(child)
    }

    /// Waits for a command, and ends it at its deadline.
    ///
    /// # Errors
    /// When the system does not tell how it ended.
    pub(super) fn wait(&self, mut child: Child) -> Result<EndedCommand> {
        let begun = Instant::now();
        let mut hung = false;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begun.elapsed() >= DEADLINE {
                hung = true;
                child.kill()?;
                break child.wait()?;
            }
            thread::sleep(PAUSE);
        };
        let said = String::from_utf8_lossy(&fs::read(self.said()).unwrap_or_default()).into_owned();
        Ok(EndedCommand { code: status.code(), signal: status.signal(), hung, said })
    }

    /// The processes that carry the mark.
    fn processes(&self) -> Vec<i32> {
        let entry = format!("{MARK}={}", self.mark);
        let carries = |process: &i32| {
            let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
        };
        names(Path::new("/proc")).iter().filter_map(|name| name.parse().ok()).filter(carries).collect()
    }

    /// Waits until no process is left, for which there is some time, and ends those that are.
    pub(super) fn expect_no_process(&self, harm: &mut Harm) {
        let begun = Instant::now();
        // One that is between fork and exec has no environment that can be read: so two looks must find
        // nobody.
        let mut empty = 0;
        let mut found = Vec::new();
        while empty < 2 && begun.elapsed() < GONE {
            thread::sleep(PAUSE);
            found = self.processes();
            empty = if found.is_empty() { empty + 1 } else { 0 };
        }
        for process in found {
            let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            harm.left.push(format!("process {process}: {}", line.trim()));
            let _ = kill(Pid::from_raw(process), Signal::SIGKILL); // it may have ended by now
        }
    }

    /// Whatever a command may do, it does not panic and does not hang, and no signal but ours ends it.
    #[expect(clippy::unused_self, reason = "as the other expectations are asked")]
    pub(super) fn expect_an_end(&self, ended: &EndedCommand, what: &str, harm: &mut Harm) {
        if ended.hung {
            harm.hung.push(format!("{what} took over {DEADLINE:?}: {}", last(&ended.said)));
        } else if let Some(signal) = ended.signal {
            harm.panicked.push(format!("{what} was ended by signal {signal}: {}", last(&ended.said)));
        } else if ended.code == Some(101) || ended.said.contains("runtime/src/") {
            harm.panicked.push(format!("{what} panicked: {}", last(&ended.said)));
        }
    }

    /// Takes up the only run again, if it was not complete, and compares what is there then with what was
    /// there before.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub(super) fn expect_a_resume(&self, lab: &Lab, harm: &mut Harm) -> Result<()> {
        let Some(run) = self.runs().pop() else { return Ok(()) };
        let before = self.journal(&run);
        let log = self.folder.join("resumed.txt");
        let mut command = lab.bench(self, &["--resume", &run, "--anyway"]);
        let ended = self.finish(command.env(LOG, &log))?;
        self.expect_an_end(&ended, "--resume", harm);
        let was_complete = ended.code == Some(2) && ended.said.contains("it is complete");
        if !was_complete && ended.code != Some(0) {
            harm.lost.push(format!("--resume ended with {:?}: {}", ended.code, last(&ended.said)));
        }
        self.expect_the_journal(lab, &run, &before, harm);
        let executed = fs::read_to_string(&log).unwrap_or_default();
        let missing = lab.journal.iter().filter(|name| !before.contains_key(*name));
        if let Some(what) = twice(missing.map(String::as_str), &executed) {
            harm.lost.push(what);
        }
        Ok(())
    }

    /// All repeats are there, and those that were there before are as they were.
    fn expect_the_journal(&self, lab: &Lab, run: &str, before: &BTreeMap<String, Vec<u8>>, harm: &mut Harm) {
        let after = self.journal(run);
        for name in lab.journal.iter().filter(|name| !after.contains_key(*name)) {
            harm.lost.push(format!("{name} is not there"));
        }
        for (name, bytes) in before.iter().filter(|(name, bytes)| after.get(*name) != Some(*bytes)) {
            let what = if after.contains_key(name) { "was changed" } else { "is gone" };
            harm.lost.push(format!("{name}, {} bytes, {what}", bytes.len()));
        }
        let id = run.parse().map_err(|_| format!("`{run}` is no run"));
        match id.and_then(|id| self.store().load_whole(&id).map_err(|error| error.to_string())) {
            Ok(whole) if whole.manifest.status == RunStatus::Complete => {}
            Ok(whole) => harm.lost.push(format!("the run is {:?}", whole.manifest.status)),
            Err(why) => harm.lost.push(why),
        }
    }

    /// Whatever can be seen of runs is whole: each can be read, as far as it goes.
    pub(super) fn expect_whole_records(&self, harm: &mut Harm) {
        match self.store().list() {
            Ok(listing) => {
                harm.lost
                    .extend(listing.broken.iter().map(|broken| format!("{}: {}", broken.name, broken.why)));
                for run in &listing.runs {
                    if let Err(error) = self.store().load_whole(&run.id) {
                        harm.lost.push(error.to_string());
                    }
                }
            }
            Err(error) => harm.lost.push(error.to_string()),
        }
    }

    /// No process, no scratch file, no temporary file, no shared memory; and what a writer was just writing
    /// when it was killed goes when it is pruned.
    pub(super) fn expect_nothing_left(&self, harm: &mut Harm) {
        self.expect_no_process(harm);
        harm.left.extend(names(&self.temporary()).into_iter().map(|name| format!("temporary file {name}")));
        for run in self.runs() {
            let scratch = names(&self.run(&run).join("scratch"));
            harm.left.extend(scratch.into_iter().map(|name| format!("scratch {name} of {run}")));
        }
        let shared = format!("weighbridge-storm-{}-", self.mark);
        for name in names(Path::new("/dev/shm")).into_iter().filter(|name| name.starts_with(&shared)) {
            let _ = fs::remove_file(Path::new("/dev/shm").join(&name)); // it is of no use
            // Of a process that somebody else has killed nobody knows what it had open: then the run names
            // what is there.
            if !self.logs().contains(&name) {
                harm.left.push(format!("shared memory {name}"));
            }
        }
        if let Err(error) =
            self.store().prune(PrunePolicy::default(), SystemTime::now() + Duration::from_hours(2))
        {
            harm.lost.push(format!("runs are not pruned: {error}"));
        }
        let mut folders = vec![self.data().join("runs")];
        folders.extend(self.runs().iter().flat_map(|run| {
            [None, Some("repeats"), Some("cases"), Some("logs")]
                .map(|part| part.map_or_else(|| self.run(run), |part| self.run(run).join(part)))
        }));
        for name in folders.iter().flat_map(|folder| names(folder)).filter(|name| name.starts_with('.')) {
            harm.left.push(format!("{name} after pruning"));
        }
    }

    /// Removes what was made for the fault.
    pub(super) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder); // temporary files: the system removes them some day
    }
}

/// What of a run was executed that was there, or more than once: `missing` are the names of repeats that were
/// to be executed, the log has the case of each that was.
fn twice<'a>(missing: impl Iterator<Item = &'a str>, executed: &str) -> Option<String> {
    let mut owed: BTreeMap<&str, i64> = BTreeMap::new();
    for name in missing {
        // `case.NUMBER.json`
        let case = name.rsplitn(3, '.').last().unwrap_or(name);
        *owed.entry(case).or_default() += 1;
    }
    for case in executed.lines() {
        *owed.entry(case).or_default() -= 1;
    }
    let wrong: Vec<String> = owed
        .iter()
        .filter(|(_, owed)| **owed < 0)
        .map(|(case, owed)| format!("{case} was executed {} times more than was missing", -owed))
        .collect();
    if wrong.is_empty() { None } else { Some(wrong.join(", ")) }
}

/// The last line of a text, which says what went wrong.
pub(super) fn last(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said")
}

/// The names in a folder, sorted; none where it is not there.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(home: &tempfile::TempDir) -> FaultTrial {
        let trial =
            FaultTrial { folder: home.path().to_owned(), mark: format!("test-{}", std::process::id()) };
        fs::create_dir_all(trial.temporary()).expect("writable");
        trial
    }

    #[test]
    fn a_repeat_that_was_executed_though_it_was_there_is_told() {
        let missing = ["plain_1@short.2.json", "scratch_1.1.json", "scratch_1.2.json"];
        assert_eq!(twice(missing.into_iter(), "scratch_1\nplain_1@short\nscratch_1\n"), None);
        assert_eq!(twice(missing.into_iter(), "scratch_1\n"), None, "what was not executed is not there");
        let told = twice(missing.into_iter(), "plain_1@short\nplain_1@short\nplain_1@long\n");
        let expected = "plain_1@long was executed 1 times more than was missing, plain_1@short was executed \
                        1 times more than was missing";
        assert_eq!(told.as_deref(), Some(expected));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_a_temporary_file_and_shared_memory_that_are_left_are_told_and_ended() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let trial = trial(&home);
        let mut harm = Harm::default();
        trial.expect_nothing_left(&mut harm);
        assert_eq!(harm, Harm::default());

        let mut left = Command::new("sleep").arg("992").env(MARK, &trial.mark).spawn().expect("sleep starts");
        fs::write(trial.temporary().join("wb-1"), "").expect("writable");
        trial.expect_nothing_left(&mut harm);
        assert_eq!(left.wait().expect("it was ended").signal(), Some(9));
        assert!(harm.left[0].ends_with("sleep 992") && harm.left[1] == "temporary file wb-1", "{harm:?}");
    }

    #[test]
    fn a_panic_a_signal_and_a_deadline_are_told_apart() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let trial = trial(&home);
        let ended = |code, signal, hung, said: &str| {
            let mut harm = Harm::default();
            trial.expect_an_end(&EndedCommand { code, signal, hung, said: said.into() }, "it", &mut harm);
            (harm.panicked.len(), harm.hung.len())
        };
        assert_eq!(ended(Some(1), None, false, "error: no"), (0, 0));
        assert_eq!(ended(Some(101), None, false, ""), (1, 0));
        assert_eq!(ended(Some(6), None, false, "x (/w/runtime/src/run/child.rs:1:2)"), (1, 0));
        assert_eq!(ended(None, Some(25), false, ""), (1, 0));
        assert_eq!(ended(None, Some(9), true, ""), (0, 1));
    }
}
