//! The page as a person sees it, in a real browser: ten reports on a phone, a tablet, a laptop and a large
//! screen, by day and by night.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use weighbridge::data::{
    CaseRecord, CaseStatus, Duels, Entry, FailureReason, Method, ProcessValues, RowMark, Severity,
};

use super::browser::Browser;
use super::of;
use super::tests::{material, repeat};
use crate::fixtures::hostile::stored;
use crate::fixtures::{around, axis, case, home, plain, run, training};
use crate::show;
use crate::view::{Detail, DetailLimits, View, ViewMaterial, load};

/// The widths of screens, in pixels.
const WIDTHS: [u32; 4] = [390, 768, 1280, 1920];

/// The variable that names a folder for pictures of what was looked at.
const PICTURES: &str = "WEIGHBRIDGE_PICTURES";

/// A report by its name.
type NamedReport = (&'static str, ViewMaterial);

fn plain_material(cases: Vec<CaseRecord>) -> ViewMaterial {
    let room = DetailLimits::of(cases.len());
    let run = run(1_000, cases);
    let details = vec![Detail::default(); run.cases.len()];
    ViewMaterial { run, past: Vec::new(), against: Vec::new(), details, room, remarks: Vec::new() }
}

fn none_measured() -> ViewMaterial {
    let mut cases = vec![case("CV-1", "first", &around(1.0)), case("CV-1", "second", &around(1.0))];
    cases[0].status = CaseStatus::Failed(FailureReason::Unwritable("a metric is there twice ".repeat(20)));
    cases[1].status = CaseStatus::Skipped("there is no such device".into());
    plain_material(cases)
}

/// One axis of 200 values, and one of 48 for two systems.
fn long_axes() -> ViewMaterial {
    let at = |scenario: &str, adapter: &str, workers: u32| {
        let mut case = case(scenario, adapter, &around(1.0e6 * f64::from(workers).sqrt()));
        case.id.point.0 = vec![axis("workers", &workers.to_string())];
        case.id.point.0[0].labelled = false;
        case
    };
    let long = (1..=200).map(|workers| at("PC-1", "first", workers));
    let two = ["first", "second"].into_iter().flat_map(|adapter| (1..=48).map(move |at| (adapter, at * 7)));
    plain_material(long.chain(two.map(|(adapter, workers)| at("PC-2", adapter, workers))).collect())
}

fn hostile() -> ViewMaterial {
    let (home, later) = stored(|_| Vec::new());
    load(&home.place, &later.manifest, None, true).expect("it is there")
}

/// A later run of half the speed, beside a baseline, the last run and a duel.
fn compared(change: impl Fn(&mut ViewMaterial)) -> ViewMaterial {
    let home = home();
    let baseline = plain(1_000, 8.0e6, 12.0e6);
    home.store(&baseline);
    home.promote("main", &baseline);
    home.store(&plain(1_500, 7.9e6, 12.0e6));
    let later = plain(2_000, 4.0e6, 12.0e6);
    home.store(&later);
    let mut comparison =
        load(&home.place, &later.manifest, None, false).expect("it is there").against.remove(0).comparison;
    comparison.method = Method::Duel;
    (comparison.baseline.run, comparison.baseline.name) = (None, "v1.0".into());
    Duels::new(home.place.layout.clone()).write(&later.manifest.id, &comparison).expect("written");
    let mut material = load(&home.place, &later.manifest, None, true).expect("it is there");
    change(&mut material);
    material
}

/// Judged by the processor's clock, which says something else than the wall's.
fn by_cpu_clock(material: &mut ViewMaterial) {
    let rows = material.against.iter_mut().flat_map(|against| &mut against.comparison.rows);
    for row in rows.filter(|row| row.effect.is_some_and(|effect| effect.estimate > 0.1)) {
        row.marks.push(RowMark::ByCpuClock);
        let of = |rate: f64| around(rate).iter().map(|rate| -rate.ln()).collect::<Vec<_>>();
        row.processes = Some(ProcessValues { values: [of(3.0e6), of(1.52e6)], ..ProcessValues::default() });
    }
}

/// Twenty runs, of which the later half is slower.
fn history() -> ViewMaterial {
    let home = home();
    for at in 0..20 {
        let rate = if at < 10 { 8.0e6 } else { 6.0e6 } * (1.0 + 0.001 * f64::from(at % 3));
        home.store(&plain(1_000 + u64::from(at as u32) * 100, rate, 12.0e6));
    }
    let last = plain(9_000, 6.0e6, 12.0e6);
    home.store(&last);
    load(&home.place, &last.manifest, None, true).expect("it is there")
}

fn trainings() -> ViewMaterial {
    let at = |adapter: &str, seed, rate| training(adapter, seed, rate, Some((64.0, 0.8)));
    plain_material(vec![at("first", 7, 100.0), at("second", 7, 90.0), at("first", 8, 101.0)])
}

/// Repeats whose time went into every entry of the ledger, and a warning.
fn checkpoints() -> ViewMaterial {
    let mut saved = case("CKPT-1", "npz", &around(3.0e8));
    saved.findings.push(weighbridge::data::Finding {
        rule: "outlier".into(),
        severity: Severity::Caveat,
        repeats: vec![1],
        detail: weighbridge::data::FindingDetail::Evidence("far off ".repeat(40)),
        remedy: "look".into(),
        figure: None,
    });
    let mut material = plain_material(vec![saved]);
    let entries: Vec<Entry> = weighbridge::data::Ledger::ENTRIES.iter().map(|(entry, _)| *entry).collect();
    let repeats = (1..=3).map(|number| {
        let mut repeat = repeat(number);
        repeat.slot = 90_000_000;
        if let weighbridge::data::Outcome::Measured { seen, .. } = &mut repeat.outcome {
            for entry in &entries {
                seen.ledger.add(*entry, 5_000_000);
            }
        }
        repeat
    });
    material.details[0] = Detail::of(repeats, 3, material.room);
    material
}

fn reports() -> Vec<NamedReport> {
    vec![
        ("none measured", none_measured()),
        ("3,000 cases", material(3_000)),
        ("long axes", long_axes()),
        ("hostile names", hostile()),
        ("a baseline", compared(|_| {})),
        ("a duel", compared(|material| material.against.retain(|against| against.key == "duel"))),
        ("a history", history()),
        ("comparison", compared(by_cpu_clock)),
        ("training", trainings()),
        ("checkpoints", checkpoints()),
    ]
}

/// The texts of the rows of a table.
fn rows(browser: &mut Browser, table: &str) -> Vec<Vec<String>> {
    let read = browser.value(&format!(
        "[...(document.getElementById('{table}')?.tBodies[0].rows ?? [])].map((row) => \
         [...row.cells].map((cell) => cell.textContent))"
    ));
    serde_json::from_value(read).expect("texts")
}

/// Every case stands on the page with its figure, and every row of a comparison with what was judged.
fn figures_are_the_records(browser: &mut Browser, material: &ViewMaterial) {
    let shown = rows(browser, "all");
    assert_eq!(shown.len(), material.run.cases.len());
    for (case, row) in material.run.cases.iter().zip(&shown) {
        let figure = show::figure(case, case.leading());
        assert!(row.contains(&figure), "{figure} is not in {row:?}");
    }
    for against in &material.against {
        let shown = rows(browser, &format!("t-{}", against.key));
        for (row, cells) in against.comparison.rows.iter().zip(&shown) {
            let judged = row.judged().map(Cow::into_owned);
            let sides = judged.iter().flat_map(|judged| {
                [judged.baseline, judged.candidate]
                    .map(|side| side.map(|side| weighbridge::data::quantity::show(side.median, &judged.unit)))
            });
            for (figure, cell) in sides.flatten().zip(&cells[2..]) {
                assert!(cell.starts_with(&figure), "{figure} is not in {cells:?}");
            }
            assert!(cells[1].starts_with(row.verdict.name()), "{cells:?}");
        }
    }
}

fn keep(browser: &mut Browser, name: &str, width: u32, dark: bool) {
    let Some(folder) = std::env::var_os(PICTURES) else { return };
    for page in ["overview", "cases", "scenarios", "comparison", "case"] {
        let to = match page {
            "case" => "location.hash = document.querySelector('#all tbody a')?.hash".to_owned(),
            page => format!("location.hash = '#{page}'"),
        };
        browser.value(&to);
        let theme = if dark { "dark" } else { "light" };
        let file = format!("{}-{page}-{width}-{theme}.png", name.replace([' ', ','], "_"));
        fs::write(Path::new(&folder).join(file), browser.picture()).expect("writable");
    }
}

#[test]
fn in_a_browser_ten_reports_can_be_read_on_every_screen_by_day_and_by_night() {
    let Some(program) = needs::chromium() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut browser = Browser::start(program);
    let mut wrong: Vec<(&str, bool, Value)> = Vec::new();
    for (at, (name, material)) in reports().iter().enumerate() {
        let file = folder.path().join(format!("{at}.html"));
        fs::write(&file, of(&View::of(material))).expect("writable");
        for (width, dark) in WIDTHS.into_iter().flat_map(|width| [(width, false), (width, true)]) {
            browser.shown_on(width, dark);
            browser.open(&file);
            let seen = browser.value(&format!("({})()", include_str!("looks.js")));
            if seen != json!([]) {
                wrong.push((name, dark, seen));
            }
            assert!(browser.complaints().is_empty(), "{name}: {:#?}", browser.complaints());
            assert!(browser.requests(&file).is_empty(), "{name}: {:?}", browser.requests(&file));
            keep(&mut browser, name, width, dark);
        }
        if *name != "hostile names" {
            figures_are_the_records(&mut browser, material);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
