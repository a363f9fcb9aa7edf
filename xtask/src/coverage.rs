//! `coverage`: the page of what each adapter can do, from a dry execution of every variant of every scenario.
//!
//! Few machines have every framework, so what was found lies in `docs/evidence/coverage.json`, adapter by adapter. A run
//! puts what it found in the place of what lay there; adapters that are not installed here keep theirs. With `--last` it
//! takes what `peers check` has found a moment before, which is the same execution.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use weighbridge::data::Exit;

use crate::cli;
use crate::dry::{self, Coverage, Covered, DryRun, Verification};
use crate::place::Place;
use crate::said::Said;
use crate::table::Table;

const FITS: &str = "a String takes all that is written";

const HEAD: &str = "\
# Coverage

What each adapter does of each variant of each scenario, found out by doing ten batches of it: nothing here is declared.
`cargo xtask coverage` runs what is installed and writes this page; with `--check` it fails where an outcome is another. What is
not on the page was not tried; mostly it is another size of what is. Workers are no variant and stand at their first value.

| sign | meaning |
|---|---|
| yes | it did the reference's work: the scenario's rule of equality holds |
| other | it did other work: measured, listed apart, never ranked |
| no | it declines, and says why below |
| broke | it failed |
| . | not tried here: what it needs is not on the machine |
";

pub(crate) fn run(args: &cli::Coverage, place: &Place) -> Result<Said> {
    let known = read(place)?;
    let adapters: Vec<&str> = args.adapter.iter().map(String::as_str).collect();
    let found = if args.render {
        Coverage::new()
    } else if args.last {
        dry::last(place)?
    } else {
        let what = DryRun { adapters: &adapters, scenarios: &args.scenario, set: "all", home: None };
        dry::run(place, what)?
    };
    // The last check may have been one of a few scenarios.
    let (new, away) = merge(&known, found, args.scenario.is_empty() && !args.last);
    let page = page(&new);
    if !args.check {
        let text = serde_json::to_string(&new).context("failed to write JSON")? + "\n";
        for (path, text) in [(evidence(place), text), (path(place), page)] {
            fs::write(&path, text).with_context(|| format!("failed to write `{}`", path.display()))?;
        }
        return Ok(Said::fine(format!("{} has {} adapters\n{away}", path(place).display(), new.len())));
    }
    let mut differences = differences(&known, &new);
    if fs::read_to_string(path(place)).unwrap_or_default() != self::page(&known) {
        differences.push_str("the page is not what the evidence says\n");
    }
    if differences.is_empty() {
        return Ok(Said::fine(format!("{} is true\n{away}", path(place).display())));
    }
    let text = format!(
        "{} is stale: `cargo xtask coverage` writes it anew\n{differences}{away}",
        path(place).display()
    );
    Ok(Said { exit: Exit::NothingToJudge, ..Said::fine(text) })
}

/// How much each adapter covers, in words; empty where nothing was found out yet.
pub(crate) fn supported(place: &Place) -> BTreeMap<String, String> {
    let known = read(place).unwrap_or_default(); // a list says what it can
    let words = |covered: &Covered| {
        let of = covered
            .variants
            .values()
            .filter(|standing| !matches!(standing, Verification::Skipped(_)))
            .count();
        format!("{} of {of} variants", count(covered, |standing| *standing == Verification::Verified))
    };
    known.iter().map(|(name, covered)| (name.clone(), words(covered))).collect()
}

fn path(place: &Place) -> PathBuf {
    place.root.join("docs").join("coverage.md")
}

fn evidence(place: &Place) -> PathBuf {
    place.root.join("docs").join("evidence").join("coverage.json")
}

fn read(place: &Place) -> Result<Coverage> {
    let path = evidence(place);
    match fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("failed to read `{}`", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Coverage::new()),
        Err(error) => Err(error).with_context(|| format!("failed to read `{}`", path.display())),
    }
}

