//! The folder of a kit: what lies in it, and how large it may be.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;
use weighbridge_xtask::stop;

use super::kit_programs::{self, compressed, copy_stripped, missing_elsewhere, oldest_glibc};

/// The most that a kit may hold: what is carried over a slow line within minutes.
const LARGEST: u64 = 60 << 20;

/// The scripts, by their places.
const SCRIPTS: &[(&str, &str)] = &[
    ("run.sh", include_str!("kit/run.sh")),
    ("beside.py", include_str!("kit/beside.py")),
    ("vit5.py", include_str!("kit/vit5.py")),
    ("spin.ptx", include_str!("kit/spin.ptx")),
    ("steps/01-smi.sh", include_str!("kit/steps/01-smi.sh")),
    ("steps/02-conformance.sh", include_str!("kit/steps/02-conformance.sh")),
    ("steps/03-modes.sh", include_str!("kit/steps/03-modes.sh")),
    ("steps/04-beside.sh", include_str!("kit/steps/04-beside.sh")),
    ("steps/05-table.sh", include_str!("kit/steps/05-table.sh")),
    ("steps/06-loader.sh", include_str!("kit/steps/06-loader.sh")),
    ("steps/07-eager.sh", include_str!("kit/steps/07-eager.sh")),
    ("steps/08-compiled.sh", include_str!("kit/steps/08-compiled.sh")),
    ("steps/09-train.sh", include_str!("kit/steps/09-train.sh")),
    ("steps/10-checkpoints.sh", include_str!("kit/steps/10-checkpoints.sh")),
    ("steps/11-inference.sh", include_str!("kit/steps/11-inference.sh")),
    ("steps/12-autotuned.sh", include_str!("kit/steps/12-autotuned.sh")),
];

/// Makes the folder, and says what is in it.
///
/// # Errors
/// That something is missing, that the folder is taken, or that the kit would be too large to be carried.
pub(super) fn pack(folder: &Path, from: Option<&Path>, place: &Place) -> Result<CommandOutput> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        let taken = folder.display();
        return Err(stop::usage(format!("{taken} is not empty: name another folder, or remove it")));
    }
    let programs = kit_programs::find(from, place)?;
    let mut kit = Kit { folder, text: String::new(), remarks: Vec::new() };
    let made = kit.fill(&programs, place).and_then(|()| kit.is_carried());
    if let Err(error) = made {
        // Half a kit is none.
        drop(fs::remove_dir_all(folder));
        return Err(error);
    }
    Ok(CommandOutput { remarks: kit.remarks, ..CommandOutput::fine(kit.text) })
}

/// A kit that is being made.
struct Kit<'a> {
    folder: &'a Path,
    text: String,
    remarks: Vec<String>,
}

