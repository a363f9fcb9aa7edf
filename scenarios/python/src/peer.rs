//! Which frameworks there are: what each is called, what it asks of the machine, and where it is installed.
//!
//! Each has a virtual environment of its own, made from a requirement file that names every package by
//! version and hash. Two peers may share one environment.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::package::package;

/// A framework that an adapter drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The adapter's exact name.
    pub name: &'static str,
    /// Its short name: that of its module below `weighbridge_worker/adapters`.
    pub short: &'static str,
    /// The short name of the peer whose environment it lives in; mostly its own.
    pub environment: &'static str,
    /// Its tier.
    pub tier: u8,
    /// The package whose version is the framework's.
    pub package: &'static str,
    /// The module that is imported.
    pub module: &'static str,
    /// The packages of the system that it needs and no Python package brings.
    pub system: &'static [SystemPackage],
    /// The contract that its worker opens, in the protocol's words: [`LOADER`], [`CHECKPOINTER`],
    /// [`TRAINER`], [`PREDICTOR`], [`LEARNER`], or [`SERVER`], which is no worker's.
    pub contract: &'static str,
}

/// A program or library of Debian's packages, and how to find out whether it is there, from wherever it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPackage {
    /// A program on the search path, called as its package is.
    Program(&'static str),
    /// A library with what compiling against it takes.
    Library {
        /// Its package.
        package: &'static str,
        /// The name that `pkg-config` knows it by.
        module: &'static str,
    },
}

impl SystemPackage {
    /// The package that brings it.
    pub fn package(&self) -> &'static str {
        match self {
            Self::Program(package) | Self::Library { package, .. } => package,
        }
    }
}

/// The contract of what feeds batches.
pub const LOADER: &str = "loader";

/// The contract of what saves states.
pub const CHECKPOINTER: &str = "checkpointer";

/// The contract of what trains models.
pub const TRAINER: &str = "trainer";

/// The contract of what predicts.
pub const PREDICTOR: &str = "predictor";

/// The contract of what serves models: it speaks no worker's protocol.
pub const SERVER: &str = "server";

/// The contract of what takes gradients through a pipeline.
pub const LEARNER: &str = "learner";

/// The Pythons that the requirement files hold for.
pub const PYTHONS: [&str; 3] = ["3.11", "3.12", "3.13"];

/// The Python without a global lock that they hold for, as `uv` calls it.
pub const FREE_THREADED: &str = "3.13t";

const fn peer(
    name: &'static str,
    short: &'static str,
    tier: u8,
    package: &'static str,
    module: &'static str,
) -> Peer {
    Peer { name, short, environment: short, tier, package, module, system: &[], contract: LOADER }
}

/// A system of another contract than that of loaders, in an environment that it may share.
const fn other(
    contract: &'static str,
    name: &'static str,
    short: &'static str,
    environment: &'static str,
    package: &'static str,
    module: &'static str,
) -> Peer {
    Peer { environment, contract, ..peer(name, short, 1, package, module) }
}