/// What was found over what was known, and which adapters could not be tried. `whole` is whether every scenario was run:
/// else what is not found is not gone.
fn merge(known: &Coverage, found: Coverage, whole: bool) -> (Coverage, String) {
    let mut new = known.clone();
    let mut away = String::new();
    let is_tried = |standing: &Verification| !matches!(standing, Verification::Skipped(_));
    for (name, mut covered) in found {
        if !covered.variants.values().any(is_tried) {
            let why = covered.variants.values().find_map(reason).unwrap_or("not installed");
            let kept = if known.contains_key(&name) { "what was known of it is kept" } else { "left out" };
            writeln!(away, "not tried: {name}: {why} ({kept})").expect(FITS);
            continue;
        }
        for (variant, before) in known.get(&name).into_iter().flat_map(|known| &known.variants) {
            // What a larger machine or one with real data has found out is not forgotten on this one.
            let is_kept = match covered.variants.get(variant) {
                Some(now) => !is_tried(now),
                None => !whole,
            };
            if is_kept {
                covered.variants.insert(variant.clone(), before.clone());
            }
        }
        new.insert(name, covered);
    }
    (new, away)
}

/// Every cell whose sign is another, in both.
fn differences(known: &Coverage, new: &Coverage) -> String {
    let mut text = String::new();
    for (name, covered) in new {
        let before = known.get(name);
        for (variant, standing) in &covered.variants {
            let was = before.and_then(|before| before.variants.get(variant));
            let (was, is) = (was.map_or("nothing", sign), sign(standing));
            if was != is {
                let why = reason(standing).map(|why| format!(": {why}")).unwrap_or_default();
                writeln!(text, "{variant}, {name}: was `{was}`, is `{is}`{why}").expect(FITS);
            }
        }
        for gone in before.iter().flat_map(|before| before.variants.keys()) {
            if !covered.variants.contains_key(gone) {
                writeln!(text, "{gone}, {name}: is gone").expect(FITS);
            }
        }
    }
    text
}

fn page(coverage: &Coverage) -> String {
    let mut adapters: Vec<(&String, &Covered)> = coverage.iter().collect();
    adapters.sort_by_key(|(name, covered)| (covered.tier, *name));
    let mut page = HEAD.to_owned();
    let mut table =
        Table::new(["adapter", "tier>", "version", "yes>", "other>", "no>", "broke>", "not tried>"]);
    for (name, covered) in &adapters {
        let of = |wanted: &str| count(covered, |standing| sign(standing) == wanted).to_string();
        let version = covered.version.clone().unwrap_or_default();
        let counts = ["yes", "other", "no", "broke", "."].map(of);
        table.row([(*name).clone(), covered.tier.to_string(), version].into_iter().chain(counts));
    }
    writeln!(page, "\n## Adapters\n\n{}", table.markdown()).expect(FITS);
    let titles = std::iter::once("variant").chain(adapters.iter().map(|(name, _)| name.as_str()));
    let mut table = Table::new(titles);
    let variants: BTreeSet<&String> =
        adapters.iter().flat_map(|(_, covered)| covered.variants.keys()).collect();
    for variant in variants {
        let signs = adapters.iter().map(|(_, covered)| covered.variants.get(variant).map_or("", sign));
        table.row(std::iter::once(variant.as_str()).chain(signs));
    }
    writeln!(page, "## Variants\n\n{}\n## Reasons", table.markdown()).expect(FITS);
    for (name, covered) in adapters {
        let mut reasons: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for (variant, standing) in &covered.variants {
            if let Some(why) = reason(standing) {
                reasons.entry((sign(standing), why)).or_default().push(variant);
            }
        }
        if !reasons.is_empty() {
            writeln!(page, "\n### {name}\n").expect(FITS);
        }
        for ((sign, why), variants) in reasons {
            let sign = if sign == "." { "not tried" } else { sign };
            let why = why.replace('<', "&lt;");
            writeln!(page, "- {sign}: {why} ({})", variants.join(", ")).expect(FITS);
        }
    }
    page
}

fn count(covered: &Covered, takes: impl Fn(&Verification) -> bool) -> usize {
    covered.variants.values().filter(|standing| takes(standing)).count()
}

/// A cell of the matrix.
pub(crate) fn sign(standing: &Verification) -> &'static str {
    match standing {
        Verification::Verified => "yes",
        Verification::Unequal(_) => "other",
        Verification::Declined(_) => "no",
        Verification::Failed(_) => "broke",
        Verification::Skipped(_) => ".",
    }
}

