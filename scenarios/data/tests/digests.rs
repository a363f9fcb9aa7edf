//! The synthetic data are pinned: whoever changes a generator changes every number that was ever measured on
//! them, and raises the version in `data/manifest.rs`, so that no cache goes on with the old ones.

use weighbridge_data::{Cache, DataSpec};

/// Elements of the beginning that is pinned beside the whole.
const BEGINNING: usize = 1_000;

/// Sets up to this many bytes are made whole in every build, those up to [`LARGE`] in optimised builds:
/// without optimisation the large ones take minutes. Their beginnings are checked always, and show the same
/// generator.
const SMALL: usize = 64 << 20;
const LARGE: usize = 1 << 30;

/// Scenario, data, digest of the beginning, digest of the whole. `None`: too large to be made by a test.
fn pinned() -> Vec<(&'static str, DataSpec, &'static str, Option<&'static str>)> {
    vec![
        (
            "CV-1 small",
            DataSpec::images(10_000, 32, 3),
            "a66e8630da3c018693d874c9f1223dab",
            Some("2d704ed44089bee919ab140acd49996b"),
        ),
        (
            "CV-1 medium",
            DataSpec::images(5_000, 128, 3),
            "fc23d7446bd8eeaf87dafeeb3e5f54bb",
            Some("29760a6bf460ea81767e932a25739672"),
        ),
        ("CV-1 large", DataSpec::images(50_000, 256, 3), "8036e6dede6535bc0ec571eaa7d64c32", None),
        (
            "NLP-1 small",
            DataSpec::tokens(10_000, 128),
            "301611c964b264e86946296e3ef4c021",
            Some("c6a898cd2d3c19b28f21ee729d14b231"),
        ),
        (
            "NLP-1 medium",
            DataSpec::tokens(100_000, 2_048),
            "62f2a5675215e732fe5b06ba5a9855c1",
            Some("20cfc64f1c3ae0c4ab47db0b80cc4744"),
        ),
        (
            "TAB-1 small",
            DataSpec::table(10_000, 100),
            "4978e579548e1739afa258af69bc01b8",
            Some("7dbbe65f4932650bfa7f6a0554b0dafa"),
        ),
        (
            "TAB-1 medium",
            DataSpec::table(1_000_000, 100),
            "4978e579548e1739afa258af69bc01b8",
            Some("0fcc739c4aba1b38f4729e3140682688"),
        ),
        (
            "PC-1",
            DataSpec::normal("data", 50_000, vec![64, 64]),
            "c6c92adc30416033201b438f296a13eb",
            Some("3554d309ef47655b1296c2bf53a7c7e8"),
        ),
        (
            "IO-1 and PR-2",
            DataSpec::images(5_000, 64, 3),
            "c3c6cffab452df145c048270aa6fe95f",
            Some("6f20d5d36071fcd12a04cbd10de17ea1"),
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
