//! What a page promises: it asks nothing of anybody, holds everything as text, and stays small.

use weighbridge::data::{Observation, Outcome, Purpose, Repeat, RunStatus};

use super::of;
use crate::fixtures::{around, case, home, run};
use crate::view::{Detail, DetailLimits, View, ViewMaterial, load};

/// A repeat of 500 samples, no two of them alike.
pub(super) fn repeat(number: u32) -> Repeat {
    let samples = (0..500).map(|at| 8_000 + (at * 7_919 + u64::from(number) * 31) % 1_237).collect();
    let seen = Observation { samples, iterations_per_sample: 1, ..Observation::default() };
    let outcome = Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() };
    Repeat {
        number,
        purpose: Purpose::Measure,
        slot: 9_000_000,
        start: None,
        tree: None,
        utilisation: None,
        surroundings: 0,
        outcome,
    }
}

/// A run of so many cases with what its repeats saw, without a disk.
pub(super) fn material(cases: usize) -> ViewMaterial {
    let two = [("Reference", 8.0e6), ("Google Grain", 7.0e6)];
    let all = (0..cases).map(|at| {
        let (adapter, rate) = two[at % 2];
        let mut case = case(&format!("CV-{}", at / 2), adapter, &around(rate));
        case.repeats.clear();
        case
    });
    let run = run(1_000, all.collect());
    let room = DetailLimits::of(cases);
    // What is read of the disk: all repeats of few cases, the median one of many.
    let repeats = if room.all_repeats { 7 } else { 1 };
    let detail = Detail::of((1..=repeats).map(repeat), repeats as usize, room);
    assert_eq!(detail.count, 500 * repeats as usize);
    ViewMaterial {
        run,
        past: Vec::new(),
        against: Vec::new(),
        details: vec![detail; cases],
        room,
        remarks: Vec::new(),
    }
}

#[test]
fn a_page_asks_nothing_of_anybody_and_names_every_script_by_its_hash() {
    let material = material(4);
    let page = of(&View::of(&material));
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).expect("a policy");
    let policy = policy.split('"').next().expect("it ends");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(
        policy.matches("'sha256-").count(),
        page.matches("<script>").count() + page.matches("<style>").count()
    );
    // No address but those in comments of the library and the names of XML, none of which is asked for.
    for word in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(word), "{word}");
    }
    for inline in [" style=\"", " onclick=", " onload="] {
        assert!(!page.contains(inline), "{inline} is forbidden by the policy");
    }
}

#[test]
fn the_same_records_make_the_same_bytes_and_all_cases_are_rows_without_a_script() {
    let material = material(6);
    let (one, other) = (of(&View::of(&material)), of(&View::of(&material)));
    assert_eq!(one, other);
    for case in &material.run.cases {
        assert!(one.contains(&format!("<tr id=\"c-{}\">", case.id.slug())), "{}", case.id);
    }
    assert!(one.contains("8.00 M elem/s"), "the figures are in the tables");
}

#[test]
fn a_run_that_did_not_end_says_so() {
    let mut material = material(2);
    material.run.manifest.status = RunStatus::Interrupted;
    assert!(of(&View::of(&material)).contains("This run was interrupted"));
}

#[test]
fn ten_thousand_cases_are_less_than_twenty_megabytes() {
    let material = material(10_000);
    let page = of(&View::of(&material));
    assert!(page.len() < 20_000_000, "{} bytes", page.len());
    assert!(page.len() > 2_000_000, "all of them are there: {} bytes", page.len());
}

#[test]
fn a_run_is_beside_the_one_before_it_and_its_samples_are_read() {
    let home = home();
    home.store(&crate::fixtures::plain(1_000, 8.0e6, 12.0e6));
    let later = crate::fixtures::plain(2_000, 4.0e6, 12.0e6);
    home.store(&later);
    let loaded = load(&home.place, &later.manifest, None, true).expect("it is there");
    assert_eq!(loaded.against[0].key, "last");
    assert_eq!(loaded.against[0].comparison.counts.regressed, 1);
    assert_eq!(loaded.details[0].count, 140);
    assert_eq!(loaded.against[0].others[0].count, 140);
    let page = of(&View::of(&loaded));
    assert!(page.contains("Against last run 19700101-001640-000007"), "{}", &page[page.len() - 2_000..]);
    assert!(page.contains("Regressed</span>"));
}
