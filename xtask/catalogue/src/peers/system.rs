//! What a framework needs of the system: looked for before anything is built.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use weighbridge_python::{Peer, SystemPackage};

/// The packages that would bring what a peer needs and what is not on this search path.
pub(super) fn missing(peer: &Peer, path: Option<&OsStr>) -> Vec<&'static str> {
    let absent = peer.system.iter().filter(|package| !is_there(package, path));
    absent.map(SystemPackage::package).collect()
}

fn is_there(package: &SystemPackage, path: Option<&OsStr>) -> bool {
    let program = |name: &str| {
        path.into_iter()
            .flat_map(std::env::split_paths)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    };
    match package {
        SystemPackage::Program(name) => program(name).is_some(),
        SystemPackage::Library { module, .. } => program("pkg-config").is_some_and(|asked| {
            let mut asked = Command::new(asked);
            asked.args(["--exists", module]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            asked.status().is_ok_and(|ended| ended.success())
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use weighbridge_python::find;

    use super::*;

    #[test]
    fn only_what_is_absent_is_named() {
        let place = tempfile::tempdir().expect("a folder");
        let path = Some(place.path().as_os_str());
        let ffcv = find("ffcv").expect("known");
        assert_eq!(missing(ffcv, path), ["g++", "pkg-config", "libopencv-dev", "libturbojpeg0-dev"]);
        std::fs::write(place.path().join("g++"), "").expect("written");
        let asked = place.path().join("pkg-config");
        std::fs::write(&asked, "#!/bin/sh\n[ \"$2\" = libturbojpeg ]\n").expect("written");
        std::fs::set_permissions(&asked, std::fs::Permissions::from_mode(0o755)).expect("ours");
        // Another test that starts a process may hold the script open for a moment.
        let mut looks = std::iter::repeat_with(|| missing(ffcv, path)).take(100);
        assert!(looks.any(|missing| missing == ["libopencv-dev"]));
        assert!(missing(find("grain").expect("known"), None).is_empty());
    }
}
