//! What each adapter can do of each scenario's variants, found out by doing ten batches of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weighbridge::data::{Agreement, CaseId, CaseRecord, CaseStatus, Layout, RunRecord, Runs};

use weighbridge_xtask::place::Place;
use weighbridge_xtask::programs::{self, BuiltProgram};
use weighbridge_xtask::stop;

/// Batches that every data set is cut to.
pub(crate) const BATCHES: &str = "10";

/// The outcome of an adapter on a variant of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verification {
    /// It did the reference's work.
    Verified,
    /// It did other work: in what.
    Unequal(String),
    /// It says that it cannot do it: why.
    Declined(String),
    /// It broke: how.
    Failed(String),
    /// It was not tried here: why.
    Skipped(String),
}

/// The coverage of one adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AdapterCoverage {
    /// Its tier.
    pub(crate) tier: u8,
    /// The version of the system behind it.
    pub(crate) version: Option<String>,
    /// By scenario and variant, as people call them: `CV-1/small`.
    pub(crate) variants: BTreeMap<String, Verification>,
}

/// By adapter.
pub(crate) type Coverage = BTreeMap<String, AdapterCoverage>;

/// The adapters and scenarios that are to be tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DryRun<'a> {
    /// These adapters; all, if none is named.
    pub(crate) adapters: &'a [&'a str],
    /// These scenarios; all of the set, if none is named.
    pub(crate) scenarios: &'a [String],
    /// Scenarios of this set.
    pub(crate) set: &'a str,
    /// The folder of Python frameworks, where that is not the usual one.
    pub(crate) home: Option<&'a Path>,
}

/// Runs ten batches of every variant.
///
/// # Errors
/// When a bench program does not build or does not come to its end. A case that fails is no error.
pub(crate) fn run(place: &Place, what: DryRun<'_>) -> Result<Coverage> {
    let DryRun { adapters, scenarios, set, home } = what;
    // Made anew: nobody compares with these runs.
    let data = data(place);
    match fs::remove_dir_all(&data) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("failed to empty `{}`", data.display()));
        }
        _ => {}
    }
    let mut coverage = Coverage::new();
    for program in programs::build(&place.root)? {
        let listing = listed(&program, set)?;
        let tiers = tiers(&listing);
        if tiers.is_empty() || !adapters.iter().all(|name| tiers.contains_key(*name)) {
            continue;
        }
        let mut command = Command::new(&program.path);
        command.current_dir(&program.directory).args(["--bench", "--profile", "check", "--set", set]);
        if let Some(home) = home {
            command.env("WEIGHBRIDGE_PEERS", home);
        }
        command.args(params(&listing, scenarios)).arg("--data").arg(&data);
        command.args(adapters.iter().flat_map(|name| ["--adapter", *name]));
        command.args(scenarios.iter().flat_map(|id| ["--scenario", id.as_str()]));
        command.env("WEIGHBRIDGE_CUT", BATCHES).stdin(Stdio::null()).stdout(Stdio::null());
        let ended = command.status().with_context(|| format!("failed to start {}", program.suite))?;
        // 4 and 6 are answers here: nothing is installed, something did not verify.
        if !matches!(ended.code(), Some(0 | 4..=6)) {
            bail!("{} did not come to its end: {ended}", program.suite);
        }
        let runs = Runs::new(Layout::new(&data));
        if let Some(manifest) = runs.list()?.runs.iter().find(|run| run.suite == program.suite) {
            gather(&runs.load(&manifest.id)?, &tiers, &mut coverage);
        }
        // What is not installed has no case at all unless it is named.
        for (name, tier) in
            tiers.iter().filter(|(name, _)| adapters.is_empty() || adapters.contains(&name.as_str()))
        {
            coverage
                .entry(name.clone())
                .or_insert_with(|| AdapterCoverage { tier: *tier, ..AdapterCoverage::default() });
        }
    }
    Ok(coverage)
}

/// Gathers what the last [`run`] has found, also where it was ended before its end: nothing is run.
///
/// # Errors
/// When there was none, or its records cannot be read.
pub(crate) fn last(place: &Place) -> Result<Coverage> {
    let runs = Runs::new(Layout::new(data(place)));
    let mut coverage = Coverage::new();
    for manifest in runs.list()?.runs {
        gather(&runs.load(&manifest.id)?, &BTreeMap::new(), &mut coverage);
    }
    if coverage.is_empty() {
        return Err(stop::nothing("nothing was checked yet: `cargo catalogue peers check` does it"));
    }
    Ok(coverage)
}

