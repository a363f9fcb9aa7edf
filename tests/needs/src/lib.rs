//! What some tests need of the machine that a Rust toolchain does not bring, and how a test says that it did
//! not run.
//!
//! A test that cannot run is green all the same. So it says `skipped: TEST: WHY` on the standard error of its
//! process, where everybody sees it: libtest holds back only what the printing macros write. If [`FILE`]
//! names a file, a line of it says the same. So `cargo lab ci` knows which tests were skipped, whatever
//! became of their output.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::Location;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

/// The variable that names the file of skipped tests. A line has a need, a test and a reason, with tabs
/// between them.
pub const FILE: &str = "WEIGHBRIDGE_SKIPPED_TESTS";

/// Something that a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The command `python3`: the workers of tests are written in Python.
    Python3,
    /// The command `cargo-nextest`.
    Nextest,
    /// The right to mount a file system, if only in a namespace of one's own.
    Mount,
    /// The browser Chromium: pages are tried in it.
    Chromium,
    /// The command `critcmp`: it reads what is exported for it.
    Critcmp,
    /// The command `promtool`, likewise.
    Promtool,
    /// A Python that has `tensorboard`, likewise.
    Tensorboard,
    /// A Python that has `wandb`, likewise.
    Wandb,
    /// A Python that has `mlflow`, likewise.
    Mlflow,
    /// The command `cargo-bench-history`: it reads what is exported for it.
    CargoBenchHistory,
    /// A Python that has `calibrax`, likewise.
    Calibrax,
    /// A Python that has `mlperf_logging`, likewise.
    MlperfLogging,
    /// A Python that has `otava`: our change points are held against its.
    Otava,
    /// The schema of `JUnit` files that Jenkins takes, which a variable names, and the command `xmllint`.
    JunitXsd,
    /// The package Orbax, as `cargo catalogue peers install orbax` installs it: its suite files are read.
    Orbax,
    /// The command `actionlint`: it reads the workflows that users copy.
    Actionlint,
    /// The command `check-jsonschema`, likewise.
    CheckJsonschema,
    /// The command `reframe`: a recipe for it is run.
    Reframe,
    /// The command `jube`, likewise.
    Jube,
    /// The command `moto_server`: an object store of the S3 kind on this machine.
    Moto,
    /// The command `c++`: kernels for a device are compiled for the host, and tried there.
    Cxx,
    /// The library NVRTC: it compiles kernels for a device, and needs none itself.
    Nvrtc,
    /// Slurm's daemons and commands, munge, and root's right to make namespaces.
    Slurm,
    /// The command `mpirun`.
    Mpirun,
    /// The command `kubernetes-validate`: it reads job files.
    KubernetesValidate,
    /// The command `ray`, and the right to make a namespace of processes: it leaves none behind so.
    Ray,
    /// A Python that has `sky`, which a variable may name.
    Sky,
}

impl Need {
    /// All of them.
    pub const ALL: [Self; 27] = [
        Self::Python3,
        Self::Nextest,
        Self::Mount,
        Self::Chromium,
        Self::Critcmp,
        Self::Promtool,
        Self::Tensorboard,
        Self::Wandb,
        Self::Mlflow,
        Self::CargoBenchHistory,
        Self::Calibrax,
        Self::MlperfLogging,
        Self::Otava,
        Self::JunitXsd,
        Self::Orbax,
        Self::Actionlint,
        Self::CheckJsonschema,
        Self::Reframe,
        Self::Jube,
        Self::Moto,
        Self::Cxx,
        Self::Nvrtc,
        Self::Slurm,
        Self::Mpirun,
        Self::Sky,
        Self::Ray,
        Self::KubernetesValidate,
    ];