impl Kit<'_> {
    fn fill(
        &mut self,
        programs: &std::collections::BTreeMap<&'static str, PathBuf>,
        place: &Place,
    ) -> Result<()> {
        for (name, text) in SCRIPTS {
            let to = self.folder.join(name);
            make(to.parent().unwrap_or(self.folder))?;
            fs::write(&to, text).with_context(|| format!("failed to write {}", to.display()))?;
        }
        executable(&self.folder.join("run.sh"))?;
        let mut facts = facts(&place.root);
        let bin = self.folder.join("bin");
        make(&bin)?;
        let mut oldest = None;
        for (name, from) in programs {
            let to = bin.join(name);
            if let Some(why) = copy_stripped(from, &to)? {
                self.remarks.push(format!("note: {name} keeps its symbols: {why}"));
            }
            let missing = missing_elsewhere(&to);
            if !missing.is_empty() {
                let all = missing.into_iter().collect::<Vec<_>>().join(", ");
                bail!("{name} needs {all}, which a bare machine may lack");
            }
            oldest = oldest.max(oldest_glibc(&to)?);
            let size = size_of(&to)?;
            let travels = size_of(&compressed(&to)?)?;
            writeln!(facts, "program {name} {size} bytes").expect("a String takes all");
            let (size, travels) = (mebibytes(size), mebibytes(travels));
            writeln!(self.text, "{travels:>10}  bin/{name}, {size} there").expect("a String takes all");
        }
        if let Some((major, minor)) = oldest {
            writeln!(facts, "needs glibc {major}.{minor}").expect("a String takes all");
            writeln!(self.text, "needs a C library of version {major}.{minor} or newer")
                .expect("a String takes all");
        }
        fs::write(self.folder.join("kit.txt"), facts).context("failed to write kit.txt")?;
        let package = weighbridge_python::worker_package();
        copy_sources(&package, &self.folder.join("python/weighbridge_worker"))
    }

    /// Holds the size against the most that is carried.
    fn is_carried(&mut self) -> Result<()> {
        let size = size_of(self.folder)?;
        if size > LARGEST {
            bail!("the kit has {}, and at most {} travel", mebibytes(size), mebibytes(LARGEST));
        }
        let (size, folder) = (mebibytes(size), self.folder.display());
        writeln!(
            self.text,
            "{size} in {folder}: carry it to the device, start ./run.sh there, and bring `results` back for \
             `cargo catalogue device unpack`"
        )
        .expect("a String takes all");
        Ok(())
    }
}

/// The facts of the kit that its results are told apart by.
fn facts(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let asked = Command::new("git").current_dir(root).args(arguments).output().ok()?;
        asked.status.success().then(|| String::from_utf8_lossy(&asked.stdout).trim().to_owned())
    };
    let mut facts = format!("weighbridge {}\n", env!("CARGO_PKG_VERSION"));
    if let Some(commit) = git(&["rev-parse", "HEAD"]) {
        let is_changed = git(&["status", "--porcelain"]).is_some_and(|changes| !changes.is_empty());
        let changed = if is_changed { ", changed" } else { "" };
        writeln!(facts, "commit {commit}{changed}").expect("a String takes all");
    }
    facts
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))
}

fn executable(file: &Path) -> Result<()> {
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("failed to make {} executable", file.display()))
}

/// Copies a package of Python without what an interpreter made of it.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    make(to)?;
    let entries = fs::read_dir(from).with_context(|| format!("failed to read {}", from.display()))?;
    for entry in entries {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            if name != "__pycache__" {
                copy_sources(&path, &to.join(name))?;
            }
        } else {
            fs::copy(&path, to.join(name)).with_context(|| format!("failed to copy {}", path.display()))?;
        }
    }
    Ok(())
}

/// Bytes of a file, or of all files of a folder.
fn size_of(path: &Path) -> Result<u64> {
    let about = fs::symlink_metadata(path).with_context(|| format!("failed to read {}", path.display()))?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    fs::read_dir(path)?.map(|entry| size_of(&entry?.path())).sum()
}

fn mebibytes(size: u64) -> String {
    format!("{:.1} MiB", size as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_of_the_kit_travels_and_every_step_says_its_limit() {
        let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/device/kit");
        let mut there: Vec<String> = Vec::new();
        for folder in ["", "steps"] {
            for entry in fs::read_dir(kit.join(folder)).unwrap().flatten() {
                if entry.path().is_file() {
                    there.push(Path::new(folder).join(entry.file_name()).display().to_string());
                }
            }
        }
        let mut named: Vec<&str> = SCRIPTS.iter().map(|(name, _)| *name).collect();
        there.sort();
        named.sort_unstable();
        assert_eq!(there, named);
        for (name, text) in SCRIPTS.iter().filter(|(name, _)| name.starts_with("steps/")) {
            let limit =
                text.lines().nth(1).and_then(|line| line.strip_prefix("# limit: ")?.strip_suffix(" s"));
            let limit: u32 = limit.and_then(|limit| limit.parse().ok()).unwrap_or_else(|| panic!("{name}"));
            assert!((60..=120).contains(&limit), "{name}: {limit}");
            assert!(!text.contains("cargo"), "{name}");
        }
    }
}