/// Returns the directory of its runs, which has no others.
fn data(place: &Place) -> PathBuf {
    place.layout.data().join("check")
}

/// The adapters that a bench program has, with their tiers.
///
/// # Errors
/// When it does not list them.
pub(crate) fn adapters(program: &BuiltProgram) -> Result<BTreeMap<String, u8>> {
    Ok(tiers(&listed(program, "all")?))
}

/// Returns the listing of a set by a bench program, as JSON.
fn listed(program: &BuiltProgram, set: &str) -> Result<Value> {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.directory).args(["--list", "--format", "json", "--set", set]);
    command.stdin(Stdio::null());
    let asked = command.output().with_context(|| format!("failed to start {}", program.suite))?;
    if !asked.status.success() {
        bail!("failed to list {}: {}", program.suite, String::from_utf8_lossy(&asked.stderr).trim());
    }
    serde_json::from_slice(&asked.stdout)
        .with_context(|| format!("failed to read what {} lists", program.suite))
}

fn tiers(listing: &Value) -> BTreeMap<String, u8> {
    let adapters = listing["adapters"].as_array().into_iter().flatten();
    let tier = |adapter: &Value| {
        Some((adapter["name"].as_str()?.to_owned(), u8::try_from(adapter["tier"].as_u64()?).ok()?))
    };
    adapters.filter_map(tier).collect()
}

/// Returns the arguments that run every label of every axis, and of the others (workers) the first value
/// alone: they are no variants.
fn params(listing: &Value, scenarios: &[String]) -> Vec<String> {
    let mut params = Vec::new();
    for scenario in listing["scenarios"].as_array().into_iter().flatten() {
        let id = scenario["id"].as_str().unwrap_or_default();
        if !scenarios.is_empty() && !scenarios.iter().any(|named| named.eq_ignore_ascii_case(id)) {
            continue;
        }
        for axis in scenario["axes"].as_array().into_iter().flatten() {
            let name = axis["name"].as_str().unwrap_or_default();
            let first = &axis["values"][0];
            let value =
                if first["labelled"] == true { "all" } else { first["text"].as_str().unwrap_or("all") };
            params.extend(["--param".to_owned(), format!("{id}.{name}={value}")]);
        }
    }
    params
}

/// Adds the cases of a run.
fn gather(run: &RunRecord, tiers: &BTreeMap<String, u8>, coverage: &mut Coverage) {
    for case in &run.cases {
        let Some(adapter) = &case.id.adapter else { continue };
        let covered = coverage.entry(adapter.clone()).or_default();
        covered.tier = case.tier.or_else(|| tiers.get(adapter).copied()).unwrap_or_default();
        covered.version = covered.version.take().or_else(|| case.version.clone());
        covered.variants.insert(variant(&case.id), standing(case));
    }
}

/// The scenario and its variant: the labels of the point alone.
pub(crate) fn variant(id: &CaseId) -> String {
    let labels = id.point.iter().filter(|value| value.labelled).map(|value| value.text.as_str());
    std::iter::once(id.scenario.as_str()).chain(labels).collect::<Vec<_>>().join("/")
}

fn standing(case: &CaseRecord) -> Verification {
    match (&case.status, &case.agreement) {
        // That says nothing of the adapter.
        (CaseStatus::Skipped(why), _) if why.is_of_the_machine() => {
            Verification::Skipped(line(&why.to_string()))
        }
        (CaseStatus::Skipped(why), _) => Verification::Declined(line(&why.to_string())),
        (CaseStatus::Failed(why), _) => Verification::Failed(ends(&why.to_string())),
        (CaseStatus::Incomplete, _) => {
            Verification::Skipped(case.unfinished().unwrap_or_default().to_string())
        }
        (CaseStatus::Measured, Agreement::Differs(what)) => Verification::Unequal(line(&what.join("; "))),
        (CaseStatus::Measured, Agreement::Declared(why)) => Verification::Unequal(line(why)),
        (CaseStatus::Measured, Agreement::Unverified(why)) => {
            Verification::Failed(line(&format!("not verified: {why}")))
        }
        (CaseStatus::Measured, _) => Verification::Verified,
    }
}

/// The first line, cut where it gets long: a page is no log.
fn line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default().trim();
    let cut = cut(first, LONGEST);
    if cut == first { cut.to_owned() } else { format!("{cut} ...") }
}

