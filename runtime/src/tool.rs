//! The command for all that a bench target does not do by itself: what an advice may name, since whoever
//! reads it has it.

use std::path::Path;
use std::sync::OnceLock;
use std::{env, fs};

/// The command that anybody can install.
const ANYWHERE: &str = "cargo weighbridge";

/// The line that installs it.
pub(crate) const INSTALL: &str = concat!(
    "cargo install --locked --git ",
    env!("CARGO_PKG_REPOSITORY"),
    " weighbridge-xtask --bin cargo-weighbridge"
);

/// The alias that a workspace may have for it.
const ALIAS: &str = "cargo xtask";

/// `cargo xtask` in a workspace that has this alias, else `cargo weighbridge`.
///
/// ```
/// let advice = format!("{} runs list", weighbridge::tool());
/// assert!(advice.starts_with("cargo "));
/// ```
pub fn tool() -> &'static str {
    static TOOL: OnceLock<&str> = OnceLock::new();
    TOOL.get_or_init(|| {
        let program = env::current_exe().ok();
        let stem = program.as_deref().and_then(Path::file_stem).and_then(|stem| stem.to_str());
        let from = env::current_dir().unwrap_or_default();
        named(stem.unwrap_or_default(), &from)
    })
}

/// Returns the command's name as its caller calls it, else as the folders from here up tell.
fn named(program: &str, from: &Path) -> &'static str {
    match program {
        "cargo-weighbridge" => ANYWHERE,
        "xtask" => ALIAS,
        _ if from.ancestors().any(has_alias) => ALIAS,
        _ => ANYWHERE,
    }
}

/// Tells whether cargo's settings in this folder have the alias.
fn has_alias(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join(".cargo/config.toml")).unwrap_or_default();
    text.lines()
        .any(|line| line.split('=').next().is_some_and(|key| ["xtask", "alias.xtask"].contains(&key.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_is_named_where_there_is_one_and_else_what_can_be_installed() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("crates/one");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(folder.path().join(".cargo")).unwrap();
        let config = folder.path().join(".cargo/config.toml");
        fs::write(&config, "[alias]\nxt = \"run\"\n").unwrap();
        assert_eq!(named("suite-0123", &inner), ANYWHERE);
        fs::write(&config, "[alias]\nxtask = \"run --package xtask --\"\n").unwrap();
        assert_eq!(named("suite-0123", &inner), ALIAS);
        assert_eq!(named("cargo-weighbridge", &inner), ANYWHERE);
        assert_eq!(named("xtask", Path::new("/nowhere")), ALIAS);
    }
}
