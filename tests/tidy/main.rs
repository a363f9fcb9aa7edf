//! The rules of the house, held by a test: the direction of imports, who may print, what every target must
//! say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use syn::visit::Visit;

mod circles;
mod exported;
mod prose;
mod sizes;
mod source;

use source::{Crate, crate_roots, sources};

/// The stages in the order of flow.
const FLOW: &[&str] = &[
    "json", "tool", "device", "process", "ranks", "stats", "metric", "bencher", "registry", "worker", "plan",
    "run", "verify", "record", "compare", "store", "report", "harness",
];

/// What the ground stages may import: they are no tower.
const GROUND: &[(&str, &[&str])] = &[
    ("json", &[]),
    ("tool", &[]),
    ("device", &[]),
    ("process", &["json", "device"]),
    ("ranks", &["json", "device", "process"]),
    ("stats", &[]),
    ("metric", &["device", "stats"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace has this package")
}

/// The crates that `cargo bench` builds of these kinds.
fn built_for_a_bench(edges: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--locked", "--prefix", "none", "--edges", edges, "--package", "weighbridge-suite"]);
    let listed = cargo.current_dir(root()).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let text = String::from_utf8(listed.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}

#[test]
fn a_bench_compiles_nothing_of_devices_of_the_commands_or_of_tests() {
    let built = built_for_a_bench("normal,build,dev");
    assert!(built.contains("weighbridge-loaders"), "{built:?}");
    // Who does not ask does not build.
    let families = ["checkpoints", "training", "inference", "load"].map(|name| format!("weighbridge-{name}"));
    for apart in families.iter().map(String::as_str).chain([
        "hyper",
        "cudarc",
        "libloading",
        "weighbridge-xtask",
        "clap",
        "resvg",
        "needs",
    ]) {
        assert!(!built.contains(apart), "{apart}");
    }
    // A macro parses with it. Nothing that is optimised for a bench does.
    assert!(built.contains("syn"), "{built:?}");
    let optimised = built_for_a_bench("normal,dev,no-proc-macro");
    assert!(optimised.contains("weighbridge-loaders") && !optimised.contains("syn"), "{optimised:?}");
}

#[test]
fn no_test_forbids_cargo_to_fetch_what_nobody_may_have_fetched_before() {
    let offline = ["\"--off", "line\""].concat();
    for folder in ["macros", "runtime", "scenarios", "tests", "xtask"] {
        let files = files(&root().join(folder), "rs");
        // The laboratory measures what a build costs once all is fetched.
        for file in files.iter().filter(|file| !file.starts_with(root().join("tests/lab"))) {
            let text = fs::read_to_string(file).unwrap();
            assert!(!text.contains(&offline), "{}: in a fresh clone nothing is fetched yet", file.display());
        }
    }
}

/// Every file below `folder` with this extension, build output left out.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The stages that a file names: in `use` trees and in paths, tests included, documentation left out.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let syn::UseTree::Path(path) = &item.tree
            && path.ident == "crate"
        {
            self.first(&path.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter();
        if segments.next().is_some_and(|first| first.ident == "crate")
            && let Some(stage) = segments.next()
        {
            self.0.insert(stage.ident.to_string());
        }
        syn::visit::visit_path(self, path);
    }
}

impl Names {
    fn first(&mut self, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => drop(self.0.insert(path.ident.to_string())),
            syn::UseTree::Name(name) => drop(self.0.insert(name.ident.to_string())),
            syn::UseTree::Rename(rename) => drop(self.0.insert(rename.ident.to_string())),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.first(tree)),
            syn::UseTree::Glob(_) => drop(self.0.insert("*".to_owned())),
        }
    }
}

fn names(text: &str) -> BTreeSet<String> {
    let mut names = Names::default();
    names.visit_file(&syn::parse_file(text).expect("our own files parse"));
    names.0
}

#[test]
fn imports_point_up_the_flow() {
    let mut seen = 0;
    for (place, stage) in FLOW.iter().enumerate() {
        let allowed: Vec<&str> = match GROUND.iter().find(|(ground, _)| ground == stage) {
            Some((_, ground)) => ground.to_vec(),
            None => FLOW[..place].to_vec(),
        };
        for file in files(&root().join("runtime/src").join(stage), "rs") {
            seen += 1;
            for name in names(&fs::read_to_string(&file).unwrap()) {
                let fine = name == *stage || allowed.contains(&name.as_str());
                assert!(
                    fine,
                    "{}: `{stage}` may not import `{name}`; it may import {allowed:?}",
                    file.display()
                );
            }
        }
    }
    assert!(seen > 50, "only {seen} files were looked at");
}

#[test]
fn the_page_on_the_architecture_has_the_stages_in_their_order() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let lines = page
        .lines()
        .filter_map(|line| line.split_once("  ").filter(|(_, rest)| rest.contains(" runtime/src/")));
    assert_eq!(lines.map(|(stage, _)| stage).collect::<Vec<_>>(), FLOW);
}