/// The first line and the last one, where the cause stands at the end of a trace: the first has half of the
/// room at most.
fn ends(text: &str) -> String {
    match text.lines().rfind(|line| !line.trim().is_empty()) {
        Some(last) if text.lines().next() != Some(last) => {
            let first = cut(text.lines().next().unwrap_or_default().trim(), LONGEST / 2);
            line(&format!("{first} ... {}", last.trim()))
        }
        _ => line(text),
    }
}

/// As much of a line as so many characters are.
fn cut(line: &str, longest: usize) -> &str {
    line.char_indices().nth(longest).map_or(line, |(end, _)| &line[..end])
}

/// Characters of a reason.
const LONGEST: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{around, case, home, run};
    use weighbridge::data::FailureReason;
    use weighbridge::data::SkipReason;

    #[test]
    fn every_label_is_run_and_of_other_axes_the_first_value() {
        let listing = serde_json::json!({ "scenarios": [
            { "id": "CV-1", "axes": [
                { "name": "variant",
                  "values": [{"text": "small", "labelled": true}, {"text": "large", "labelled": true}] },
                { "name": "workers",
                  "values": [{"text": "1", "labelled": false}, {"text": "2", "labelled": false}] } ] },
            { "id": "SORT-1", "axes": [] },
        ], "adapters": [{ "name": "Reference", "tier": 0, "contract": "Loader" }] });
        let expected = ["--param", "CV-1.variant=all", "--param", "CV-1.workers=1"];
        assert_eq!(params(&listing, &[]), expected);
        assert_eq!(params(&listing, &["cv-1".to_owned()]), expected);
        assert!(params(&listing, &["SORT-1".to_owned()]).is_empty());
        assert_eq!(tiers(&listing), BTreeMap::from([("Reference".to_owned(), 0)]));
    }

    #[test]
    fn each_end_of_a_case_is_a_standing() {
        let mut one = case("CV-1", "Reference", &around(1.0));
        assert_eq!(standing(&one), Verification::Verified);
        one.agreement =
            Agreement::Differs(vec!["elements: 10048, the reference has 10000".into(), "x".into()]);
        assert_eq!(
            standing(&one),
            Verification::Unequal("elements: 10048, the reference has 10000; x".into())
        );
        one.status = CaseStatus::Failed(FailureReason::Unwritable("panic: so\nand so".into()));
        assert_eq!(standing(&one), Verification::Failed("panic: so ... and so".into()));
        one.status = CaseStatus::Skipped("RandomCrop: no operator".into());
        assert_eq!(standing(&one), Verification::Declined("RandomCrop: no operator".into()));
        one.status =
            CaseStatus::Skipped(SkipReason::NotInstalled { reason: "pip".into(), install: "x".into() });
        assert!(matches!(standing(&one), Verification::Skipped(_)));
        one.status = CaseStatus::Skipped(SkipReason::NoData("cifar10 is absent".into()));
        assert!(matches!(standing(&one), Verification::Skipped(_)));
        one.status = CaseStatus::Failed(FailureReason::Unwritable("é".repeat(500)));
        let Verification::Failed(why) = standing(&one) else { panic!("it failed") };
        assert_eq!(why.chars().count(), LONGEST + 4);
        one.status = CaseStatus::Failed(FailureReason::Unwritable(format!(
            "{}\nTraceback\nOSError: the disk is full\n",
            "é".repeat(500)
        )));
        let cause = format!("{} ... OSError: the disk is full", "é".repeat(LONGEST / 2));
        assert_eq!(standing(&one), Verification::Failed(cause));
    }

    #[test]
    fn what_the_last_check_found_is_taken_without_running_and_none_is_told() {
        let mut home = home();
        let error = last(&home.place).expect_err("nothing was checked").to_string();
        assert!(error.contains("cargo catalogue peers check"), "{error}");
        let place = home.place.clone();
        home.place.layout = Layout::new(data(&place));
        home.store(&run(1, vec![case("CV-1", "Reference", &around(1.0))]));
        assert_eq!(last(&place).expect("sound")["Reference"].variants["CV-1/small"], Verification::Verified);
    }

    #[test]
    fn a_run_is_gathered_by_adapter_and_variant() {
        let mut coverage = Coverage::new();
        let cases = vec![case("CV-1", "Reference", &around(1.0)), case("CV-2", "Reference", &around(1.0))];
        gather(&run(1, cases), &BTreeMap::new(), &mut coverage);
        let reference = &coverage["Reference"];
        assert_eq!(reference.variants.keys().collect::<Vec<_>>(), ["CV-1/small", "CV-2/small"]);
    }
}
