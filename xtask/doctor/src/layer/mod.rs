//! A layer over all files: the script sees them as they are, and what it writes goes to a scratch folder.
//!
//! The doctor starts its own program anew for that, as `layer`: it enters a namespace of its own, lays the
//! layer, and becomes the script. Only that process and those below it see the layer, and it is gone with
//! them.

mod mounts;
mod scratch;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use serde::{Deserialize, Serialize};

pub(crate) use scratch::{Scratch, remove};

/// The variable that holds what is asked of a layer.
const VARIABLE: &str = "WEIGHBRIDGE_DOCTOR_LAYER";

/// The exit code of a layer that could not be laid.
pub(crate) const REFUSED: i32 = 125;

/// The exit codes of a shell for a program that is not there, or cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// A request to a layer.
#[derive(Debug, Serialize, Deserialize)]
struct LayerRequest {
    /// The scratch folder; nothing is laid over files where there is none.
    scratch: Option<PathBuf>,
    /// The folder for the answer.
    state: PathBuf,
    /// Whoever asks: the script ends with it.
    parent: i32,
    /// The program and its arguments, as the bytes that they are.
    script: Vec<Vec<u8>>,
}

/// The answer of a layer, before the script begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LayerAnswer {
    /// The reason why there is none.
    pub(crate) refused: Option<String>,
    /// The reason why the script could not be started.
    pub(crate) not_started: Option<String>,
    /// Folders that can be read and not written.
    pub(crate) read_only: Vec<PathBuf>,
}

/// The command that starts a script, below a layer where a scratch folder is named.
pub(crate) fn command(
    program: &Path,
    script: &[OsString],
    state: &Path,
    scratch: Option<&Path>,
) -> serde_json::Result<Command> {
    let request = LayerRequest {
        scratch: scratch.map(Path::to_owned),
        state: state.to_owned(),
        parent: std::process::id() as i32,
        script: script.iter().map(|word| word.as_bytes().to_vec()).collect(),
    };
    let mut command = Command::new(program);
    command.env(VARIABLE, serde_json::to_string(&request)?);
    Ok(command)
}

/// The answer of a layer; `None` where it gave none.
pub(crate) fn answer(state: &Path) -> Option<LayerAnswer> {
    serde_json::from_slice(&fs::read(file(state)).ok()?).ok()
}

fn file(state: &Path) -> PathBuf {
    state.join("layer.json")
}

/// Becomes the script, below a layer, where this program was started for that. It comes back with an exit
/// code where that cannot be; `None` where nobody asked for it.
pub(crate) fn layer() -> Option<ExitCode> {
    let request = env::var_os(VARIABLE)?;
    let request: LayerRequest = serde_json::from_slice(request.as_bytes()).ok()?;
    // Opened before the layer is laid: one that is laid in part may hide it.
    let mut file = File::create(file(&request.state)).ok();
    let mut answer = |answer: &LayerAnswer| {
        let text = serde_json::to_vec(answer).unwrap_or_default();
        // Without an answer the doctor knows of the exit code alone.
        let _ = file.as_mut().map(|file| file.set_len(0).and_then(|()| file.write_all_at(&text, 0)));
    };
    let mut given = LayerAnswer::default();
    match request.scratch.as_deref().map(mounts::lay).transpose() {
        Ok(read_only) => given.read_only = read_only.unwrap_or_default(),
        Err(refused) => {
            answer(&LayerAnswer { refused: Some(refused), ..given });
            return Some(ExitCode::from(REFUSED as u8));
        }
    }
    // A new user would forget it, so it comes last.
    let _ = set_pdeathsig(Signal::SIGKILL);
    if getppid().as_raw() != request.parent {
        return Some(ExitCode::FAILURE); // it has ended meanwhile
    }
    answer(&given);
    let words: Vec<OsString> = request.script.iter().map(|word| OsString::from_vec(word.clone())).collect();
    let error = become_script(&words);
    let code = if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED };
    answer(&LayerAnswer { not_started: Some(error.to_string()), ..given });
    Some(ExitCode::from(code))
}

fn become_script(words: &[OsString]) -> std::io::Error {
    let [program, arguments @ ..] = words else { return std::io::ErrorKind::InvalidInput.into() };
    Command::new::<&OsStr>(program).args(arguments).env_remove(VARIABLE).exec()
}
