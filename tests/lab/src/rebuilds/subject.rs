//! What is built again: the bodies of `evidence`, and bench files of published crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::layout::Layout;
use crate::foreign::{self, ForeignCrate};
use crate::place::Place;
use crate::programs::{self, BuiltProgram};

/// The published crates, with a bench target of each, chosen before anything was measured: small ones that
/// build in seconds, of different kinds (numbers to text, text to numbers, hashing, trees, Unicode, sums).
const CRATES: [(&str, &str); 10] = [
    ("itoa", "bench"),
    ("ryu", "bench"),
    ("zmij", "bench"),
    ("semver", "parse"),
    ("dissimilar", "bench"),
    ("unicode-ident", "xid"),
    ("matchit", "bench"),
    ("crc32fast", "bench"),
    ("wildmatch", "patterns"),
    ("httparse", "parse"),
];

/// Of a crate, so many cases at most: a comparison of each takes seconds.
const CASES: usize = 2;

/// The bodies of `evidence`, but for the one that takes three times as long as all others.
const OWN: &str = "demonstration";
const OWN_CASES: [&str; 7] = ["DEMO-1", "DEMO-2", "DEMO-3", "DEMO-4", "DEMO-6", "DEMO-7", "DEMO-8"];

/// The manifest of the bodies where they stand alone.
const OWN_MANIFEST: &str = "\
[package]
name = \"demonstration\"
version = \"0.0.0\"
edition = \"2024\"

[workspace]

[[bench]]
name = \"demonstration\"
harness = false

[dev-dependencies]
weighbridge = { path = \"PRODUCT/runtime\" }
";

/// A package with one bench target that is built in several ways.
pub(crate) struct RebuiltSubject {
    /// The package, and its version where it is published.
    pub(crate) name: String,
    /// The cases that are compared.
    pub(crate) cases: Vec<String>,
    /// The bench target.
    pub(super) target: String,
    features: Vec<String>,
    /// Its source, which is copied for each build.
    source: PathBuf,
    /// Where copies stand.
    copies: PathBuf,
    /// Where all is built.
    built: PathBuf,
    usual: Option<BuiltProgram>,
}

/// The names of all subjects.
pub(crate) fn names() -> Vec<&'static str> {
    std::iter::once(OWN).chain(CRATES.iter().map(|(name, _)| *name)).collect()
}

/// The subjects of these names, or all, with their sources in place.
///
/// # Errors
/// When a crate cannot be fetched, and when a program cannot be built or does not list its cases.
pub(super) fn all(chosen: &[String], place: &Place, scratch: &Path) -> Result<Vec<RebuiltSubject>> {
    let is_chosen = |name: &str| chosen.is_empty() || chosen.iter().any(|one| one == name);
    let crates: Vec<(&str, &str)> = CRATES.into_iter().filter(|(name, _)| is_chosen(name)).collect();
    let mut all = Vec::new();
    if is_chosen(OWN) {
        all.push(RebuiltSubject::own(place, &place.root, scratch)?);
    }
    if crates.is_empty() {
        return Ok(all);
    }
    let listed: Vec<String> = crates.iter().map(|(name, _)| (*name).to_owned()).collect();
    let listed = foreign::chosen(&listed)?;
    let sources = foreign::fetch(&listed, scratch)?;
    for (name, target) in crates {
        let one = listed.iter().find(|one| one.name == name).context("it was chosen by its name")?;
        let fetched = sources.get(&one.folder()).with_context(|| format!("cargo fetched no `{name}`"))?;
        let source = scratch.join("sources").join(one.folder());
        foreign::copy(one, fetched, &source, Some(&place.root))?;
        all.push(RebuiltSubject::of(one, target, source, scratch)?);
    }
    Ok(all)
}

impl RebuiltSubject {
    /// The bodies of `evidence` in a package that stands alone, with the harness of a tree.
    ///
    /// # Errors
    /// When the files cannot be copied.
    pub(crate) fn own(place: &Place, product: &Path, scratch: &Path) -> Result<Self> {
        let source = scratch.join("sources").join(OWN);
        let _ = fs::remove_dir_all(&source);
        let benches = place.lab().join("rivals").join("benches");
        foreign::copy_folder(&benches.join(OWN), &source.join("benches").join(OWN))?;
        fs::copy(benches.join("demonstration.rs"), source.join("benches/demonstration.rs"))?;
        fs::create_dir_all(source.join("src"))?;
        fs::write(source.join("src/lib.rs"), "")?;
        let product = product.display().to_string();
        fs::write(source.join("Cargo.toml"), OWN_MANIFEST.replace("PRODUCT", &product))?;
        Ok(Self {
            name: OWN.to_owned(),
            cases: OWN_CASES.map(str::to_owned).to_vec(),
            target: OWN.to_owned(),
            features: Vec::new(),
            source,
            copies: scratch.join("copies"),
            built: scratch.join("target"),
            usual: None,
        })
    }

