//! Commands that may never answer, those of engines above all: each with a limit, its exit code looked at,
//! and what it said kept.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::error::{LaunchError, Result};

/// The most that is kept of what a command says: its end.
const KEPT: u64 = 1_000_000;
/// The first and the longest time between two looks for an end.
const LOOKS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// The answer of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EngineAnswer {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl EngineAnswer {
    /// Its complaint, else all that it said, in one line.
    pub(crate) fn complaint(&self) -> String {
        let text = if self.err.trim().is_empty() { &self.out } else { &self.err };
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = lines.join("; ");
        match (said.is_empty(), self.code) {
            (false, _) => said,
            (true, Some(code)) => format!("it ended with {code} and said nothing"),
            (true, None) => "it was ended by a signal and said nothing".to_owned(),
        }
    }

    pub(crate) fn is_fine(&self) -> bool {
        self.code == Some(0)
    }

    /// The answer of a command that said yes.
    ///
    /// # Errors
    /// When it said no: with its words.
    pub(crate) fn or_refuse(self, command: &str) -> Result<Self> {
        if self.is_fine() { Ok(self) } else { Err(LaunchError::engine(command, self.complaint())) }
    }
}

/// Runs a command to its end, with no input, in a group of its own: a Ctrl-C is ours to hear.
///
/// # Errors
/// When it is not there, or does not end within the limit: then it is killed with what it started.
pub(crate) fn ask(command: &mut Command, limit: Duration) -> Result<EngineAnswer> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: io::Error| LaunchError::engine(&name, error.to_string());
    let (ended, out, err) = run_within(command, limit).map_err(failed)?;
    Ok(EngineAnswer {
        code: ended.code(),
        out: newest(out).map_err(failed)?,
        err: newest(err).map_err(failed)?,
    })
}

/// Runs a command to its end, with no input, and returns all that it said.
///
/// # Errors
/// When it is not there, or does not end within the limit: then it is killed with what it started.
pub fn output_within(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let (status, out, err) = run_within(command, limit)?;
    Ok(Output { status, stdout: all_of(out)?, stderr: all_of(err)? })
}

fn run_within(command: &mut Command, limit: Duration) -> io::Result<(ExitStatus, File, File)> {
    // Files and no pipes: a server that the command leaves behind would hold a pipe open for ever.
    let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?);
    let mut child = command.process_group(0).spawn()?;
    let end = Instant::now() + limit;
    let [mut look, longest] = LOOKS;
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok((ended, out, err));
        }
        if Instant::now() >= end {
            // It may have ended meanwhile.
            let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
            child.wait()?;
            let said = format!("no answer within {} s", limit.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, said));
        }
        thread::sleep(look);
        look = (look * 2).min(longest);
    }
}

fn all_of(mut file: File) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Tells whether there is such a command.
pub(crate) fn is_there(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(command).is_file())
}

/// A word as `sh` reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The end of a file.
pub(crate) fn newest(mut file: File) -> std::io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut sh = Command::new("sh");
        sh.args(["-c", script]);
        sh
    }

    #[test]
    fn what_a_command_says_and_how_it_ends_are_both_kept() {
        let minute = Duration::from_mins(1);
        let said = ask(&mut sh("echo out; echo err >&2; exit 3"), minute).unwrap();
        assert_eq!(said, EngineAnswer { code: Some(3), out: "out\n".into(), err: "err\n".into() });
        let error = said.or_refuse("sbatch").unwrap_err().to_string();
        assert_eq!(error, "sbatch: err");
        assert!(ask(&mut sh("exit 4"), minute).unwrap().complaint().contains("ended with 4"));
        let none = ask(&mut Command::new("no-such-command-here"), minute).unwrap_err().to_string();
        assert!(none.starts_with("no-such-command-here: "), "{none}");
    }

    #[test]
    fn a_server_that_a_command_leaves_behind_does_not_keep_its_answer() {
        let said = ask(&mut sh("sleep 600 & echo $!"), Duration::from_mins(1)).unwrap();
        let server: i32 = said.out.trim().parse().unwrap();
        nix::sys::signal::kill(Pid::from_raw(server), Signal::SIGKILL).unwrap();
    }

    #[test]
    fn a_command_that_never_answers_is_killed_with_what_it_started() {
        let error = ask(&mut sh("sleep 600; true"), Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("no answer within 0 s"), "{error}");
    }

    #[test]
    fn all_that_is_asked_for_is_kept_of_a_long_answer_and_its_end_alone_of_a_flood() {
        let long = "head -c 3000000 /dev/zero | tr '\\0' x";
        let said = output_within(&mut sh(long), Duration::from_mins(1)).unwrap();
        assert!(said.status.success() && said.stdout.len() == 3_000_000);
        let said = ask(&mut sh("head -c 3000000 /dev/zero | tr '\\0' x; echo end"), Duration::from_mins(1));
        let out = said.unwrap().out;
        assert!(out.len() == 1_000_000 && out.ends_with("xend\n"));
    }

    #[test]
    fn a_quoted_word_is_read_back_by_a_shell() {
        for word in ["plain", "", "two words", "it's", "$(touch x)", "a\nb", "`x`;&|", "--flag=1"] {
            let said = ask(&mut sh(&format!("printf %s {}", quoted(word))), Duration::from_mins(1));
            assert_eq!(said.unwrap().out, word);
        }
    }
}
