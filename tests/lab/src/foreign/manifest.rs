//! The one line of a manifest that changes.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

/// The harnesses, and the packages that stand in their place.
const DROP_INS: [(&str, &str); 2] = [("criterion", "runtime/criterion"), ("divan", "runtime/divan")];

/// The manifest in a workspace of its own, and with what stands in the place of criterion and divan below
/// `product`, if that is given.
///
/// # Errors
/// When the text is no manifest, and when it has neither to replace.
pub(super) fn standing_alone(text: &str, product: Option<&Path>) -> Result<String> {
    let mut manifest: Table = text.parse().context("the manifest cannot be read")?;
    manifest.entry("workspace").or_insert_with(|| Value::Table(Table::new()));
    if let Some(product) = product {
        let replaced = replace(&mut manifest, product);
        ensure!(replaced > 0, "the manifest has neither criterion nor divan");
    }
    toml::to_string(&manifest).context("the manifest cannot be written")
}

/// Replaces the harnesses among all dependencies, and gives how many there were.
fn replace(manifest: &mut Table, product: &Path) -> usize {
    let mut replaced = 0;
    for kind in ["dependencies", "dev-dependencies"] {
        replaced += manifest.get_mut(kind).map_or(0, |among| replace_among(among, product));
    }
    let targets = manifest.get_mut("target").and_then(Value::as_table_mut);
    for (_, target) in targets.into_iter().flatten() {
        for kind in ["dependencies", "dev-dependencies"] {
            replaced += target.get_mut(kind).map_or(0, |among| replace_among(among, product));
        }
    }
    replaced
}

fn replace_among(among: &mut Value, product: &Path) -> usize {
    let mut replaced = 0;
    for (harness, folder) in DROP_INS {
        let Some(dependency) = among.get_mut(harness) else { continue };
        let mut ours = match dependency.as_table() {
            Some(table) => table.clone(),
            None => Table::new(),
        };
        ours.remove("version");
        ours.insert("package".to_owned(), format!("weighbridge-{harness}").into());
        ours.insert("path".to_owned(), product.join(folder).display().to_string().into());
        *dependency = Value::Table(ours);
        replaced += 1;
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_harness_is_replaced_wherever_it_stands_and_keeps_its_features() {
        let text = "[package]\nname = \"a\"\n[dev-dependencies]\ncriterion = \"0.5\"\nrand = \"0.9\"\n\
                    [target.'cfg(unix)'.dev-dependencies.divan]\nversion = \"0.1\"\nfeatures = [\"help\"]\n";
        let changed = standing_alone(text, Some(Path::new("/product"))).unwrap();
        let changed: Table = changed.parse().unwrap();
        let criterion = &changed["dev-dependencies"]["criterion"];
        assert_eq!(criterion["package"].as_str(), Some("weighbridge-criterion"));
        assert_eq!(criterion["path"].as_str(), Some("/product/runtime/criterion"));
        assert_eq!(changed["dev-dependencies"]["rand"].as_str(), Some("0.9"));
        let divan = &changed["target"]["cfg(unix)"]["dev-dependencies"]["divan"];
        assert!(divan.get("version").is_none());
        assert_eq!(divan["features"].as_array().map(Vec::len), Some(1));
        assert!(changed.contains_key("workspace"));
    }

    #[test]
    fn the_manifest_of_the_original_keeps_its_harness_and_one_without_is_refused() {
        let text = "[dev-dependencies]\ncriterion = \"0.5\"\n";
        let kept: Table = standing_alone(text, None).unwrap().parse().unwrap();
        assert_eq!(kept["dev-dependencies"]["criterion"].as_str(), Some("0.5"));
        assert!(standing_alone("[package]\nname = \"a\"\n", Some(Path::new("/"))).is_err());
    }
}
