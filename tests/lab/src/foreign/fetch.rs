//! Published sources: cargo fetches them for a package that depends on them, and they are copied from where
//! it keeps them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use toml::{Table, Value};

use super::list::ForeignCrate;
use super::manifest::standing_alone;

/// Has cargo fetch these crates, and gives the folder of each by its name and version.
///
/// # Errors
/// When cargo cannot fetch them.
pub(crate) fn fetch(crates: &[ForeignCrate], scratch: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let folder = scratch.join("fetch");
    fs::create_dir_all(folder.join("src")).with_context(|| format!("failed to make {}", folder.display()))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    fs::write(folder.join("Cargo.toml"), depending_on(crates)?)?;
    // Of another list.
    let _ = fs::remove_file(folder.join("Cargo.lock"));
    let metadata = MetadataCommand::new().current_dir(&folder).exec();
    let metadata = metadata.context("cargo failed to fetch the crates of the list")?;
    let place = |package: &cargo_metadata::Package| {
        let manifest = package.manifest_path.as_std_path().parent()?.to_owned();
        Some((format!("{}-{}", package.name, package.version), manifest))
    };
    Ok(metadata.packages.iter().filter_map(place).collect())
}

/// The manifest of a package that depends on these crates, and on nothing else.
fn depending_on(crates: &[ForeignCrate]) -> Result<String> {
    let dependency = |one: &ForeignCrate| {
        let mut table = Table::new();
        table.insert("package".to_owned(), one.name.clone().into());
        table.insert("version".to_owned(), format!("={}", one.version).into());
        table.insert("default-features".to_owned(), false.into());
        Value::Table(table)
    };
    let named = crates.iter().enumerate().map(|(number, one)| (format!("c{number}"), dependency(one)));
    let mut package = Table::new();
    for (key, value) in [("name", "foreign-crates"), ("version", "0.0.0"), ("edition", "2024")] {
        package.insert(key.to_owned(), value.into());
    }
    let mut manifest = Table::new();
    manifest.insert("package".to_owned(), Value::Table(package));
    manifest.insert("workspace".to_owned(), Value::Table(Table::new()));
    manifest.insert("dependencies".to_owned(), Value::Table(named.collect()));
    toml::to_string(&manifest).context("the manifest of a package cannot be written")
}

/// The text of a file that is not published.
const TEXT: &str = "Some words in a line, with a number (42) and \u{e9}\u{e8}.\n";

/// Copies the sources of a crate to a new folder, and changes its manifest: `product` as in
/// [`standing_alone`].
///
/// # Errors
/// When they cannot be copied, and when the manifest has no harness to replace.
pub(crate) fn copy(one: &ForeignCrate, sources: &Path, to: &Path, product: Option<&Path>) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    copy_folder(sources, to).with_context(|| format!("failed to copy {}", sources.display()))?;
    for text in &one.texts {
        write_text(&to.join(text)).with_context(|| format!("failed to write {text}"))?;
    }
    // It locks the harness, too.
    let _ = fs::remove_file(to.join("Cargo.lock"));
    let path = to.join("Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    let changed = standing_alone(&text, product).with_context(|| format!("of {}", sources.display()))?;
    fs::write(&path, changed).with_context(|| format!("failed to write {}", path.display()))
}

fn write_text(path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, TEXT.repeat(100))
}

/// Copies a folder with all that is in it.
///
/// # Errors
/// When a file cannot be read or written.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &target)?,
            false => fs::copy(entry.path(), target).map(drop)?,
        }
    }
    Ok(())
}
