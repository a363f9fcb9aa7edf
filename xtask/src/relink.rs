//! Bench programs linked anew in other orders of their sections: the same code at other places.
//!
//! The linker puts each function somewhere, and a loop that crosses a border of the processor's is slower
//! there. Whoever compares two builds compares two such places as well. What is slower in every order is
//! slower by its code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::build_options::BuildOptions;
use crate::programs::{self, BuiltProgram};

/// Ways of asking a linker for an order that is drawn from a number: what rustc links by where nobody says
/// otherwise (`lld`), the same by name, and `mold`'s.
const WAYS: [&[&str]; 3] = [
    &["-Clink-arg=-Wl,--shuffle-sections=*=SEED"],
    &["-Clink-arg=-fuse-ld=lld", "-Clink-arg=-Wl,--shuffle-sections=*=SEED"],
    &["-Clink-arg=-Wl,--shuffle-sections=SEED"],
];

/// A bench program, and what builds it.
pub(crate) struct LinkedProgram<'a> {
    pub(crate) program: &'a BuiltProgram,
    /// Cargo in its workspace, with its target directory.
    pub(crate) cargo: &'a dyn Fn() -> Command,
    pub(crate) options: &'a BuildOptions,
}

impl LinkedProgram<'_> {
    /// Links it so many times, each in another order, and keeps the programs in a folder. What was built
    /// stays as it was.
    ///
    /// # Errors
    /// When no linker here takes an order, and when a program cannot be kept.
    pub(crate) fn anew(&self, times: u32, folder: &Path) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
        let usual = &self.program.path;
        let kept = folder.join("usual");
        fs::copy(usual, &kept).with_context(|| format!("failed to keep `{}`", usual.display()))?;
        let made = self.all(times, folder);
        // Under another name first: a program that runs cannot be written to.
        let back = usual.with_extension("back");
        fs::copy(&kept, &back)
            .and_then(|_| fs::rename(&back, usual))
            .with_context(|| format!("failed to put `{}` back", usual.display()))?;
        made
    }

    fn all(&self, times: u32, folder: &Path) -> Result<Vec<PathBuf>> {
        let mut ways = WAYS.iter();
        let mut way = ways.next();
        let mut all = Vec::new();
        let mut said = String::new();
        for seed in 1..=times {
            let path = folder.join(format!("order-{seed}"));
            while let Some(flags) = way {
                match self.link(flags, seed, &path)? {
                    Ok(()) => break,
                    // One that has worked works again: something else is wrong.
                    Err(why) if !all.is_empty() => bail!(why),
                    Err(why) => (way, said) = (ways.next(), why),
                }
            }
            if way.is_none() {
                bail!("no linker here takes an order of sections (`lld` and `mold` do): {said}");
            }
            all.push(path);
        }
        Ok(all)
    }

    /// Links it once. The inner error is what cargo says.
    fn link(&self, flags: &[&str], seed: u32, to: &Path) -> Result<Result<(), String>> {
        let mut cargo = (self.cargo)();
        let manifest = self.program.directory.join("Cargo.toml");
        cargo.args(["rustc", "--bench", &self.program.target, "--manifest-path"]).arg(manifest);
        cargo.args([programs::MESSAGES, "--quiet"]);
        self.options.apply_to_bench(&mut cargo);
        cargo.arg("--").args(flags.iter().map(|flag| flag.replace("SEED", &seed.to_string())));
        let built = cargo.stdin(Stdio::null()).output().context("failed to start cargo")?;
        if !built.status.success() {
            let said = String::from_utf8_lossy(&built.stderr);
            let told = |line: &&str| line.trim_start().starts_with("error") || line.contains("ld: ");
            return Ok(Err(said.lines().find(told).unwrap_or("it does not build").trim().to_owned()));
        }
        let found = programs::executables(&String::from_utf8_lossy(&built.stdout));
        let program = found.into_iter().find(|found| found.suite == self.program.suite);
        let program = program.with_context(|| format!("cargo built no `{}`", self.program.suite))?;
        fs::copy(&program.path, to).with_context(|| format!("failed to keep `{}`", to.display()))?;
        Ok(Ok(()))
    }
}
