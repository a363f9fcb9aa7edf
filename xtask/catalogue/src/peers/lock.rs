//! `peers lock`: requirement files with every package's version and hashes, for all Pythons and systems at
//! once.

use std::fs;

use anyhow::{Context, Result};
use weighbridge::data::Exit;
use weighbridge_python::{PYTHONS, requirements};

use super::uv::Uv;
use weighbridge_xtask::command_output::{CommandOutput, say};

/// The largest file that is worth a commit.
const MOST: u64 = 1 << 20;

/// The requirement files of these short names.
pub(super) fn run(shorts: impl Iterator<Item = &'static str>, upgrade: bool) -> Result<CommandOutput> {
    let uv = Uv::find()?;
    let mut said = CommandOutput::fine("");
    for short in shorts {
        say(short);
        let file = requirements().join(format!("{short}.txt"));
        let before = fs::read(&file).unwrap_or_default(); // there may be none yet
        if let Err(why) = uv.run(&requirements(), arguments(short, upgrade))? {
            said.remarks.push(format!("error: {short}: failed to resolve its packages: {why}"));
            said.exit = Exit::Failed;
            continue;
        }
        let after = fs::read(&file).with_context(|| format!("failed to read `{}`", file.display()))?;
        let state = if before == after { "is as it was" } else { "is new" };
        said.text.push_str(&format!("{short}.txt {state} ({} bytes)\n", after.len()));
        if after.len() as u64 > MOST {
            said.remarks.push(format!("warning: {short}.txt is larger than 1 MiB"));
        }
    }
    Ok(said)
}

/// One version of a package for all Pythons (`fewest`), so that a figure does not depend on which one is
/// there.
fn arguments(short: &str, upgrade: bool) -> Vec<String> {
    let fixed = [
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--fork-strategy",
        "fewest",
        "--generate-hashes",
        "--python-version",
        PYTHONS[0],
        "--custom-compile-command",
        "cargo catalogue peers lock",
    ];
    let mut arguments: Vec<String> = fixed.iter().map(|&word| word.to_owned()).collect();
    arguments.extend(upgrade.then(|| "--upgrade".to_owned()));
    let file = |extension: &str| format!("{short}.{extension}");
    arguments.extend([file("in"), "--output-file".to_owned(), file("txt")]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_locked_with_hashes_for_all_pythons() {
        let line = arguments("datarax", true).join(" ");
        assert!(line.contains("--universal") && line.contains("--generate-hashes"), "{line}");
        assert!(line.ends_with("--upgrade datarax.in --output-file datarax.txt"), "{line}");
        assert!(!arguments("datarax", false).iter().any(|word| word == "--upgrade"));
    }
}
