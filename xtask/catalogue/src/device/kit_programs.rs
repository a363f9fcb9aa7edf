//! The programs of a kit: which there are, how they are built, and what they need of the machine that they
//! are carried to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weighbridge_xtask::place::Place;
use weighbridge_xtask::{programs, stop};

/// The programs, as the steps call them.
pub(super) const PROGRAMS: [&str; 7] =
    ["suite", "checkpoints", "training", "inference", "device_conformance", "gpu-suite", "gpu_table"];

/// The calls of cargo that build them, all in the profile of `cargo bench`.
const BUILDS: [&[&str]; 3] = [
    &[
        "bench",
        "--no-run",
        "--benches",
        "--features",
        "checkpoints,inference,training,weighbridge/nvml,weighbridge-loaders/cuda",
    ],
    &[
        "bench",
        "--no-run",
        "--manifest-path",
        LAB,
        "--package",
        "gpu",
        "--test",
        "device_conformance",
        "--bench",
        "gpu_table",
    ],
    &["build", "--profile", "bench", "--manifest-path", LAB, "--package", "gpu", "--bin", "gpu-suite"],
];

/// The workspace of what tries the harness on a device.
const LAB: &str = "tests/lab/Cargo.toml";

/// Libraries that are on every machine with a C library.
const ON_EVERY_MACHINE: [&str; 8] = [
    "linux-vdso.so",
    "libc.so",
    "libm.so",
    "libdl.so",
    "librt.so",
    "libpthread.so",
    "libgcc_s.so",
    "ld-linux",
];

/// The executable of each program: from a folder that has them, or built here.
///
/// # Errors
/// That one is missing, or does not build.
pub(super) fn find(from: Option<&Path>, place: &Place) -> Result<BTreeMap<&'static str, PathBuf>> {
    let found = match from {
        Some(folder) => PROGRAMS.map(|name| (name, folder.join(name))).into(),
        None => build(&place.root)?,
    };
    for name in PROGRAMS {
        if !found.get(name).is_some_and(|path| path.is_file()) {
            let place = from.map_or("the builds".into(), |folder| folder.display().to_string());
            return Err(stop::usage(format!("the program `{name}` is missing in {place}")));
        }
    }
    Ok(found)
}

fn build(root: &Path) -> Result<BTreeMap<&'static str, PathBuf>> {
    if !root.join("tests/lab/gpu").is_dir() {
        return Err(stop::usage(
            "a kit is built in a checkout of the harness itself: run this there, or name built programs with \
             --programs FOLDER",
        ));
    }
    let mut found = BTreeMap::new();
    for arguments in BUILDS {
        let mut cargo = programs::cargo(root);
        cargo.args(arguments).arg("--message-format=json-render-diagnostics");
        let built = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let built = built.context("failed to start cargo")?;
        if !built.status.success() {
            bail!("the programs of the kit do not build: {}", built.status);
        }
        found.extend(executables(&String::from_utf8_lossy(&built.stdout)));
    }
    Ok(found)
}

/// The programs of a kit among those that cargo's messages name.
fn executables(messages: &str) -> Vec<(&'static str, PathBuf)> {
    let of = |line: &str| {
        let message = serde_json::from_str::<Value>(line).ok()?;
        let path = PathBuf::from(message["executable"].as_str()?);
        let name = PROGRAMS.into_iter().find(|name| message["target"]["name"] == **name)?;
        Some((name, path))
    };
    messages.lines().filter_map(of).collect()
}

/// Copies a program without its symbols. The answer says why they are still there.
///
/// # Errors
/// Those of the file system.
pub(super) fn copy_stripped(from: &Path, to: &Path) -> Result<Option<String>> {
    let stripped = Command::new("strip").arg("-o").arg(to).arg(from).stdin(Stdio::null()).output();
    let why = match stripped {
        Ok(ended) if ended.status.success() => return Ok(None),
        Ok(ended) => String::from_utf8_lossy(&ended.stderr).trim().to_owned(),
        Err(error) => format!("`strip` does not start: {error}"),
    };
    fs::copy(from, to).with_context(|| format!("failed to copy {}", from.display()))?;
    Ok(Some(why))
}

