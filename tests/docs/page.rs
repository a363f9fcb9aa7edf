//! The pages, and the fenced blocks in them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::external::root;

/// A page of the documentation.
pub(crate) struct Page {
    /// Its path below the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A fenced block.
pub(crate) struct Block<'a> {
    /// What stands behind the fence: `sh`, `sh suite`, `toml`.
    pub(crate) info: &'a str,
    /// The number of its first line.
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The README and everything below `docs`: pages, and files of YAML that are ready to be copied.
pub(crate) fn pages() -> Vec<Page> {
    let mut paths = vec![PathBuf::from("README.md")];
    collect(Path::new("docs"), &mut paths);
    paths.sort();
    let read = |path: PathBuf| Page { text: fs::read_to_string(root().join(&path)).unwrap(), path };
    paths.into_iter().map(read).collect()
}

/// The page at this path.
pub(crate) fn page(path: &str) -> Page {
    pages().into_iter().find(|page| page.path == Path::new(path)).unwrap_or_else(|| panic!("no {path}"))
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root().join(folder)).unwrap().flatten() {
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "md" || extension == "yml") {
            paths.push(path);
        }
    }
}

impl Page {
    /// Its fenced blocks, in order.
    pub(crate) fn blocks(&self) -> Vec<Block<'_>> {
        if self.is_yaml() {
            return vec![Block { info: "yaml", line: 1, text: self.text.clone() }];
        }
        let mut blocks = Vec::new();
        let mut open: Option<Block<'_>> = None;
        for (number, line) in self.text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(info), None) => {
                    open = Some(Block { info: info.trim(), line: number + 2, text: String::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.text.extend([line, "\n"]),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a fence is never closed", self.path.display());
        blocks
    }

    fn is_yaml(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "yml")
    }

    /// Its text without what stands in fences.
    pub(crate) fn prose(&self) -> String {
        if self.is_yaml() {
            return String::new();
        }
        let mut fenced = false;
        let outside = |line: &&str| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        };
        self.text.lines().filter(outside).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn every_block_says_of_which_kind_it_is_and_is_of_a_kind_that_is_checked() {
    // The blocks of `json` are messages of the worker protocol, which its types are read from in their own tests.
    let kinds = ["sh", "sh suite", "toml", "rust", "yaml", "text", "json"];
    for page in pages() {
        for Block { info, line, .. } in page.blocks() {
            // `rust,no_run` and its like are read by rustdoc.
            let known = kinds.contains(&info.split(',').next().unwrap());
            assert!(known, "{}:{line}: a block of `{info}`; there is {kinds:?}", page.path.display());
        }
    }
}

#[test]
fn every_toml_block_parses_and_every_profile_on_a_page_is_one_that_is_run() {
    let settings = fs::read_to_string(root().join("tests/external/.config/weighbridge.toml")).unwrap();
    for page in pages() {
        for Block { info, line, text } in page.blocks() {
            if info != "toml" {
                continue;
            }
            let at = format!("{}:{line}", page.path.display());
            basic_toml::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{at}: {error}"));
            let profile = text.contains("[profile.");
            assert!(!profile || settings.contains(&text), "{at}: tests/external does not have this profile");
        }
    }
}

#[test]
fn rustdoc_reads_every_page_that_has_a_rust_block() {
    let readers = ["runtime/src/lib.rs", "scenarios/src/lib.rs"];
    let readers = readers.map(|file| fs::read_to_string(root().join(file)).unwrap()).concat();
    for page in pages() {
        let rust = page.blocks().iter().any(|block| block.info.starts_with("rust"));
        let line = format!("include_str!(\"../../{}\")", page.path.display());
        assert!(
            !rust || readers.contains(&line),
            "put `#[doc = {line}]` where scenarios/src/lib.rs has them"
        );
    }
}
