//! Packages that lie beside the repository, on which it depends by paths that lead out of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Makes the folders that lie beside the repository lie beside a checkout of it too, as links: a path like
/// `../helper` leads to the same package from both. Those are packages as they are now, whatever the
/// revision. Returns the names of the folders.
///
/// # Errors
/// Where a link cannot be made, or its place is taken.
pub(crate) fn link(workspace: &Path, top: &Path, checkout: &Path) -> Result<Vec<String>> {
    let top = fs::canonicalize(top).context("failed to find the repository")?;
    let (Some(around), Some(folder)) = (top.parent(), checkout.parent()) else { return Ok(Vec::new()) };
    let mut names: Vec<String> = packages(workspace)
        .iter()
        .filter(|package| !package.starts_with(&top))
        .filter_map(|package| package.strip_prefix(around).ok()?.components().next()?.as_os_str().to_str())
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in &names {
        let place = folder.join(name);
        if fs::symlink_metadata(&place).is_ok_and(|there| there.is_symlink()) {
            fs::remove_file(&place).with_context(|| format!("failed to renew `{}`", place.display()))?;
        } else if place.exists() {
            bail!("the package beside the repository is called `{name}`, as a folder of rebuilds: rename it");
        }
        symlink(around.join(name), &place)
            .with_context(|| format!("failed to link `{}`", place.display()))?;
    }
    Ok(names)
}

/// The folders of all packages that come from no registry; none where cargo cannot tell, which the build will
/// say.
fn packages(workspace: &Path) -> Vec<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut asked = Command::new(cargo);
    asked.args(["metadata", "--format-version", "1"]).current_dir(workspace).stdin(Stdio::null());
    let said: Value = match asked.output() {
        Ok(said) if said.status.success() => serde_json::from_slice(&said.stdout).unwrap_or_default(),
        _ => return Vec::new(),
    };
    let local =
        said["packages"].as_array().into_iter().flatten().filter(|package| package["source"].is_null());
    local
        .filter_map(|package| Path::new(package["manifest_path"].as_str()?).parent().map(Path::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_beside_the_repository_lies_beside_a_checkout_too() {
        let place = tempfile::tempdir().expect("a folder");
        let place = fs::canonicalize(place.path()).expect("it is there");
        let package = |path: &str, rest: &str| {
            let folder = place.join(path);
            fs::create_dir_all(folder.join("src")).expect("writable");
            let name = path.rsplit('/').next().expect("a name");
            let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n{rest}\n[workspace]\n");
            fs::write(folder.join("Cargo.toml"), manifest).expect("writable");
            fs::write(folder.join("src/lib.rs"), "").expect("writable");
        };
        package("others/helper", "");
        package("mine", "[dependencies]\nhelper = { path = \"../others/helper\" }\n");
        let checkout = place.join("rebuilds/one/tree");
        fs::create_dir_all(&checkout).expect("writable");
        let mine = place.join("mine");
        for _ in 0..2 {
            assert_eq!(link(&mine, &mine, &checkout).expect("linked"), ["others"]);
        }
        assert!(checkout.join("../others/helper/Cargo.toml").exists());
        fs::remove_file(place.join("rebuilds/one/others")).expect("a link");
        fs::create_dir(place.join("rebuilds/one/others")).expect("writable");
        let taken = link(&mine, &mine, &checkout).expect_err("its place is taken").to_string();
        assert!(taken.contains("`others`"), "{taken}");
    }

    #[test]
    fn a_repository_that_depends_on_nothing_beside_it_gets_no_link() {
        let place = tempfile::tempdir().expect("a folder");
        assert_eq!(link(place.path(), place.path(), &place.path().join("a/tree")).expect("none"), [""; 0]);
    }
}
