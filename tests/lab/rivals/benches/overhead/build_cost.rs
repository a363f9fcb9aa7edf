//! CPU time of building a minimal bench target on each harness, from nothing and after an edit.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::table::{median, print as print_table};

/// A crate whose one bench target is built.
struct Subject {
    name: &'static str,
    /// What stands in its manifest below `[package]`.
    manifest: String,
    bench: String,
}

/// Whoever begins writes the manifest that stands here.
const GUIDE: &str = include_str!("../../../../../docs/guide/first-scenario.md");

const OURS: &str = r#"use weighbridge::prelude::*;

/// Adds two numbers.
#[scenario(id = "ADD-1", category = "Arithmetic")]
fn add(bencher: &mut Bencher) {
    bencher.iter(|| std::hint::black_box(1) + 1);
}

weighbridge::main!();
"#;

const CRITERION: &str = r#"use criterion::{Criterion, criterion_group, criterion_main};

fn add(criterion: &mut Criterion) {
    criterion.bench_function("add", |bencher| bencher.iter(|| std::hint::black_box(1) + 1));
}

criterion_group!(benches, add);
criterion_main!(benches);
"#;

const DIVAN: &str = r"fn main() {
    divan::main();
}

#[divan::bench]
fn add() -> i32 {
    std::hint::black_box(1) + 1
}
";

/// The workspace that this program was built in.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Edits after which the target is built again.
const EDITS: usize = 3;

/// Builds each subject in a target directory of its own and prints what that cost.
pub fn print() -> Result<()> {
    let here = format!("weighbridge = {{ path = {:?} }}", format!("{ROOT}/runtime"));
    let block = GUIDE.split_once("```toml\n").and_then(|(_, rest)| rest.split_once("```"));
    let by_guide = block
        .ok_or("the guide has no manifest")?
        .0
        .replace("weighbridge = { path = \"../weighbridge/runtime\" }", &here);
    let (optimised, _) = by_guide.split_once("[profile").ok_or("the guide has no profile")?;
    let of = |dependency: &str| {
        format!("[dev-dependencies]\n{dependency}\n\n[[bench]]\nname = \"sorting\"\nharness = false\n")
    };
    let subject = |name, manifest: String, bench: &str| Subject { name, manifest, bench: bench.to_owned() };
    let subjects = [
        subject("criterion", of("criterion = \"0.8.2\""), CRITERION),
        subject("weighbridge", by_guide.clone(), OURS),
        subject("weighbridge, without the guide's profile", optimised.to_owned(), OURS),
        subject("divan", of("divan = \"0.1.21\""), DIVAN),
    ];
    let costs = subjects.iter().map(Subject::cost).collect::<Result<Vec<_>>>()?;
    println!(
        "CPU time (user + system) of `cargo bench --no-run -j1`, default features; ratio to criterion's"
    );
    let criterion = costs[0];
    let rows = subjects.iter().zip(&costs).map(|(subject, cost)| {
        vec![
            subject.name.to_owned(),
            format!("{:.1} s", cost.clean),
            format!("{:.2}", cost.clean / criterion.clean),
            format!("{:.2} s", cost.edited),
            format!("{:.2}", cost.edited / criterion.edited),
        ]
    });
    print_table(&["", "clean", "ratio", "after an edit", "ratio"], &rows.collect::<Vec<_>>());
    Ok(())
}

/// Seconds of CPU.
#[derive(Clone, Copy)]
struct BuildCost {
    clean: f64,
    edited: f64,
}

impl Subject {
    fn cost(&self) -> Result<BuildCost> {
        let directory = tempfile::tempdir()?;
        let root = directory.path();
        let manifest = format!(
            "[package]\nname = \"minimal\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{}\n[workspace]\n",
            self.manifest
        );
        let bench = root.join("benches/sorting.rs");
        fs::create_dir_all(root.join("src"))?;
        fs::create_dir_all(root.join("benches"))?;
        fs::write(root.join("src/lib.rs"), "")?;
        fs::write(root.join("Cargo.toml"), manifest)?;
        fs::write(&bench, &self.bench)?;
        // The versions of this workspace; cargo leaves out what the crate does not use.
        fs::copy(format!("{ROOT}/Cargo.lock"), root.join("Cargo.lock"))?;
        // Downloading is no part of building.
        if !cargo(root, &["fetch", "--quiet", "--offline"])? && !cargo(root, &["fetch", "--quiet"])? {
            return Err(format!("failed to fetch what {} depends on", self.name).into());
        }
        let clean = self.build(root)?;
        let mut edits = Vec::new();
        for edit in 0..EDITS {
            fs::write(&bench, format!("{}\n// edit {edit}\n", self.bench))?;
            edits.push(self.build(root)?);
        }
        Ok(BuildCost { clean, edited: median(&edits) })
    }

    /// Builds, and gives the CPU seconds of it.
    fn build(&self, root: &Path) -> Result<f64> {
        let before = children_cpu()?;
        if !cargo(root, &["bench", "--quiet", "--no-run", "--offline", "-j1"])? {
            return Err(format!("failed to build the target on {}", self.name).into());
        }
        Ok(children_cpu()? - before)
    }
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<bool> {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root).env("CARGO_TARGET_DIR", root.join("target"));
    let status =
        command.env_remove("CARGO_BUILD_JOBS").stdin(Stdio::null()).stderr(Stdio::null()).status()?;
    Ok(status.success())
}

/// CPU seconds, user and system, of all children that have ended, and of theirs.
fn children_cpu() -> Result<f64> {
    /// Of the clock that `/proc` counts in; the kernel shows programs 100 on every architecture that Rust
    /// runs on.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field, the name in brackets, may hold spaces: fields are counted from its end. See
    // proc_pid_stat(5).
    let after_name = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?.1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let (user, system): (f64, f64) = (fields[13].parse()?, fields[14].parse()?);
    Ok((user + system) / TICKS_PER_SECOND)
}
