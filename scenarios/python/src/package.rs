//! The worker's package: where it lies, and how a module of it is started.

use std::path::PathBuf;

use weighbridge::worker::Command;

/// The folder that the package `weighbridge_worker` is imported from, where it is not ours.
const PATH: &str = "WEIGHBRIDGE_WORKER_PATH";

/// A module of the folder of the worker's package, under this Python, as every worker of a framework is run.
pub(crate) fn module(python: PathBuf, module: &str) -> Command {
    let command = Command::new(python)
        .arg("-P") // nothing is imported from the current directory
        .arg("-m")
        .arg(module)
        .env("PYTHONPATH", package());
    VARIABLES.iter().fold(command, |command, (name, value)| command.env(name, value))
}

/// The folder of the worker's package: the one that is named, else the one in the sources that this was built
/// from, else a folder `python` beside the program, which was carried elsewhere, else one in the user's
/// cache, where a program that carries the package unpacks it.
pub(crate) fn package() -> PathBuf {
    if let Some(named) = std::env::var_os(PATH).filter(|path| !path.is_empty()) {
        return named.into();
    }
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("python"));
    let has_worker = |folder: &PathBuf| folder.join("weighbridge_worker").is_dir();
    let found = Some(sources.clone()).filter(has_worker).or_else(|| beside().filter(has_worker));
    #[cfg(feature = "embedded")]
    let found = found.or_else(|| crate::embedded::unpacked().ok());
    found.unwrap_or(sources)
}

/// The package that every worker of a framework is started from, as it is carried to other machines.
pub fn worker_package() -> PathBuf {
    package().join("weighbridge_worker")
}

/// Environment variables that Python and its frameworks get, beside those that every worker gets.
const VARIABLES: &[(&str, &str)] = &[
    ("PYTHONUNBUFFERED", "1"),
    ("PYTHONNOUSERSITE", "1"),
    ("PYTHONHASHSEED", "0"),
    ("TF_CPP_MIN_LOG_LEVEL", "2"),
    ("TQDM_DISABLE", "1"),
    ("HF_DATASETS_DISABLE_PROGRESS_BARS", "1"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0"),
    ("RAY_USAGE_STATS_ENABLED", "0"),
    ("RAY_DISABLE_IMPORT_WARNING", "1"),
    ("GRPC_VERBOSITY", "ERROR"),
    ("DAFT_PROGRESS_BAR", "0"),
    ("DO_NOT_TRACK", "true"),
];
