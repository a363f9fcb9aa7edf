//! What the author's manifest calls the runtime crate: a dependency may be renamed.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::Span;
use syn::Ident;

/// The package.
const PACKAGE: &str = "weighbridge";

/// The path of the runtime crate: `::weighbridge`, or `::wb` where a manifest says `wb = { package =
/// "weighbridge" }`.
pub(crate) fn runtime() -> syn::Path {
    let name = manifest().and_then(|manifest| renamed(&manifest)).unwrap_or_else(|| PACKAGE.to_owned());
    let name = Ident::new(&name.replace('-', "_"), Span::call_site());
    syn::parse_quote!(::#name)
}

/// The manifest of the crate that is compiled.
fn manifest() -> Option<PathBuf> {
    Some(Path::new(&std::env::var_os("CARGO_MANIFEST_DIR")?).join("Cargo.toml"))
}

/// The name that the manifest, or that of its workspace, gives the package, if it is not its own. What cannot
/// be read renames nothing: the compiler tells what is missing.
fn renamed(manifest: &Path) -> Option<String> {
    let text = fs::read_to_string(manifest).ok()?;
    let found = name_in(&text);
    if found.is_some() || !text.contains("workspace") {
        return found;
    }
    // `wb = { workspace = true }`: the workspace's manifest says which package that is.
    let above = manifest.parent()?.ancestors().map(|folder| folder.join("Cargo.toml"));
    let root =
        above.filter_map(|path| fs::read_to_string(path).ok()).find(|text| text.contains("[workspace"))?;
    name_in(&root).filter(|name| inherits(&text, name))
}

/// Tells whether the manifest takes the dependency from its workspace.
fn inherits(manifest: &str, name: &str) -> bool {
    manifest.lines().map(str::trim).any(|line| {
        let key = line.split(['=', '.']).next().unwrap_or_default().trim().trim_matches('"');
        key == name && line.contains("workspace")
    })
}

/// The key of the dependency with `package = "weighbridge"`. Of the forms that a manifest has, these are two:
/// a table in the line of its key, and a table of its own. A parser for all would cost every build of every
/// bench more than they do.
fn name_in(manifest: &str) -> Option<String> {
    let mut table = None;
    for line in manifest.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let head = head.trim_end_matches(']');
            table =
                head.rsplit_once("dependencies.").map(|(_, name)| name.trim().trim_matches('"').to_owned());
            continue;
        }
        if !says_package(line) {
            continue;
        }
        let (key, _) = line.split_once('=')?;
        let key = key.trim().trim_matches('"');
        let own = if key == "package" { table.clone() } else { Some(key.to_owned()) };
        if let Some(name) = own.filter(|name| is_identifier(name)) {
            return Some(name);
        }
    }
    None
}

/// Tells whether `package = "weighbridge"` stands in the line.
fn says_package(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default();
    line.match_indices("package").any(|(at, word)| {
        let rest = line[at + word.len()..].trim_start();
        let value = rest.strip_prefix('=').map(str::trim_start);
        value.is_some_and(|value| value.starts_with(&format!("\"{PACKAGE}\"")))
    })
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || "_-".contains(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_dependency_is_found_in_the_line_of_its_key_and_in_a_table_of_its_own() {
        let check = |manifest: &str, expected: Option<&str>| {
            assert_eq!(name_in(manifest).as_deref(), expected, "{manifest}");
        };
        check("[dev-dependencies]\nwb = { package = \"weighbridge\", version = \"0.1\" }", Some("wb"));
        check("[dependencies.my-bench]\nversion = \"0.1\"\npackage=\"weighbridge\"", Some("my-bench"));
        check("[workspace.dependencies]\nwb = { path = \"../w\", package = \"weighbridge\" }", Some("wb"));
        check("[dependencies]\nweighbridge = \"0.1\"", None);
        check("[dependencies]\nx = { package = \"weighbridge-scenarios\" }", None);
        check("# wb = { package = \"weighbridge\" }", None);
        check("[package]\nname = \"p\"", None);
    }

    #[test]
    fn a_name_of_the_workspace_holds_where_the_crate_takes_it_from_there() {
        let folder = std::env::temp_dir().join(format!("weighbridge-renamed-{}", std::process::id()));
        let inner = folder.join("inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(folder.join("Cargo.toml"), "[workspace.dependencies]\nwb = { package = \"weighbridge\" }")
            .unwrap();
        let manifest = inner.join("Cargo.toml");
        let renamed = |text: &str| {
            fs::write(&manifest, text).unwrap();
            renamed(&manifest)
        };
        assert_eq!(renamed("[dev-dependencies]\nwb = { workspace = true }").as_deref(), Some("wb"));
        assert_eq!(renamed("[dev-dependencies]\nwb.workspace = true").as_deref(), Some("wb"));
        assert_eq!(renamed("[dev-dependencies]\nserde.workspace = true"), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
