//! Adapters may know what a pipeline asks of them, never which scenario asks.

use std::fs;
use std::path::Path;

#[test]
fn no_adapter_names_a_scenario() {
    let ids = ["CV-", "NLP-", "TAB-", "MM-", "PC-", "IO-", "DIST-", "PR-", "AUG-", "NNX-", "XFMR-"];
    let mut files = 0;
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/adapters")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = fs::read_to_string(&path).unwrap();
            for id in ids {
                let named = text
                    .match_indices(id)
                    .any(|(at, _)| text[at + id.len()..].starts_with(|next: char| next.is_ascii_digit()));
                assert!(!named, "{} names a scenario {id}..", path.display());
            }
        }
    }
    assert!(files > 5, "the adapters were not found");
}