    fn of(one: &ForeignCrate, target: &str, source: PathBuf, scratch: &Path) -> Result<Self> {
        let mut subject = Self {
            name: one.folder(),
            cases: Vec::new(),
            target: target.to_owned(),
            features: one.features.clone(),
            source,
            copies: scratch.join("copies"),
            built: scratch.join("target"),
            usual: None,
        };
        let usual = subject.build(&Layout::Usual)?;
        subject.cases = cases(&usual)?;
        subject.usual = Some(usual);
        Ok(subject)
    }

    /// The usual program, and the one of a layout.
    ///
    /// # Errors
    /// When one of them cannot be built.
    pub(super) fn both(&mut self, layout: &Layout) -> Result<(BuiltProgram, BuiltProgram)> {
        Ok((self.usual()?, self.build(layout)?))
    }

    /// The program as it is, built once.
    ///
    /// # Errors
    /// When it cannot be built.
    pub(crate) fn usual(&mut self) -> Result<BuiltProgram> {
        let usual = match &self.usual {
            Some(usual) => usual.clone(),
            None => self.build(&Layout::Usual)?,
        };
        Ok(self.usual.insert(usual).clone())
    }

    /// The usual program and the one of a layout, each linked in so many orders.
    ///
    /// # Errors
    /// When one of them cannot be linked.
    pub(super) fn relinked(&self, layout: &Layout, times: u32) -> Result<[Vec<PathBuf>; 2]> {
        let all = |layout: &Layout| -> Result<Vec<PathBuf>> {
            let linked = |order| Ok(self.build_in(layout, Some(order))?.path);
            (1..=times).map(linked).collect()
        };
        Ok([all(&Layout::Usual)?, all(layout)?])
    }

    /// Builds it so, and keeps the program in a place of its own.
    fn build(&self, layout: &Layout) -> Result<BuiltProgram> {
        self.build_in(layout, None)
    }

    /// The same, linked in an order.
    fn build_in(&self, layout: &Layout, order: Option<u32>) -> Result<BuiltProgram> {
        let name = match layout {
            Layout::Folder(name) => format!("{}-{name}", self.name),
            Layout::Usual => format!("{}-usual", self.name),
            _ => format!("{}-other", self.name),
        };
        let folder = self.copies.join(&name);
        let _ = fs::remove_dir_all(&folder);
        foreign::copy_folder(&self.source, &folder)
            .with_context(|| format!("failed to copy to `{}`", folder.display()))?;
        for source in [folder.join("src/lib.rs"), self.bench_file(&folder)] {
            layout.put_into(&source)?;
        }
        let mut line = vec!["rustc", "--profile", "bench", "--bench", &*self.target];
        let features = self.features.join(",");
        if !features.is_empty() {
            line.extend(["--features", &features]);
        }
        let flags = layout.flags(order);
        line.extend([programs::MESSAGES, "--"]);
        line.extend(flags.iter().map(String::as_str));
        let built = programs::build_as(&folder, &self.built, &line)?;
        let program = programs::of_target(&built, &self.target)?;
        let order = order.map(|order| format!("-{order}")).unwrap_or_default();
        let kept = self.copies.join(format!("{name}{order}.program"));
        fs::copy(&program.path, &kept)
            .with_context(|| format!("failed to keep `{}`", program.path.display()))?;
        // The usual one is run in its folder, and the others beside it.
        if *layout != Layout::Usual {
            let _ = fs::remove_dir_all(&folder);
        }
        let directory = self.copies.join(format!("{}-usual", self.name));
        Ok(BuiltProgram { path: kept, directory, ..program })
    }

    fn bench_file(&self, folder: &Path) -> PathBuf {
        let alone = folder.join("benches").join(format!("{}.rs", self.target));
        if alone.exists() { alone } else { folder.join("benches").join(&self.target).join("main.rs") }
    }
}

/// The first case of a program, and the one in the middle, as filters of a criterion target are: regular
/// expressions over the whole id.
fn cases(program: &BuiltProgram) -> Result<Vec<String>> {
    let mut command = Command::new(&program.path);
    command
        .args(["--bench", "--list", "--format", "terse"])
        .current_dir(&program.directory)
        .stdin(Stdio::null());
    let listed = command.stderr(Stdio::inherit()).output().context("failed to start the program")?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let ids: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix(": benchmark")).collect();
    ensure!(!ids.is_empty(), "`{}` lists no case", program.path.display());
    let mut places: Vec<usize> = (0..CASES).map(|place| place * ids.len() / CASES).collect();
    places.dedup();
    Ok(places.into_iter().map(|place| format!("^{}$", escaped(ids[place]))).collect())
}

/// A text as a regular expression that matches it alone.
fn escaped(text: &str) -> String {
    let mut all = String::new();
    for letter in text.chars() {
        if !letter.is_alphanumeric() && letter.is_ascii() && letter != ' ' && letter != '/' {
            all.push('\\');
        }
        all.push(letter);
    }
    all
}
