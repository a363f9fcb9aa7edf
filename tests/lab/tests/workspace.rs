//! The laboratory's workspace beside the product's: what must be the same in both is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A file of the product's workspace, and the one of the laboratory.
fn both(file: &str) -> [String; 2] {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    [lab.join("../.."), lab.to_owned()]
        .map(|root| fs::read_to_string(root.join(file)).expect("it is committed"))
}

/// The lines of a manifest's tables whose names begin so, with the names.
fn tables<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let mut within = false;
    let is_meant = |line: &&'a str| {
        if line.starts_with('[') {
            within = line.starts_with(name);
        }
        within && !line.trim().is_empty() && !line.starts_with('#')
    };
    manifest.lines().filter(is_meant).collect()
}

#[test]
fn lints_are_those_of_the_product() {
    let [product, lab] = both("Cargo.toml");
    assert!(tables(&product, "[workspace.lints").len() > 10);
    assert_eq!(tables(&lab, "[workspace.lints"), tables(&product, "[workspace.lints"));
}

/// What a crate is built as is part of whether it has been built.
#[test]
fn what_the_product_builds_as_it_says_is_built_so_here() {
    let [product, lab] = both("Cargo.toml");
    let [_, lock] = both("Cargo.lock");
    let lab: BTreeSet<&str> = tables(&lab, "[profile").into_iter().collect();
    // Of a package that is not built here cargo says that there is none.
    let is_here = |line: &&str| {
        let package = line.split_once(" = {").map(|(name, _)| format!("name = \"{name}\"\n"));
        package.is_none_or(|package| lock.contains(&package))
    };
    let product = tables(&product, "[profile").into_iter().filter(is_here);
    let other: Vec<&str> = product.filter(|line| !lab.contains(line)).collect();
    assert!(other.is_empty(), "the laboratory's profiles lack {other:#?}");
}

/// Each crate with its version, under what is compatible with it: `1` of `1.2.3`, `0.4` of `0.4.5`.
fn locked(lock: &str) -> BTreeMap<(&str, String), &str> {
    let mut lines = lock.lines().peekable();
    let mut found = BTreeMap::new();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"')) else {
            continue;
        };
        let version = lines.peek().and_then(|line| line.strip_prefix("version = \""));
        let Some(version) = version.and_then(|rest| rest.strip_suffix('"')) else { continue };
        let parts: Vec<&str> = version.split('.').collect();
        let compatible = if parts[0] == "0" { parts[..2].join(".") } else { parts[0].to_owned() };
        found.insert((name, compatible), version);
    }
    found
}

#[test]
fn what_both_need_of_others_is_locked_at_one_version_so_that_it_is_built_once() {
    let [product, lab] = both("Cargo.lock");
    let (product, lab) = (locked(&product), locked(&lab));
    let shared: Vec<_> = lab.iter().filter_map(|(of, here)| Some((of.0, *here, *product.get(of)?))).collect();
    assert!(shared.len() > 50, "{shared:?}");
    let other: Vec<_> = shared.iter().filter(|(_, here, there)| here != there).collect();
    assert!(
        other.is_empty(),
        "`cargo update --manifest-path tests/lab/Cargo.toml NAME --precise VERSION`: {other:?}"
    );
}