#[test]
fn the_import_rule_sees_groups_paths_and_globs() {
    let seen = |text: &str| names(text).into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(seen("use crate::{plan::{Case}, run};"), "plan run");
    assert_eq!(seen("fn f() -> crate::report::Table { todo!() }"), "report");
    assert_eq!(seen("use crate::*;"), "*");
    assert_eq!(seen("//! [`crate::harness`]\nuse super::crate_like; use std::fmt;"), "");
}

#[test]
fn only_report_prints_only_device_and_supervision_read_clocks_and_only_layout_names_paths() {
    for (file, source) in sources("runtime/src") {
        let place = file.strip_prefix("runtime/src/").unwrap();
        for (number, line) in source.statements() {
            let at = format!("{place}:{number}: {line}");
            for print in ["println!", "eprintln!", "print!(", "eprint!("] {
                assert!(!line.contains(print), "only report/terminal.rs writes to the terminal: {at}");
            }
            let clock = line.contains("Instant::now()") || line.contains("SystemTime::now()");
            let times = [
                "device/",
                "process/",
                "run/",
                "harness/local_ranks.rs", // deadlines of processes
                "harness/leading.rs",     // how long ranks are waited for
                "report/progress.rs",
                "harness/session.rs",
                "harness/wait.rs",
                "record/environment/ask.rs", // deadlines of programs that are asked
            ];
            assert!(
                !clock || times.iter().any(|allowed| place.starts_with(allowed)),
                "clocks are read in device: {at}"
            );
            let literal = ["\"runs\"", "\"baselines\"", "\"repeats\"", "\"run.json\""]
                .iter()
                .any(|name| line.contains(name));
            let joins = line.contains(".join(\"") && literal;
            assert!(!joins || place == "store/layout.rs", "paths are made in store/layout.rs: {at}");
        }
    }
}

#[test]
fn a_metric_of_the_harness_is_named_by_its_constant() {
    let list = fs::read_to_string(root().join("runtime/src/metric/names.rs")).unwrap();
    let quoted = list.lines().filter_map(|line| line.trim().split(" = ").nth(1)?.strip_suffix(';'));
    // A name of one word is a word of other things as well.
    let names: Vec<&str> = quoted.filter(|name| name.contains('_')).collect();
    assert!(names.contains(&"\"wall_time\"") && names.len() > 30, "{names:?}");
    for folder in ["runtime/src", "xtask"] {
        for (place, source) in sources(folder) {
            let is_list_or_test_data = ["golden", "hostile", "metric/names"];
            if is_list_or_test_data.iter().any(|part| place.contains(part)) {
                continue;
            }
            for (number, line) in source.statements() {
                let found = names.iter().find(|name| line.contains(*name));
                assert!(
                    found.is_none(),
                    "{place}:{number}: {} has a constant in metric/names.rs",
                    found.unwrap()
                );
            }
        }
    }
}

#[test]
fn every_library_and_binary_says_bench_false() {
    for manifest in files(root(), "toml").iter().filter(|path| path.ends_with("Cargo.toml")) {
        let text = fs::read_to_string(manifest).unwrap();
        let package = manifest.parent().unwrap();
        let targets = text.matches("\n[lib]").count() + text.matches("\n[[bin]]").count();
        let said = text.matches("\nbench = false").count();
        assert_eq!(targets, said, "{}: `cargo bench -- FLAGS` would reach libtest", manifest.display());
        for (target, section) in [("src/lib.rs", "\n[lib]"), ("src/main.rs", "\n[[bin]]")] {
            assert!(
                !package.join(target).exists() || text.contains(section),
                "{}: {section}",
                manifest.display()
            );
        }
    }
}

#[test]
fn the_top_level_is_what_it_should_be() {
    let wanted = [
        "CONTRIBUTING.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "benches",
        "docs",
        "macros",
        "runtime",
        "scenarios",
        "tests",
        "xtask",
    ];
    let entries =
        fs::read_dir(root()).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let found: BTreeSet<String> = entries.filter(|name| !name.starts_with('.') && name != "target").collect();
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
}

#[test]
fn a_scenarios_file_is_named_for_its_id() {
    let mut seen = 0;
    for (place, source) in sources("scenarios") {
        for (_, line) in source.statements() {
            let Some(rest) = line.split("id = \"").nth(1).filter(|_| line.contains("#[scenario(")) else {
                continue;
            };
            let id = rest.split('"').next().unwrap();
            let name = format!("{}_", id.to_lowercase().replace('-', ""));
            let stem = place.rsplit('/').next().unwrap();
            assert!(stem.starts_with(&name), "{place}: the scenario {id} belongs into {name}<what>.rs");
            seen += 1;
        }
    }
    assert!(seen >= 6, "only {seen} scenarios were found");
}