/// Puts a compressed program in the place of a program: seven of them are too large to travel.
///
/// # Errors
/// That `gzip` is not there, or what it says.
pub(super) fn compressed(program: &Path) -> Result<PathBuf> {
    let ended = Command::new("gzip").args(["-n", "-9", "-f"]).arg(program).stdin(Stdio::null()).output();
    let ended = ended.context("failed to start gzip")?;
    if !ended.status.success() {
        bail!("gzip: {}", String::from_utf8_lossy(&ended.stderr).trim());
    }
    let mut name = program.as_os_str().to_owned();
    name.push(".gz");
    Ok(name.into())
}

/// The libraries that a program needs and a bare machine may lack, as `ldd` tells.
pub(super) fn missing_elsewhere(program: &Path) -> BTreeSet<String> {
    let Ok(told) = Command::new("ldd").arg(program).stdin(Stdio::null()).output() else {
        return BTreeSet::new();
    };
    unusual(&String::from_utf8_lossy(&told.stdout))
}

/// The libraries in what `ldd` prints that are not on every machine.
fn unusual(told: &str) -> BTreeSet<String> {
    let library = |line: &str| Some(line.trim().split([' ', '\t']).next()?.rsplit('/').next()?.to_owned());
    let is_one = |name: &String| name.contains(".so");
    let is_usual = |name: &String| ON_EVERY_MACHINE.iter().any(|usual| name.starts_with(usual));
    told.lines().filter_map(library).filter(is_one).filter(|name| !is_usual(name)).collect()
}

/// The oldest C library that a program runs with, from the versions that its symbols name.
pub(super) fn oldest_glibc(program: &Path) -> Result<Option<(u32, u32)>> {
    let bytes = fs::read(program).with_context(|| format!("failed to read {}", program.display()))?;
    Ok(newest_named(&bytes))
}

fn newest_named(bytes: &[u8]) -> Option<(u32, u32)> {
    const NAME: &[u8] = b"GLIBC_";
    let at = |place: usize| {
        let rest = &bytes[place + NAME.len()..];
        let end = rest.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
        let (major, minor) = std::str::from_utf8(&rest[..end]).ok()?.split_once('.')?;
        Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
    };
    let places =
        (0..bytes.len().saturating_sub(NAME.len())).filter(|place| bytes[*place..].starts_with(NAME));
    places.filter_map(at).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_among_cargos_messages_by_the_names_that_the_steps_call_them() {
        let messages = concat!(
            r#"{"target":{"name":"suite"},"executable":"/t/deps/suite-1"}"#,
            "\nno json\n",
            r#"{"target":{"name":"gpu"},"executable":"/t/deps/gpu-1"}"#,
            "\n",
            r#"{"target":{"name":"weighbridge"},"executable":null}"#,
        );
        assert_eq!(executables(messages), [("suite", PathBuf::from("/t/deps/suite-1"))]);
    }

    #[test]
    fn a_library_that_is_not_on_every_machine_is_told_and_so_is_the_oldest_c_library() {
        let told = "\tlinux-vdso.so.1 (0x1)\n\tlibssl.so.3 => /lib/libssl.so.3 (0x1)\n\
                    \tlibc.so.6 => /lib/libc.so.6 (0x1)\n\t/lib64/ld-linux-x86-64.so.2 (0x1)\n";
        assert_eq!(unusual(told).into_iter().collect::<Vec<_>>(), ["libssl.so.3"]);
        assert!(unusual("\tnot a dynamic executable\n").is_empty());
        assert_eq!(newest_named(b"\0GLIBC_2.4\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE\0"), Some((2, 34)));
        assert_eq!(newest_named(b"#!/bin/sh"), None);
    }
}
