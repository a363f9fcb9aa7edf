//! Scripts that go through epochs of a framework by hand, without the worker: what its figures are held
//! against. And modules that serve a model, which are no workers either.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use weighbridge::{Error, Result};

use crate::framework::python;
use crate::interpreter::Interpreter;
use crate::package::{module, package};
use crate::peer::{Peer, find};

/// The script of a framework. Whether it is there is for the caller to see.
pub fn script(peer: &Peer) -> PathBuf {
    package().join("by_hand").join(format!("{}.py", peer.short))
}

/// Starts the script of a framework in the environment that is installed below this home, with the variables
/// that its worker has: a library must find the same number of threads on both sides. What is to be done are
/// further arguments.
pub fn by_hand(peer: &Peer, home: &Path) -> Command {
    let mut command = module(peer.python(home), &format!("by_hand.{}", peer.short)).to_process();
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Starts a module of the worker's package that serves, in the environment of a framework: not as a worker,
/// and with as many threads as there are processors. What it serves are further arguments.
///
/// # Errors
/// A name that is in no table; no folder of frameworks.
pub fn serving(short: &str, served: &str) -> Result<Command> {
    let peer = find(short).ok_or_else(|| Error::new(format!("`{short}` is in no table of frameworks")))?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let command = module(python(peer, Interpreter::Default)?, served).threads(processors);
    let mut command = command.to_process();
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_script_runs_in_the_environment_of_its_framework_with_the_variables_of_a_worker() {
        let command = by_hand(find("datarax_scan").expect("known"), Path::new("/peers"));
        assert_eq!(command.get_program(), "/peers/datarax/venv/bin/python");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["-P", "-m", "by_hand.datarax_scan"]);
        let value =
            |name: &str| command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value);
        for (name, expected) in [("OMP_NUM_THREADS", "1"), ("JAX_PLATFORMS", "cpu"), ("PYTHONHASHSEED", "0")]
        {
            assert_eq!(value(name), Some(OsStr::new(expected)), "{name}");
        }
    }
}
