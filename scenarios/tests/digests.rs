//! The synthetic data are pinned: whoever changes a generator changes every number that was ever measured on them.

use weighbridge_scenarios::data::{Cache, DataSpec};

/// Elements of the beginning that is pinned beside the whole.
const BEGINNING: usize = 1_000;

/// Sets up to this many bytes are made whole in every build, those up to [`LARGE`] in optimised builds: without
/// optimisation the large ones take minutes. Their beginnings are checked always, and show the same generator.
const SMALL: usize = 64 << 20;
const LARGE: usize = 1 << 30;

/// Scenario, data, digest of the beginning, digest of the whole. `None`: too large to be made by a test.
fn pinned() -> Vec<(&'static str, DataSpec, &'static str, Option<&'static str>)> {
    vec![
        (
            "CV-1 small",
            DataSpec::images(10_000, 32, 3),
            "b2c8a25923fb472adca5da7eec1e9f22",
            Some("69420b7ddf80b714d2634419e5491f1e"),
        ),
        (
            "CV-1 medium",
            DataSpec::images(5_000, 128, 3),
            "86d00c7a042cdeb6d918c2b606f9bf9e",
            Some("169c9ab025e28ae4b9da9bb21da131c2"),
        ),
        ("CV-1 large", DataSpec::images(50_000, 256, 3), "d7736215bbb3aeea2d7d0cb794deae98", None),
        (
            "NLP-1 small",
            DataSpec::tokens(10_000, 128),
            "a4dc513bbe06c0bd9935cbba89b89c28",
            Some("cce172272aef7d9e8e6b76a372864d4a"),
        ),
        (
            "NLP-1 medium",
            DataSpec::tokens(100_000, 2_048),
            "49af37bb6a98ea416e190e7bf5bead16",
            Some("86033993327c7b8377198cbcc4907364"),
        ),
        (
            "TAB-1 small",
            DataSpec::table(10_000, 100),
            "69ba1c68da38a5fbeaa93feadcd398e4",
            Some("2d34acc2a3ec4470ca5364ed791a78fe"),
        ),
        (
            "TAB-1 medium",
            DataSpec::table(1_000_000, 100),
            "69ba1c68da38a5fbeaa93feadcd398e4",
            Some("bbe8c5a8efd89fda418630121ef94ff1"),
        ),
        (
            "PC-1",
            DataSpec::normal("data", 50_000, vec![64, 64]),
            "63c394fc48db3c1ef3be42690c2bf41b",
            Some("2895badccc743304d7ed316ba0fd8b2a"),
        ),
        (
            "IO-1 and PR-2",
            DataSpec::images(5_000, 64, 3),
            "18cb567510bfc90b2a29a6ecd542589b",
            Some("c6e1f161f6744491803d92fa070846ca"),
        ),
    ]
}

fn digest(spec: &DataSpec) -> String {
    let place = tempfile::tempdir().unwrap();
    Cache::at(place.path()).open(spec).unwrap().digest().to_owned()
}

fn bytes(spec: &DataSpec) -> usize {
    let row = |kind: &weighbridge::FieldKind| kind.shape.iter().product::<usize>() * kind.dtype.size();
    spec.elements * spec.kinds().map(row).sum::<usize>()
}

#[test]
fn every_data_set_of_the_gate_set_begins_with_the_pinned_bytes() {
    for (name, spec, beginning, _) in pinned() {
        let elements = if bytes(&spec) > LARGE { 50 } else { BEGINNING };
        assert_eq!(digest(&spec.cut_to(elements)), beginning, "{name}");
    }
}

#[test]
fn every_data_set_of_the_gate_set_that_this_build_can_make_is_the_pinned_one() {
    let limit = if cfg!(debug_assertions) { SMALL } else { LARGE };
    for (name, spec, _, whole) in pinned() {
        match whole {
            Some(whole) if bytes(&spec) <= limit => assert_eq!(digest(&spec), whole, "{name}"),
            _ => eprintln!(
                "{name}: {} bytes are too many for this build, its beginning is checked",
                bytes(&spec)
            ),
        }
    }
}
