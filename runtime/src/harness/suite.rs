//! Which suite this binary is, and where its files lie: baked in by `main!()`, since a bench runs in its
//! package's folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::TargetError;
use crate::bencher::visible_in_line;

/// The facts that `main!()` bakes into a bench binary.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// `CARGO_TARGET_TMPDIR` of the build: absolute, below the target directory.
    pub target_tmp: Option<&'static str>,
    /// The package's name.
    pub package: &'static str,
    /// The package's version.
    pub version: &'static str,
    /// The bench target's name.
    pub target: &'static str,
    /// The package's directory.
    pub directory: &'static str,
    /// The crate whose scenarios alone run; `None`: all that are linked.
    pub family: Option<&'static str>,
}

impl Suite {
    /// The same in the folder of the package that cargo runs it for: a checkout may have moved since it was
    /// built.
    ///
    /// # Errors
    /// That it was built from another package that is still there. Cargo takes packages of one name in two
    /// workspaces for the same, where they share a target directory.
    pub(super) fn run_for(&self, package: &Path) -> Result<Self, TargetError> {
        let built = Path::new(self.directory);
        let place = |folder: &Path| fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        if place(built) == place(package) {
            return Ok(*self);
        }
        if built.join("Cargo.toml").exists() {
            let folder = |folder: &Path| visible_in_line(&folder.display().to_string());
            return Err(TargetError::OtherPackage { built: folder(built), run: folder(package) });
        }
        Ok(Self { directory: package.display().to_string().leak(), ..*self })
    }

    /// `<package>/<bench target>`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.package, self.target)
    }

    /// The directory of runs and baselines: the flag, else `weighbridge` in cargo's target directory.
    ///
    /// The bare `CARGO_TARGET_DIR` would be wrong: a relative one is relative to where cargo was called.
    pub(super) fn data(&self, flag: Option<&str>) -> PathBuf {
        if let Some(data) = flag {
            return Path::new(data).to_owned();
        }
        self.target_directory().join("weighbridge")
    }

    fn target_directory(&self) -> PathBuf {
        if let Some(target) = self.target_tmp.and_then(|tmp| Path::new(tmp).parent()) {
            return target.to_owned();
        }
        // Not built by cargo as a bench: `<target>/<profile>/deps/<binary>`, else beside the package.
        let program = env::current_exe().unwrap_or_default();
        let target = program.ancestors().nth(3).filter(|target| target.join("CACHEDIR.TAG").exists());
        target.map_or_else(|| Path::new(self.directory).join("target"), Path::to_owned)
    }

    /// The root of the workspace: the nearest folder upwards with a `Cargo.lock`, else the package's own.
    pub(super) fn workspace(&self) -> PathBuf {
        let package = Path::new(self.directory);
        package.ancestors().find(|folder| folder.join("Cargo.lock").exists()).unwrap_or(package).to_owned()
    }
}

/// The target by the name of its program, which cargo gives a hash: `sorting-0a1b2c3d4e5f6071`.
pub fn target_of_program() -> &'static str {
    let program = env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    let is_hash = |text: &str| text.len() == 16 && text.chars().all(|digit| digit.is_ascii_hexdigit());
    let name = match stem.rsplit_once('-') {
        Some((name, hash)) if is_hash(hash) => name,
        _ => &stem,
    };
    name.replace('-', "_").leak()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Exit;

    #[test]
    fn a_program_of_another_package_is_refused_and_one_whose_package_has_moved_is_run_where_that_is() {
        let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let directory: &'static str = there.path().display().to_string().leak();
        let suite =
            Suite { target_tmp: None, package: "p", version: "0", target: "t", directory, family: None };
        assert_eq!(suite.run_for(there.path()).unwrap().directory, directory);
        assert_eq!(Path::new(suite.run_for(here.path()).unwrap().directory), here.path(), "it has moved");
        fs::write(there.path().join("Cargo.toml"), "").unwrap();
        let refused = suite.run_for(here.path()).unwrap_err();
        assert_eq!(refused.exit(), Exit::NothingToJudge);
        assert!(refused.to_string().contains("share a target directory"), "{refused}");
    }
}
