//! An interpreter that was named (`--python`): every framework that it has runs under it, whatever is
//! installed elsewhere. For programs that are carried to a machine where nothing is installed for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::peer::{PEERS, Peer};

/// The environment variable that names it.
const PYTHON: &str = "WEIGHBRIDGE_PYTHON";

/// Asks for the versions of the packages that follow, those that are there, as a JSON object.
const QUESTION: &str = "\
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
";

/// An interpreter, and the packages that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPeer {
    /// Its path.
    pub(crate) path: PathBuf,
    /// The version of each framework's package that it has; or why it does not say.
    versions: Result<BTreeMap<String, String>, String>,
}

impl NamedPeer {
    /// The interpreter that was named, asked once; `None` where none was.
    pub(crate) fn get() -> Option<&'static Self> {
        static NAMED: OnceLock<Option<NamedPeer>> = OnceLock::new();
        let path = || std::env::var_os(PYTHON).filter(|path| !path.is_empty()).map(PathBuf::from);
        NAMED.get_or_init(|| path().map(|path| Self::ask(&path))).as_ref()
    }

    fn ask(path: &Path) -> Self {
        let packages = PEERS.iter().map(|peer| peer.package);
        let said = Command::new(path)
            .args(["-P", "-c", QUESTION])
            .args(packages)
            .env("PYTHONNOUSERSITE", "1") // as workers run
            .env_remove("PYTHONPATH")
            .stdin(Stdio::null())
            .output();
        let versions = match said {
            Err(error) => Err(format!("it cannot be started: {error}")),
            Ok(said) if !said.status.success() => {
                let words = String::from_utf8_lossy(&said.stderr);
                Err(words.lines().last().unwrap_or("it says nothing").to_owned())
            }
            Ok(said) => serde_json::from_slice(&said.stdout).map_err(|error| error.to_string()),
        };
        Self { path: path.to_owned(), versions }
    }

    /// The version of a framework that it has; else why not, and what brings it.
    pub(crate) fn version(&self, peer: &Peer) -> Result<String, (String, String)> {
        let path = self.path.display();
        let install = format!("{path} -m pip install {}", peer.package);
        match &self.versions {
            Err(why) => Err((format!("--python {path} does not say what it has: {why}"), install)),
            Ok(versions) => match versions.get(peer.package) {
                Some(version) => Ok(version.clone()),
                None => Err((format!("--python {path} has no {}", peer.package), install)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::peer::find;

    #[test]
    fn an_interpreter_that_is_named_says_what_it_has_and_what_it_has_not_comes_with_the_command() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("python");
        let ask = |script: &str| {
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
            // Another test that starts a process may hold the file open for a moment: then it is too busy to
            // be started.
            let mut asked = std::iter::repeat_with(|| NamedPeer::ask(&path));
            let busy = |named: &NamedPeer| named.versions.as_ref().is_err_and(|why| why.contains("busy"));
            asked.find(|named| !busy(named)).expect("it is closed at once")
        };
        let [torch, grain] = ["torch", "grain"].map(|short| find(short).expect("known"));
        let named = ask("echo '{\"torch\": \"2.9.1\"}'");
        assert_eq!(named.version(torch), Ok("2.9.1".to_owned()));
        let (why, install) = named.version(grain).expect_err("it has none");
        assert!(why.ends_with("/python has no grain") && install.ends_with("/python -m pip install grain"));
        let (why, _) = ask("echo 'no module' >&2; exit 1").version(torch).expect_err("it failed");
        assert!(why.ends_with("does not say what it has: no module"), "{why}");
        let (why, _) = NamedPeer::ask(&place.path().join("none")).version(torch).expect_err("not there");
        assert!(why.contains("it cannot be started"), "{why}");
    }
}