    /// What it is called, as in `cargo lab ci --must-run python3`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python3 => "python3",
            Self::Nextest => "nextest",
            Self::Mount => "mount",
            Self::Chromium => "chromium",
            Self::Critcmp => "critcmp",
            Self::Promtool => "promtool",
            Self::Tensorboard => "tensorboard",
            Self::Wandb => "wandb",
            Self::Mlflow => "mlflow",
            Self::CargoBenchHistory => "cargo-bench-history",
            Self::Calibrax => "calibrax",
            Self::MlperfLogging => "mlperf_logging",
            Self::Otava => "otava",
            Self::JunitXsd => "junit-xsd",
            Self::Orbax => "orbax",
            Self::Actionlint => "actionlint",
            Self::CheckJsonschema => "check-jsonschema",
            Self::Reframe => "reframe",
            Self::Jube => "jube",
            Self::Moto => "moto",
            Self::Cxx => "c++",
            Self::Nvrtc => "nvrtc",
            Self::Slurm => "slurm",
            Self::Mpirun => "mpirun",
            Self::Sky => "sky",
            Self::Ray => "ray",
            Self::KubernetesValidate => "kubernetes-validate",
        }
    }

    fn why(self) -> &'static str {
        match self {
            Self::Python3 => "there is no `python3`",
            Self::Nextest => "there is no `cargo-nextest`",
            Self::Mount => "this user may not mount a file system, not even in a namespace of its own",
            Self::Chromium => "there is no `chromium`",
            Self::Critcmp => "there is no `critcmp`",
            Self::Promtool => "there is no `promtool`",
            Self::Tensorboard => "no Python here has `tensorboard`",
            Self::Wandb => "no Python here has `wandb`",
            Self::Mlflow => "no Python here has `mlflow`",
            Self::CargoBenchHistory => "there is no `cargo-bench-history`",
            Self::Calibrax => "no Python here has `calibrax`",
            Self::MlperfLogging => "no Python here has `mlperf_logging`",
            Self::Otava => "no Python here has `otava`",
            Self::JunitXsd => "`WEIGHBRIDGE_JUNIT_XSD` names no schema, or there is no `xmllint`",
            Self::Orbax => "Orbax is not installed: `cargo catalogue peers install orbax`",
            Self::Actionlint => "there is no `actionlint`",
            Self::CheckJsonschema => "there is no `check-jsonschema`",
            Self::Reframe => "there is no `reframe`, and `WEIGHBRIDGE_REFRAME` names none",
            Self::Jube => "there is no `jube`, and `WEIGHBRIDGE_JUBE` names none",
            Self::Moto => "there is no `moto_server`, and `WEIGHBRIDGE_MOTO` names none",
            Self::Cxx => "there is no `c++`",
            Self::Nvrtc => "there is no library `libnvrtc`",
            Self::Mpirun => "there is no `mpirun`",
            Self::KubernetesValidate => "there is no `kubernetes-validate`",
            Self::Ray => "there is no `ray`, or this user may make no namespace of processes",
            Self::Sky => "no Python here has `sky`, and `WEIGHBRIDGE_SKY_PYTHON` names none that has",
            Self::Slurm => {
                "there is no `slurmctld`, `slurmd` or `munged`, or this user may make no network of its own"
            }
        }
    }
}

/// Whether there is a `python3`. If not, the calling test is said to be skipped; it then returns.
#[track_caller]
#[must_use]
pub fn python3() -> bool {
    let there = succeeds(Command::new("python3").arg("--version"));
    there || skipped(Need::Python3)
}

/// Whether there is a `cargo-nextest`. If not, the calling test is said to be skipped; it then returns.
#[track_caller]
#[must_use]
pub fn nextest() -> bool {
    let there = succeeds(Command::new("cargo-nextest").arg("--version"));
    there || skipped(Need::Nextest)
}

/// The command that starts Chromium. `None` if there is none: the calling test is then said to be skipped,
/// and returns.
#[track_caller]
#[must_use]
pub fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.into_iter().find(|name| succeeds(Command::new(name).arg("--version")));
    if found.is_none() {
        skipped(Need::Chromium);
    }
    found
}

/// Whether there is a command of this need's name. If not, the calling test is said to be skipped; it then
/// returns.
#[track_caller]
#[must_use]
pub fn command(need: Need) -> bool {
    // Not every command has a version to tell.
    let answers = |flag| succeeds(Command::new(need.name()).arg(flag));
    ["--version", "--help"].iter().any(answers) || skipped(need)
}

/// The variable that names the Python with the modules that tests read exports with.
pub const READERS: &str = "WEIGHBRIDGE_TRACKER_PYTHON";

/// A Python that has the module of this need's name: the one that [`READERS`] names, else `python3`. `None`
/// if it has not: the calling test is then said to be skipped, and returns.
#[track_caller]
#[must_use]
pub fn python_with(need: Need) -> Option<String> {
    let python = std::env::var(READERS).unwrap_or_else(|_| "python3".to_owned());
    let there = succeeds(Command::new(&python).args(["-c", &format!("import {}", need.name())]));
    if !there {
        skipped(need);
    }
    there.then_some(python)
}

/// The variable that names the schema of `JUnit` files that Jenkins takes, `junit-10.xsd`: it is not ours to
/// hand on.
pub const JUNIT_XSD: &str = "WEIGHBRIDGE_JUNIT_XSD";

/// The schema that [`JUNIT_XSD`] names, where `xmllint` is there to hold a file against it. `None` if one of
/// the two is not: the calling test is then said to be skipped, and returns.
#[track_caller]
#[must_use]
pub fn junit_xsd() -> Option<String> {
    let schema = std::env::var(JUNIT_XSD).ok().filter(|schema| !schema.is_empty());
    let there = schema.is_some() && succeeds(Command::new("xmllint").arg("--version"));
    if !there {
        skipped(Need::JunitXsd);
    }
    schema.filter(|_| there)
}

/// The variable that names the command `moto_server` where it is not on the path.
pub const MOTO: &str = "WEIGHBRIDGE_MOTO";