#[test]
fn no_adapter_names_a_scenario() {
    let adapters: Vec<_> =
        sources("scenarios").into_iter().filter(|(place, _)| place.contains("/adapters/")).collect();
    assert!(adapters.len() > 50, "only {} files of adapters were found", adapters.len());
    for (place, source) in adapters {
        for (number, line) in source.statements() {
            for id in
                ["CV-", "NLP-", "TAB-", "PC-", "IO-", "PR-", "AUG-", "DIST-", "MM-", "NNX-", "XFMR-", "CKPT-"]
            {
                assert!(!line.contains(&format!("\"{id}")), "{place}:{number}: {line}");
            }
        }
    }
}

/// Words that are not written any more, since the field has its own. A word counts in names as well:
/// `a_ticket_says`.
const PRIVATE_WORDS: &[&str] = &[
    "ticket",
    "tickets",
    "doubt",
    "doubts",
    "doubted",
    "knows_of",
    "headline",
    "headlines",
    "lesson",
    "lessons",
    "crew",
    "crews",
    "lump",
    "lumps",
    "stand_in",
    "stand-in",
    "stand-ins",
    "undecided",
];

/// Where older names must stand: what reads older files, its tests, the table of versions, this list.
const OLDER_NAMES: &[&str] = &[
    "runtime/src/record/schema.rs",
    "runtime/src/store/faults.rs",
    "docs/record-format.md",
    "docs/changelog.md",
    "tests/tidy/main.rs",
];

/// The first private word in a text, with its line.
fn private_word(text: &str) -> Option<(usize, &'static str)> {
    let lower = text.to_lowercase();
    let is_letter = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
    lower.lines().enumerate().find_map(|(number, line)| {
        let has = |word: &&&str| {
            line.match_indices(**word).any(|(at, _)| {
                !is_letter(line[..at].chars().next_back())
                    && !is_letter(line[at + word.len()..].chars().next())
            })
        };
        PRIVATE_WORDS.iter().find(has).map(|word| (number + 1, *word))
    })
}

#[test]
fn no_private_synonym_of_a_word_of_the_field_is_written() {
    assert_eq!(private_word("fine\nthe_ticket_says"), Some((2, "ticket")));
    assert_eq!(private_word("No doubt."), Some((1, "doubt")));
    assert_eq!(private_word("a redoubtable screwdriver; standing in"), None);
    let mut looked = 0;
    for folder in ["benches", "docs", "macros", "runtime", "scenarios", "tests", "xtask"] {
        for extension in ["rs", "py", "md", "toml", "js", "ptx", "cu", "cpp", "h"] {
            for file in files(&root().join(folder), extension) {
                let name = file.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                if OLDER_NAMES.contains(&name.as_str()) || name.starts_with("docs/development/evidence") {
                    continue;
                }
                let Ok(text) = fs::read_to_string(&file) else { continue };
                looked += 1;
                if let Some((line, word)) = private_word(&text) {
                    panic!("{name}:{line}: `{word}` is a private word: docs/glossary.md has the field's");
                }
            }
        }
    }
    assert!(looked > 300, "only {looked} files were looked at");
}

/// Names of types that stand in several places, and why that is one meaning.
const SAME_TYPE: &[(&str, &str)] = &[];

/// The types that a file defines.
#[derive(Default)]
struct Types(Vec<String>);

impl<'ast> Visit<'ast> for Types {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.0.push(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.0.push(item.ident.to_string());
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.0.push(item.ident.to_string());
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.0.push(item.ident.to_string());
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.0.push(item.ident.to_string());
    }
}

#[test]
fn a_type_name_means_one_thing_in_its_crate() {
    let mut types_of: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for file in crate_roots().iter().filter(|file| !file.starts_with(root().join("tests"))) {
        let of = Crate::read(file);
        for (file, (_, source)) in of.files.iter().enumerate() {
            let mut types = Types::default();
            types.visit_file(&source.code);
            for name in types.0 {
                types_of.entry((of.name(0), name)).or_default().push(of.name(file));
            }
        }
    }
    assert!(types_of.len() > 1000, "only {} types were found", types_of.len());
    let mean_several = types_of.iter().filter(|(_, places)| places.len() > 1);
    let of_list = |name: &str| SAME_TYPE.iter().any(|(same, _)| *same == name);
    let unexpected: Vec<_> = mean_several.clone().filter(|((_, name), _)| !of_list(name)).collect();
    assert!(unexpected.is_empty(), "give each of these a name of its own: {unexpected:#?}");
    for (name, _) in SAME_TYPE {
        assert!(
            mean_several.clone().any(|((_, several), _)| several == name),
            "`{name}` stands in one place by now"
        );
    }
}