/// Every peer, in the order of tiers.
pub const PEERS: &[Peer] = &[
    peer("NumPy", "numpy", 1, "numpy", "numpy"),
    peer("Datarax", "datarax", 1, "datarax", "datarax"),
    Peer { environment: "datarax", ..peer("Datarax-scan", "datarax_scan", 1, "datarax", "datarax") },
    peer("Google Grain", "grain", 1, "grain", "grain"),
    Peer { environment: "grain", ..peer("Google Grain (ArrayRecord)", "grain_records", 1, "grain", "grain") },
    peer("jax-dataloader", "jax_dataloader", 1, "jax-dataloader", "jax_dataloader"),
    peer("tf.data", "tf_data", 2, "tensorflow-cpu", "tensorflow"),
    peer("PyTorch DataLoader", "torch", 2, "torch", "torch"),
    peer("TorchData", "torchdata", 2, "torchdata", "torchdata.stateful_dataloader"),
    peer("NVIDIA DALI", "dali", 2, "nvidia-dali-cuda120", "nvidia.dali"),
    Peer {
        // Its source is compiled against both, and it finds them by asking pkg-config.
        system: &[
            SystemPackage::Program("g++"),
            SystemPackage::Program("pkg-config"),
            SystemPackage::Library { package: "libopencv-dev", module: "opencv4" },
            SystemPackage::Library { package: "libturbojpeg0-dev", module: "libturbojpeg" },
        ],
        ..peer("FFCV", "ffcv", 2, "ffcv", "ffcv")
    },
    peer("SPDL", "spdl", 2, "spdl", "spdl.dataloader"),
    peer("MosaicML Streaming", "mosaic", 3, "mosaicml-streaming", "streaming"),
    peer("WebDataset", "webdataset", 3, "webdataset", "webdataset"),
    peer("HuggingFace Datasets", "hf_datasets", 3, "datasets", "datasets"),
    peer("Ray Data", "ray", 3, "ray", "ray.data"),
    peer("LitData", "litdata", 3, "litdata", "litdata"),
    peer("Energon", "energon", 3, "megatron-energon", "megatron.energon"),
    peer("Deep Lake", "deeplake", 3, "deeplake", "deeplake"),
    peer("Lance", "lance", 3, "pylance", "lance"),
    peer("Daft", "daft", 3, "daft", "daft"),
    other(CHECKPOINTER, "Orbax", "orbax", "orbax", "orbax-checkpoint", "orbax.checkpoint"),
    other(CHECKPOINTER, "TensorStore", "tensorstore", "orbax", "tensorstore", "tensorstore"),
    other(CHECKPOINTER, "PyTorch DCP", "torch_dcp", "torch", "torch", "torch.distributed.checkpoint"),
    other(CHECKPOINTER, "torch.save", "torch_save", "torch", "torch", "torch"),
    other(CHECKPOINTER, "safetensors (Python)", "safetensors", "torch", "safetensors", "safetensors.torch"),
    other(
        CHECKPOINTER,
        "Run:ai Model Streamer",
        "runai",
        "torch",
        "runai-model-streamer",
        "runai_model_streamer",
    ),
    other(CHECKPOINTER, "fastsafetensors", "fast_safetensors", "torch", "fastsafetensors", "fastsafetensors"),
    other(TRAINER, "PyTorch", "pytorch", "torch", "torch", "torch"),
    other(TRAINER, "JAX (Flax NNX)", "flax", "flax", "flax", "flax.nnx"),
    other(TRAINER, "Keras (TensorFlow)", "keras", "keras", "keras", "keras"),
    other(TRAINER, "Keras (JAX)", "keras_jax", "keras", "keras", "keras"),
    other(TRAINER, "Keras (PyTorch)", "keras_torch", "keras", "keras", "keras"),
    other(TRAINER, "TensorFlow", "tensorflow", "keras", "tensorflow-cpu", "tensorflow"),
    other(PREDICTOR, "PyTorch (inference)", "predict_torch", "torch", "torch", "torch"),
    other(PREDICTOR, "ONNX Runtime", "onnxruntime", "onnxruntime", "onnxruntime", "onnxruntime"),
    other(PREDICTOR, "OpenVINO", "openvino", "openvino", "openvino", "openvino"),
    other(PREDICTOR, "JAX", "predict_jax", "flax", "jax", "jax"),
    other(
        PREDICTOR,
        "TensorFlow (inference)",
        "predict_tensorflow",
        "tf_data",
        "tensorflow-cpu",
        "tensorflow",
    ),
    other(PREDICTOR, "NumPy (inference)", "predict_numpy", "numpy", "numpy", "numpy"),
    Peer {
        // It is compiled where it is installed.
        system: &[SystemPackage::Program("g++")],
        ..other(SERVER, "llama.cpp", "llama_cpp", "llama_cpp", "llama-cpp-python", "llama_cpp")
    },
    other(LEARNER, "Flax NNX", "nnx", "flax", "flax", "flax.nnx"),
    other(LEARNER, "PyTorch autograd", "torch_autograd", "torch", "torch", "torch"),
    other(LEARNER, "tf.GradientTape", "gradient_tape", "tf_data", "tensorflow-cpu", "tensorflow"),
];

/// The peer that is called so, by its exact or its short name.
pub fn find(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name || peer.short == name)
}

/// The folder that peers are installed in: `$WEIGHBRIDGE_PEERS`, else `weighbridge/peers` among the user's
/// data. `None` where there is no home to look in.
pub fn home() -> Option<PathBuf> {
    home_among(|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

fn home_among(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(named) = variable("WEIGHBRIDGE_PEERS") {
        return std::path::absolute(named).ok();
    }
    let data = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(variable("HOME")?.join(".local").join("share")))?;
    Some(data.join("weighbridge").join("peers"))
}

/// The folder in which the same peers are installed for Pythons without a global lock.
pub fn free_threaded(home: &Path) -> PathBuf {
    home.join("free-threaded")
}

/// The folder of requirement files: `<short>.in` says what is wanted, `<short>.txt` what is installed.
pub fn requirements() -> PathBuf {
    package().join("requirements")
}

/// The record of an installation: `installed.json` of an environment, which is written last, so that it
/// stands for a whole one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// The version of this file: 1.
    pub format: u32,
    /// The peer's exact name.
    pub name: String,
    /// Its short name.
    pub short: String,
    /// The framework's version.
    pub version: String,
    /// Python's version.
    pub python: String,
    /// [`Installation::hash`] of the requirement file that it was made from.
    pub requirements: String,
    /// Bytes on the disk that its files take, those included that it shares with other environments by hard
    /// links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// The version of `installed.json`.
const FORMAT: u32 = 1;

impl Installation {
    /// The record that says that this peer was installed.
    pub fn new(peer: &Peer, version: String, python: String, requirements: &[u8]) -> Self {
        let requirements = Self::hash(requirements);
        Self {
            format: FORMAT,
            name: peer.name.to_owned(),
            short: peer.short.to_owned(),
            version,
            python,
            requirements,
            size: None,
        }
    }

    /// The hash of a requirement file: 32 hexadecimal digits.
    pub fn hash(requirements: &[u8]) -> String {
        format!("{:032x}", xxhash_rust::xxh3::xxh3_128(requirements))
    }
}

/// The state of a peer's installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerState {
    /// It is there, whole.
    Installed(Installation),
    /// It is not there.
    Absent,
    /// Something is there that cannot be used: what is wrong.
    Broken(String),
}

