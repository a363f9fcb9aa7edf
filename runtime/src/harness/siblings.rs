//! Bench targets beside this one: `cargo bench -- FILTER` runs all of them, and what is asked for may be in another.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::{Context, Mode};
use crate::json;
use crate::plan::{Plan, nearest};
use crate::registry::Registry;

/// What of a `Cargo.toml` says which bench targets there are.
#[derive(Debug, Deserialize)]
struct Manifest {
    package: Option<Package>,
    #[serde(default)]
    bench: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Package {
    autobenches: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

/// What is said where filters take no case of this bench target, and the package has others that may have it; `None` where
/// that is an error, or where something is to be run. In a gate nothing is passed over.
pub(super) fn passed_over(
    context: &Context<'_>,
    registry: &Registry,
    plan: &Plan,
    mode: Mode,
) -> Option<String> {
    let args = &context.args;
    let is_gate = args.baseline.is_some() || args.versus.is_some() || args.versus_adapter.is_some();
    let is_filtered_out = plan.measured() == 0 && plan.skips.is_empty() && !args.filters.is_empty();
    if !matches!(mode, Mode::Bench | Mode::Profile) || is_gate || !is_filtered_out {
        return None;
    }
    let package = Path::new(context.suite.directory);
    let others = benches(package).into_iter().filter(|name| *name != context.suite.target).count();
    if others == 0 {
        return None;
    }
    let filters: Vec<String> = args.filters.iter().map(|filter| format!("`{filter}`")).collect();
    let ids = || registry.scenarios().iter().map(|scenario| scenario.id);
    let near = args.filters.iter().find_map(|filter| nearest(filter, ids()));
    let near = near.map_or_else(String::new, |id| format!(" (the nearest scenario is `{id}`)"));
    Some(format!(
        "nothing to measure in the bench target `{}`: no case matches {}{near}",
        context.suite.target,
        filters.join(" or ")
    ))
}

/// The names of a package's bench targets; none where its manifest cannot be read.
fn benches(package: &Path) -> BTreeSet<String> {
    let Ok(text) = fs::read_to_string(package.join("Cargo.toml")) else { return BTreeSet::new() };
    let Ok(manifest) = json::from_toml::<Manifest>(&text) else { return BTreeSet::new() };
    let mut names: BTreeSet<String> = manifest.bench.into_iter().map(|target| target.name).collect();
    if manifest.package.and_then(|package| package.autobenches).unwrap_or(true) {
        // As cargo finds them: `benches/NAME.rs` and `benches/NAME/main.rs`.
        let entries = fs::read_dir(package.join("benches")).into_iter().flatten().flatten();
        let found = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").is_file());
        names.extend(found.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bench_targets_are_those_that_the_manifest_names_and_those_that_cargo_finds() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("benches/large")).unwrap();
        for file in ["benches/small.rs", "benches/large/main.rs", "benches/notes.md", "benches/large/part.rs"]
        {
            fs::write(at(file), "").unwrap();
        }
        let names = |manifest: &str| {
            fs::write(at("Cargo.toml"), manifest).unwrap();
            benches(folder.path()).into_iter().collect::<Vec<_>>()
        };
        let named =
            "[package]\nname = \"p\"\n[[bench]]\nname = \"other\"\npath = \"x.rs\"\nharness = false\n";
        assert_eq!(names(named), ["large", "other", "small"]);
        assert_eq!(names("[package]\nname = \"p\"\nautobenches = false\n"), [""; 0]);
        assert_eq!(names("[package"), [""; 0], "what cannot be read has no others");
    }
}
