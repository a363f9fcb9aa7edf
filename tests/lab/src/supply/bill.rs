//! A bill of materials, in the form of `CycloneDX` 1.5.
//!
//! There are crates that make one. They bring thirty to sixty packages for a format of which five members are
//! needed, and know nothing of the packages of Python.

use serde_json::{Value, json};

use super::materials::{Crate, Materials};

/// The bill of these materials. The same materials have the same bill: there is no time and no number of
/// its own in it.
pub(super) fn bill(materials: &Materials) -> Value {
    let (own, others): (Vec<&Crate>, Vec<&Crate>) =
        materials.crates.iter().partition(|one| one.source.is_none());
    let product = own.iter().find(|one| one.name == "weighbridge");
    let version = product.map_or("", |one| &one.version);
    let python = materials.python.iter().map(|((name, version), frameworks)| {
        let frameworks: Vec<&str> = frameworks.iter().map(String::as_str).collect();
        let reference = format!("pkg:pypi/{name}@{version}");
        json!({
            "type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference,
            "scope": "optional",
            "properties": [{"name": "weighbridge:frameworks", "value": frameworks.join(" ")}],
        })
    });
    let components: Vec<Value> = own.iter().chain(&others).map(|one| component(one)).chain(python).collect();
    let dependencies: Vec<Value> = materials
        .crates
        .iter()
        .map(|one| {
            let on: Vec<String> = one.needs.iter().map(|at| reference(&materials.crates[*at])).collect();
            json!({"ref": reference(one), "dependsOn": on})
        })
        .collect();
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": "weighbridge", "name": "weighbridge", "version": version,
            },
        },
        "components": components,
        "dependencies": dependencies,
    })
}

/// The address by which others know a package.
fn reference(one: &Crate) -> String {
    format!("pkg:cargo/{}@{}", one.name, one.version)
}

fn component(one: &Crate) -> Value {
    let reference = reference(one);
    let mut component = json!({
        "type": "library", "bom-ref": reference, "name": one.name, "version": one.version, "purl": reference,
        "scope": "required",
    });
    if let Some(licence) = &one.licence {
        // The old way to write "or" is none of SPDX.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ").replace("  ", " ")}]);
    }
    if let Some(checksum) = &one.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_bill_of_this_workspace_has_every_package_once_with_its_licence_and_its_hash() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let materials = Materials::of(&root).expect("cargo knows it");
        let bill = bill(&materials);
        assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&json!("CycloneDX"), &json!("1.5")));
        assert_eq!(bill["metadata"]["component"]["name"], "weighbridge");
        let components = bill["components"].as_array().expect("a list");
        let text = |one: &Value, member: &str| one[member].as_str().unwrap_or_default().to_owned();
        let references: BTreeSet<String> = components.iter().map(|one| text(one, "bom-ref")).collect();
        assert_eq!(references.len(), components.len(), "each has a reference of its own");
        for one in components {
            let name = text(one, "bom-ref");
            assert!(!text(one, "version").is_empty() && text(one, "purl").starts_with("pkg:"), "{one}");
            let is_of_others = one["scope"] == "required"
                && !name.contains("cargo/weighbridge")
                && name != "pkg:cargo/needs@0.1.0";
            if is_of_others {
                let licence = one["licenses"][0]["expression"].as_str().expect(&name);
                assert!(spdx::Expression::parse(licence).is_ok(), "{name}: {licence}");
                assert_eq!(one["hashes"][0]["content"].as_str().map(str::len), Some(64), "{name}");
            }
        }
        for entry in bill["dependencies"].as_array().expect("a list") {
            for on in entry["dependsOn"].as_array().expect("a list") {
                assert!(references.contains(on.as_str().expect("text")), "{on}");
            }
        }
        let all = |name: &str| references.iter().any(|reference| reference.contains(name));
        assert!(all("cargo/serde_json@") && all("cargo/weighbridge-macros@") && all("pypi/numpy@"));
        assert!(!all("cargo/statrs@"), "it is of a test alone");
        assert_eq!(bill, super::bill(&materials), "the same materials have the same bill");
    }
}