impl Peer {
    /// The folder of its environment below the home of peers.
    pub fn folder(&self, home: &Path) -> PathBuf {
        home.join(self.environment)
    }

    /// Its Python.
    pub fn python(&self, home: &Path) -> PathBuf {
        self.folder(home).join("venv").join("bin").join("python")
    }

    /// The file that says that it is installed.
    pub fn installed_file(&self, home: &Path) -> PathBuf {
        self.folder(home).join("installed.json")
    }

    /// Its requirement file.
    pub fn requirement_file(&self) -> PathBuf {
        requirements().join(format!("{}.txt", self.environment))
    }

    /// Returns whether it lives in the environment of a peer of another package.
    fn is_guest(&self) -> bool {
        find(self.environment).is_some_and(|owner| owner.package != self.package)
    }

    /// The version of its package, as the environment's folder of packages names it:
    /// `<package>-<version>.dist-info`.
    fn version_in(&self, home: &Path) -> Option<String> {
        let begin = format!("{}-", self.package.replace('-', "_"));
        let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
        let pythons = entries(self.folder(home).join("venv").join("lib"));
        let packages = pythons.flat_map(|python| entries(python.path().join("site-packages")));
        let mut names = packages.filter_map(|package| package.file_name().into_string().ok());
        names.find_map(|name| Some(name.strip_prefix(&begin)?.strip_suffix(".dist-info")?.to_owned()))
    }

    /// The command that installs it.
    pub fn remedy(&self) -> String {
        format!("cargo catalogue peers install {}", self.short)
    }