/// Why it is not `yes`.
pub(crate) fn reason(standing: &Verification) -> Option<&str> {
    match standing {
        Verification::Verified => None,
        Verification::Unequal(why)
        | Verification::Declined(why)
        | Verification::Failed(why)
        | Verification::Skipped(why) => Some(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::home;

    fn covered(tier: u8, variants: &[(&str, Verification)]) -> Covered {
        let variants = variants.iter().map(|(name, standing)| ((*name).to_owned(), standing.clone()));
        Covered { tier, version: Some("1.2".into()), variants: variants.collect() }
    }

    fn coverage() -> Coverage {
        let declined = Verification::Declined("RandomCrop: no operator".into());
        let unequal = Verification::Unequal("elements: 10048, the reference has 10000".into());
        Coverage::from([
            (
                "Reference".into(),
                covered(0, &[("CV-1/small", Verification::Verified), ("CV-2", Verification::Verified)]),
            ),
            ("Alpha".into(), covered(3, &[("CV-1/small", unequal), ("CV-2", declined)])),
        ])
    }

    #[test]
    fn the_page_has_the_counts_the_matrix_and_the_reasons() {
        let page = page(&coverage());
        for expected in [
            "| Reference | 0 | 1.2 | 2 | 0 | 0 | 0 | 0 |\n| Alpha | 3 | 1.2 | 0 | 1 | 1 | 0 | 0 |\n",
            "| variant | Reference | Alpha |\n| --- | --- | --- |\n| CV-1/small | yes | other |\n| CV-2 | yes | no |\n",
            "### Alpha\n\n- no: RandomCrop: no operator (CV-2)\n- other: elements: 10048, the reference has 10000 (CV-1/small)\n",
        ] {
            assert!(page.contains(expected), "{page}");
        }
        assert!(!page.contains("### Reference"), "{page}");
    }

    #[test]
    fn what_is_not_installed_keeps_what_was_known_of_it() {
        let absent = covered(3, &[("CV-1/small", Verification::Skipped("not installed: x".into()))]);
        let (new, away) = merge(&coverage(), Coverage::from([("Alpha".into(), absent.clone())]), true);
        assert_eq!(new, coverage());
        assert_eq!(away, "not tried: Alpha: not installed: x (what was known of it is kept)\n");
        let (new, away) = merge(&Coverage::new(), Coverage::from([("Alpha".into(), absent)]), true);
        assert!(new.is_empty() && away.contains("left out"));
    }

    #[test]
    fn a_part_of_the_scenarios_changes_that_part_and_what_was_not_tried_keeps_what_was_known() {
        let skipped = Verification::Skipped("it needs memory".into());
        let found = |standing| {
            Coverage::from([(
                "Alpha".into(),
                covered(3, &[("CV-2", standing), ("CV-3", Verification::Verified)]),
            )])
        };
        let (new, _) = merge(&coverage(), found(Verification::Verified), false);
        assert_eq!(new["Alpha"].variants.len(), 3);
        assert_eq!(new["Alpha"].variants["CV-2"], Verification::Verified);
        let (new, _) = merge(&coverage(), found(skipped), true);
        assert_eq!(new["Alpha"].variants["CV-2"], coverage()["Alpha"].variants["CV-2"]);
        assert!(!new["Alpha"].variants.contains_key("CV-1/small"), "every scenario was run, and it is gone");
    }

    #[test]
    fn a_cell_that_changed_is_told_and_a_reason_alone_is_not() {
        let mut other = coverage();
        let alpha = other.get_mut("Alpha").expect("it is there");
        alpha.variants.insert("CV-2".into(), Verification::Declined("in other words".into()));
        assert_eq!(differences(&coverage(), &other), "");
        let alpha = other.get_mut("Alpha").expect("it is there");
        alpha.variants.insert("CV-2".into(), Verification::Failed("panic".into()));
        alpha.variants.remove("CV-1/small");
        assert_eq!(
            differences(&coverage(), &other),
            "CV-2, Alpha: was `no`, is `broke`: panic\nCV-1/small, Alpha: is gone\n"
        );
    }

    #[test]
    fn the_evidence_comes_back_as_it_was_written_and_says_how_much_is_supported() {
        let home = home();
        assert!(supported(&home.place).is_empty());
        let path = evidence(&home.place);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(&path, serde_json::to_string(&coverage()).expect("JSON")).expect("written");
        assert_eq!(read(&home.place).expect("sound"), coverage());
        assert_eq!(supported(&home.place)["Reference"], "2 of 2 variants");
    }
}