/// The command that starts an object store: the one that [`MOTO`] names, else `moto_server`. `None` if it is
/// not there: the calling test is then said to be skipped, and returns.
#[track_caller]
#[must_use]
pub fn moto_server() -> Option<String> {
    let server = std::env::var(MOTO).unwrap_or_else(|_| "moto_server".to_owned());
    let there = succeeds(Command::new(&server).arg("--help"));
    if !there {
        skipped(Need::Moto);
    }
    there.then_some(server)
}

/// The command of a launcher that runs a recipe: the one that `WEIGHBRIDGE_REFRAME` or `WEIGHBRIDGE_JUBE`
/// names, else the one of the need's name. `None` if it is not there: the calling test is then said to be
/// skipped, and returns.
#[track_caller]
#[must_use]
pub fn launcher(need: Need) -> Option<String> {
    let variable = format!("WEIGHBRIDGE_{}", need.name().to_uppercase());
    let command = std::env::var(variable).unwrap_or_else(|_| need.name().to_owned());
    let there = succeeds(Command::new(&command).arg("--version"));
    if !there {
        skipped(need);
    }
    there.then_some(command)
}

/// The variable that names the Python with `SkyPilot`.
pub const SKY: &str = "WEIGHBRIDGE_SKY_PYTHON";

/// A Python that has `SkyPilot`: the one that [`SKY`] names, else `python3`. `None` if it has not: the
/// calling test is then said to be skipped, and returns.
#[track_caller]
#[must_use]
pub fn sky() -> Option<String> {
    let python = std::env::var(SKY).unwrap_or_else(|_| "python3".to_owned());
    let there = succeeds(Command::new(&python).args(["-c", "import sky"]));
    if !there {
        skipped(Need::Sky);
    }
    there.then_some(python)
}

/// Whether there is a `ray` that can be ended whole. If not, the calling test is said to be skipped; it then
/// returns.
#[track_caller]
#[must_use]
pub fn ray() -> bool {
    let mut space = Command::new("unshare");
    space.args(["--pid", "--fork", "--kill-child", "--mount-proc", "true"]);
    succeeds(Command::new("ray").arg("--version")) && succeeds(&mut space) || skipped(Need::Ray)
}

/// Whether there is all that a cluster of Slurm takes. If not, the calling test is said to be skipped; it
/// then returns.
#[track_caller]
#[must_use]
pub fn slurm() -> bool {
    let programs = ["slurmctld", "slurmd", "munged", "sbatch", "srun", "ip", "nsenter"];
    let has = |name: &str| succeeds(Command::new("sh").args(["-c", &format!("command -v {name}")]));
    let mut space = Command::new("unshare");
    // A user namespace does not do: munged and slurmd want root among the machine's users.
    space.args([
        "--net", "--uts", "--pid", "--fork", "--mount", "ip", "link", "add", "name", "b0", "type", "bridge",
    ]);
    programs.iter().all(|name| has(name)) && succeeds(&mut space) || skipped(Need::Slurm)
}

/// Passes on whether NVRTC was found. If not, the calling test is said to be skipped; it then
/// returns.
#[track_caller]
#[must_use]
pub fn nvrtc(there: bool) -> bool {
    there || skipped(Need::Nvrtc)
}

/// The folder of the installed Orbax, if it is this one. `None` if it is not there: the calling test is then
/// said to be skipped, and returns.
#[track_caller]
#[must_use]
pub fn orbax(folder: Option<PathBuf>) -> Option<PathBuf> {
    let there = folder.filter(|folder| folder.join("venv").is_dir());
    if there.is_none() {
        skipped(Need::Orbax);
    }
    there
}

/// `sh -c SCRIPT`, in a namespace where it may mount file systems; they go with it. `None` if this user may
/// not do that: the calling test is then said to be skipped, and returns.
#[track_caller]
#[must_use]
pub fn mounting(script: &str) -> Option<Command> {
    let shell = |way: &[&str], script: &str| {
        let mut command = Command::new("unshare");
        command.args(way).args(["--", "sh", "-c", script]);
        command
    };
    // Root may mount as it is. Anybody may be root among users of their own, unless the machine forbids it.
    let ways: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];
    let may = |way: &&&[&str]| succeeds(&mut shell(way, "mount -t tmpfs -o size=64k tmpfs /tmp"));
    let Some(way) = ways.iter().find(may) else {
        skipped(Need::Mount);
        return None;
    };
    Some(shell(way, script))
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Says that the calling test is skipped, and gives `false`: what it needs is not there.
#[track_caller]
fn skipped(need: Need) -> bool {
    // libtest names the thread of a test after it. If it runs all tests on its first thread, the calling line
    // must do.
    let test = match thread::current().name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => Location::caller().to_string(),
    };
    // In one piece, since other tests write too. That nobody may be reading is no reason to fail.
    drop(io::stderr().write_all(format!("skipped: {test}: {}\n", need.why()).as_bytes()));
    if let Some(file) = std::env::var_os(FILE) {
        let line = format!("{}\t{test}\t{}\n", need.name(), need.why());
        let file = OpenOptions::new().create(true).append(true).open(file);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the file of skipped tests can be written");
    }
    false
}