    /// Returns the state of its installation below this home. Nothing is started to find out.
    pub fn state(&self, home: &Path) -> PeerState {
        let file = self.installed_file(home);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return if self.folder(home).exists() {
                    PeerState::Broken("an installation that did not come to its end".to_owned())
                } else {
                    PeerState::Absent
                };
            }
            Err(error) => return PeerState::Broken(format!("`{}` cannot be read: {error}", file.display())),
        };
        match serde_json::from_str::<Installation>(&text) {
            Err(error) => PeerState::Broken(format!("`{}` is damaged: {error}", file.display())),
            Ok(installed) if installed.format != FORMAT => PeerState::Broken(format!(
                "it was installed by another weighbridge (format {})",
                installed.format
            )),
            Ok(installed) if installed.short != self.environment => {
                PeerState::Broken(format!("it is an installation of `{}`", installed.short))
            }
            Ok(_) if !self.python(home).exists() => PeerState::Broken("its Python is gone".to_owned()),
            // What is told there is the version of the peer that the environment is called after.
            Ok(installed) if self.is_guest() => self.version_in(home).map_or_else(
                || {
                    PeerState::Broken(format!(
                        "`{}` is not in the environment of `{}`",
                        self.package, self.environment
                    ))
                },
                |version| PeerState::Installed(Installation { version, ..installed }),
            ),
            Ok(installed) => PeerState::Installed(installed),
        }
    }

    /// The reason that it cannot be used, with the command that mends it; `None` where it can.
    pub fn missing(&self, home: &Path) -> Option<String> {
        let mut why = match self.state(home) {
            PeerState::Installed(_) => return None,
            PeerState::Absent => "not installed".to_owned(),
            PeerState::Broken(why) => why,
        };
        write!(why, ": {}", self.remedy()).expect("a String takes all that is written");
        Some(why)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_found_in_both_forms_and_none_is_taken_twice() {
        let names: BTreeSet<&str> = PEERS.iter().flat_map(|peer| [peer.name, peer.short]).collect();
        // A framework may be called as it is for short.
        let same = PEERS.iter().filter(|peer| peer.name == peer.short).count();
        assert_eq!(names.len() + same, 2 * PEERS.len());
        assert_eq!(find("Google Grain"), find("grain"));
        assert!(find("Grain").is_none() && find("").is_none());
    }

    #[test]
    fn every_environment_has_a_peer_of_its_own_and_its_requirement_files() {
        for peer in PEERS {
            let owner = find(peer.environment).expect(peer.environment);
            assert_eq!(owner.environment, peer.environment);
            assert!(owner.package == peer.package || peer.contract != LOADER, "{}", peer.name);
            let locked = fs::read_to_string(peer.requirement_file()).expect(peer.short);
            assert!(
                locked.lines().any(|line| line.starts_with(&format!("{}==", peer.package))),
                "{}",
                peer.name
            );
            let hashes = locked.matches("--hash=sha256:").count();
            let pins =
                locked.lines().filter(|line| line.contains("==") && !line.starts_with([' ', '#'])).count();
            assert!(pins > 0 && hashes >= pins, "{}: {pins} pins, {hashes} hashes", peer.name);
            assert!(peer.requirement_file().with_extension("in").exists(), "{}", peer.name);
            assert!(locked.len() < 1 << 20, "{}", peer.name);
        }
    }

    #[test]
    fn the_home_is_what_is_named_else_among_the_users_data() {
        let home = |known: &[(&str, &str)]| {
            home_among(|name| known.iter().find(|(known, _)| *known == name).map(|(_, path)| path.into()))
        };
        let all = [("WEIGHBRIDGE_PEERS", "/p"), ("XDG_DATA_HOME", "/d"), ("HOME", "/h")];
        assert_eq!(home(&all), Some("/p".into()));
        assert_eq!(home(&all[1..]), Some("/d/weighbridge/peers".into()));
        assert_eq!(home(&all[2..]), Some("/h/.local/share/weighbridge/peers".into()));
        assert_eq!(home(&[("XDG_DATA_HOME", "relative"), all[2]]), home(&all[2..]));
        assert_eq!(home(&[]), None);
    }

    #[test]
    fn a_peer_in_the_environment_of_another_package_has_a_version_of_its_own() {
        let place = tempfile::tempdir().expect("a folder");
        let (home, guest) = (place.path(), find("tensorstore").expect("known"));
        let owner = find("orbax").expect("known");
        let python = guest.python(home);
        fs::create_dir_all(python.parent().expect("it has one")).expect("made");
        fs::write(&python, "").expect("written");
        let installed = Installation::new(owner, "0.12.8".into(), "3.11.7".into(), b"");
        let text = serde_json::to_string(&installed).expect("JSON");
        fs::write(guest.installed_file(home), text).expect("written");
        let why = guest.missing(home).expect("it is not there");
        assert!(why.starts_with("`tensorstore` is not in the environment of `orbax`"), "{why}");
        let packages = guest.folder(home).join("venv/lib/python3.11/site-packages");
        for name in ["tensorstore-0.1.86.dist-info", "tensorstore", "orbax_checkpoint-0.12.8.dist-info"] {
            fs::create_dir_all(packages.join(name)).expect("made");
        }
        let version = |peer: &Peer| match peer.state(home) {
            PeerState::Installed(installed) => installed.version,
            other => panic!("{other:?}"),
        };
        assert_eq!((version(guest), version(owner)), ("0.1.86".to_owned(), "0.12.8".to_owned()));
    }

    #[test]
    fn only_a_whole_installation_counts() {
        let place = tempfile::tempdir().expect("a folder");
        let (home, peer) = (place.path(), find("datarax_scan").expect("known"));
        let broken = |part: &str| match peer.state(home) {
            PeerState::Broken(why) => assert!(why.contains(part), "{why}"),
            other => panic!("{other:?}"),
        };
        assert_eq!(peer.state(home), PeerState::Absent);
        assert_eq!(
            peer.missing(home).as_deref(),
            Some("not installed: cargo catalogue peers install datarax_scan")
        );
        let python = peer.python(home);
        fs::create_dir_all(python.parent().expect("it has one")).expect("made");
        broken("did not come to its end");
        let owner = find("datarax").expect("known");
        let installed = Installation::new(owner, "0.1.4".into(), "3.11.7".into(), b"datarax==0.1.4");
        let write = |text: &str| fs::write(peer.installed_file(home), text).expect("written");
        write(&serde_json::to_string(&installed).expect("JSON"));
        broken("Python is gone");
        fs::write(&python, "").expect("written");
        assert_eq!(peer.state(home), PeerState::Installed(installed.clone()));
        assert_eq!((peer.missing(home), installed.requirements.len()), (None, 32));
        write("{");
        broken("damaged");
        let other = Installation { format: 2, ..installed.clone() };
        write(&serde_json::to_string(&other).expect("JSON"));
        broken("another weighbridge");
        let other = Installation { short: "grain".into(), ..installed };
        write(&serde_json::to_string(&other).expect("JSON"));
        broken("installation of `grain`");
    }
}
