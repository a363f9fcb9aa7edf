//! The Python files that are put before a script by PYTHONPATH, and the plan that tells them what to do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Serialize;

use crate::error::{DoctorError, failed};

/// The name and the text of each file.
const FILES: [(&str, &str); 14] = [
    ("sitecustomize.py", include_str!("../hook/sitecustomize.py")),
    ("weighbridge_hook/__init__.py", include_str!("../hook/weighbridge_hook/__init__.py")),
    ("weighbridge_hook/arms.py", include_str!("../hook/weighbridge_hook/arms.py")),
    ("weighbridge_hook/fetches.py", include_str!("../hook/weighbridge_hook/fetches.py")),
    ("weighbridge_hook/frameworks.py", include_str!("../hook/weighbridge_hook/frameworks.py")),
    ("weighbridge_hook/imports.py", include_str!("../hook/weighbridge_hook/imports.py")),
    ("weighbridge_hook/journal.py", include_str!("../hook/weighbridge_hook/journal.py")),
    ("weighbridge_hook/loop.py", include_str!("../hook/weighbridge_hook/loop.py")),
    ("weighbridge_hook/on_others.py", include_str!("../hook/weighbridge_hook/on_others.py")),
    ("weighbridge_hook/on_torch.py", include_str!("../hook/weighbridge_hook/on_torch.py")),
    ("weighbridge_hook/places.py", include_str!("../hook/weighbridge_hook/places.py")),
    ("weighbridge_hook/quiet.py", include_str!("../hook/weighbridge_hook/quiet.py")),
    ("weighbridge_hook/sampler.py", include_str!("../hook/weighbridge_hook/sampler.py")),
    ("weighbridge_hook/state.py", include_str!("../hook/weighbridge_hook/state.py")),
];

/// The work of the hook in one run.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct HookPlan {
    /// `look` or `try`.
    pub(crate) mode: &'static str,
    /// This process: the script stands still for it alone.
    pub(crate) doctor: u32,
    /// Steps after which there was enough to look at.
    pub(crate) steps: Option<u64>,
    /// Seconds from the first batch on after which there was.
    pub(crate) seconds: Option<f64>,
    /// The key of the loop that is held.
    pub(crate) main: Option<String>,
    /// Steps of a block, and those before that count for nothing.
    pub(crate) block: u64,
    pub(crate) settle: u64,
    pub(crate) rounds: u64,
    /// The seed of the order of arms.
    pub(crate) seed: u64,
    /// The arms; all where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arms: Option<Vec<String>>,
}

/// The variable that names the folder of the hook: every process of a script has it.
pub(crate) const MARK: &str = "WEIGHBRIDGE_DOCTOR";

/// Writes the hook and its plan into a folder.
///
/// # Errors
/// That they cannot be written.
pub(crate) fn put(folder: &Path, plan: &HookPlan) -> Result<(), DoctorError> {
    let write = || {
        for (name, text) in FILES {
            let file = code(folder).join(name);
            fs::create_dir_all(file.parent().unwrap_or(folder))?;
            fs::write(file, text)?;
        }
        fs::write(folder.join("plan.json"), serde_json::to_string(plan)?)
    };
    write().map_err(failed("write the hook for Python"))
}

fn code(folder: &Path) -> PathBuf {
    folder.join("hook")
}

/// The variables that have Python find it.
pub(crate) fn variables(folder: &Path) -> Vec<(&'static str, OsString)> {
    let mut path = vec![code(folder)];
    path.extend(env::var_os("PYTHONPATH").iter().flat_map(env::split_paths));
    let joined = env::join_paths(path).unwrap_or_else(|_| code(folder).into_os_string());
    vec![("PYTHONPATH", joined), (MARK, folder.as_os_str().to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_hook_is_carried() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("hook/weighbridge_hook");
        let is_python = |name: &String| Path::new(name).extension().is_some_and(|kind| kind == "py");
        let there = fs::read_dir(folder).unwrap().flatten();
        let mut there: Vec<String> =
            there.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_python).collect();
        there.sort();
        let carried = FILES.iter().filter_map(|(name, _)| name.strip_prefix("weighbridge_hook/"));
        assert_eq!(carried.collect::<Vec<_>>(), there);
    }

    #[test]
    fn a_path_of_the_users_comes_after_the_hook() {
        let variables = variables(Path::new("/x"));
        assert!(variables[0].1.to_string_lossy().starts_with("/x/hook"), "{variables:?}");
    }
}
