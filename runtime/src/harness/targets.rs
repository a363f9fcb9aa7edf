//! Targets of a package that `cargo bench` runs, as its manifest and its folders tell them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::json;

/// The parts of a `Cargo.toml` that say which targets there are.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CargoManifest {
    package: Package,
    lib: Option<BenchTarget>,
    bin: Vec<BenchTarget>,
    bench: Vec<BenchTarget>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Package {
    name: String,
    autolib: Option<bool>,
    autobins: Option<bool>,
    autobenches: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BenchTarget {
    name: String,
    bench: Option<bool>,
}

/// The targets of a package.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// The names of its bench targets.
    pub(super) benches: BTreeSet<String>,
    library: bool,
    binaries: BTreeSet<String>,
}

/// A target that `cargo bench` builds with libtest's harness, unless the manifest says `bench = false`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Libtest {
    Library,
    Binary(String),
}

impl Targets {
    /// Those of the package in this folder; none where its manifest cannot be read.
    pub(super) fn of(package: &Path) -> Self {
        let text = fs::read_to_string(package.join("Cargo.toml"));
        let manifest = text.ok().and_then(|text| json::from_toml::<CargoManifest>(&text).ok());
        let Some(CargoManifest { package: about, lib, bin, bench }) = manifest else {
            return Self::default();
        };
        let mut benches: BTreeSet<String> = bench.into_iter().map(|target| target.name).collect();
        if about.autobenches.unwrap_or(true) {
            benches.extend(found(&package.join("benches")));
        }
        let is_benched = |target: &BenchTarget| target.bench.unwrap_or(true);
        let finds_library = about.autolib.unwrap_or(true) && package.join("src/lib.rs").is_file();
        let library = lib.as_ref().map_or(finds_library, is_benched);
        let mut binaries: BTreeMap<String, bool> = BTreeMap::new();
        if about.autobins.unwrap_or(true) {
            let main = package.join("src/main.rs").is_file().then(|| about.name.clone());
            binaries.extend(main.into_iter().chain(found(&package.join("src/bin"))).map(|name| (name, true)));
        }
        binaries.extend(bin.iter().map(|target| (target.name.clone(), is_benched(target))));
        let binaries =
            binaries.into_iter().filter_map(|(name, is_benched)| is_benched.then_some(name)).collect();
        Self { benches, library, binaries }
    }

    /// Those that libtest runs.
    pub(super) fn of_libtest(&self) -> Vec<Libtest> {
        let library = self.library.then_some(Libtest::Library);
        library.into_iter().chain(self.binaries.iter().cloned().map(Libtest::Binary)).collect()
    }
}

/// The targets that cargo finds in a folder: `NAME.rs` and `NAME/main.rs`.
fn found(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_target = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "rs") && path.is_file() || path.join("main.rs").is_file()
    };
    entries.filter(is_target).filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package with these files, all empty.
    fn package(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn bench_targets_are_those_that_the_manifest_names_and_those_that_cargo_finds() {
        let folder = package(&[
            "benches/small.rs",
            "benches/large/main.rs",
            "benches/notes.md",
            "benches/large/part.rs",
        ]);
        let names = |manifest: &str| {
            fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
            Targets::of(folder.path()).benches.into_iter().collect::<Vec<_>>()
        };
        let named =
            "[package]\nname = \"p\"\n[[bench]]\nname = \"other\"\npath = \"x.rs\"\nharness = false\n";
        assert_eq!(names(named), ["large", "other", "small"]);
        assert_eq!(names("[package]\nname = \"p\"\nautobenches = false\n"), [""; 0]);
        assert_eq!(names("[package"), [""; 0], "what cannot be read has no others");
    }

    #[test]
    fn a_library_and_binaries_are_libtests_unless_they_say_otherwise() {
        let folder = package(&["src/lib.rs", "src/main.rs", "src/bin/tool.rs", "src/bin/large/main.rs"]);
        let of_libtest = |manifest: &str| {
            let manifest = format!("[package]\nname = \"p\"\n{manifest}");
            fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
            Targets::of(folder.path()).of_libtest()
        };
        let binary = |name: &str| Libtest::Binary(name.to_owned());
        let all = [Libtest::Library, binary("large"), binary("p"), binary("tool")];
        assert_eq!(of_libtest(""), all);
        let one = "[lib]\nbench = false\n[[bin]]\nname = \"tool\"\nbench = false\n[[bin]]\nname = \"p\"\n";
        assert_eq!(of_libtest(one), [binary("large"), binary("p")]);
        assert_eq!(of_libtest("autobins = false\nautolib = false\n"), []);
        assert_eq!(of_libtest("autobins = false\n[lib]\npath = \"other.rs\"\n"), [Libtest::Library]);
    }
}
