//! How well change points are found: histories with changes planted into noise of several kinds, drawn from
//! fixed seeds, and what `history` and Apache Otava make of each.

use std::f64::consts::TAU;
use std::fmt::Write;
use std::process::Command;
use std::thread;

use needs::Need;
use weighbridge::data::{Change, change_points};

/// As `history` finds them.
const CHANGE: Change = Change { level: 0.001, least_length: 3, least_size: 0.02, seed: 42 };

/// Histories of each kind of noise.
const OF_EACH: usize = 20;

/// A change counts as found where one is told so many commits beside it at most.
const BESIDE: usize = 3;

/// The least F1 over all histories. It was 0.986 when this was written.
const FLOOR: f64 = 0.96;

/// What values wander by around their level.
#[derive(Clone, Copy, Debug)]
enum Wander {
    /// Normal, 1 %.
    Normal,
    /// Student's t with three degrees of freedom: rare values lie far off.
    Heavy,
    /// Normal, 1 %, and one value in twenty is 10 % to 50 % slower.
    Spikes,
    /// Two levels 4 % apart, by chance.
    TwoModes,
    /// Each value keeps half of what the one before was off by.
    Wandering,
    /// 0.5 %, and for some commits in a row 3 %.
    Bursts,
}

const KINDS: [(Wander, &str); 6] = [
    (Wander::Normal, "normal, 1 %"),
    (Wander::Heavy, "heavy tails"),
    (Wander::Spikes, "spikes"),
    (Wander::TwoModes, "two modes"),
    (Wander::Wandering, "wandering"),
    (Wander::Bursts, "bursts"),
];

struct PlantedChange {
    kind: usize,
    values: Vec<f64>,
    /// The first commit of each new level.
    changes: Vec<usize>,
}

/// Numbers by chance, the same from the same seed.
struct DrawnNumbers(u64);

impl DrawnNumbers {
    /// Below 1.
    fn share(&mut self) -> f64 {
        // The mixing of SplitMix64 (Steele, Lea and Flood, 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as f64 / 2f64.powi(64)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.share() * bound as f64) as usize
    }

    /// Of mean 0 and deviation 1 (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.share().max(1e-300), self.share());
        (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
    }
}

/// A history of 40 to 80 commits with none to three changes of 5 % to 20 %, at least eight commits apart.
fn planted(kind: usize, number: usize) -> PlantedChange {
    let mut dice = DrawnNumbers((kind * 1_000 + number) as u64);
    let length = 40 + dice.below(41);
    let mut changes: Vec<usize> = Vec::new();
    while changes.len() < number % 4 {
        let at = 8 + dice.below(length - 15);
        if changes.iter().all(|other| other.abs_diff(at) >= 8) {
            changes.push(at);
        }
    }
    changes.sort_unstable();
    let (mut level, mut off) = (100.0, 0.0);
    let mut burst = 0;
    let mut values = Vec::with_capacity(length);
    for at in 0..length {
        if changes.contains(&at) {
            let size = 1.05 + 0.15 * dice.share();
            level *= if dice.share() < 0.5 { size } else { 1.0 / size };
        }
        off = match KINDS[kind].0 {
            Wander::Normal => 0.01 * dice.normal(),
            Wander::Heavy => {
                let squares: f64 = (0..3).map(|_| dice.normal().powi(2)).sum();
                0.007 * dice.normal() / (squares / 3.0).sqrt()
            }
            Wander::Spikes => {
                let spike = if dice.share() < 0.05 { 0.1 + 0.4 * dice.share() } else { 0.0 };
                0.01 * dice.normal() + spike
            }
            Wander::TwoModes => 0.005 * dice.normal() + if dice.share() < 0.5 { 0.02 } else { -0.02 },
            Wander::Wandering => 0.5 * off + 0.01 * dice.normal(),
            Wander::Bursts => {
                if burst == 0 && dice.share() < 0.04 {
                    burst = 4 + dice.below(4);
                }
                let width = if burst > 0 { 0.03 } else { 0.005 };
                burst = burst.saturating_sub(1);
                width * dice.normal()
            }
        };
        values.push(level * (1.0 + off).max(0.1));
    }
    PlantedChange { kind, values, changes }
}

/// Changes that were found, told where there is none, and missed.
#[derive(Clone, Copy, Default)]
struct Tally {
    found: usize,
    told: usize,
    missed: usize,
}

impl Tally {
    /// Each change is found by one of those told at most.
    fn add(&mut self, planted: &[usize], told: &[usize]) {
        let mut left = told.to_vec();
        for change in planted {
            let nearest = left.iter().enumerate().min_by_key(|(_, at)| at.abs_diff(*change));
            match nearest.filter(|(_, at)| at.abs_diff(*change) <= BESIDE).map(|(place, _)| place) {
                Some(place) => {
                    left.remove(place);
                    self.found += 1;
                }
                None => self.missed += 1,
            }
        }
        self.told += left.len();
    }

    fn f1(self) -> f64 {
        2.0 * self.found as f64 / (2 * self.found + self.told + self.missed) as f64
    }
}

/// The scores of what was told of each history: by kind, and last of all.
fn scores(histories: &[PlantedChange], told: &[Vec<usize>]) -> Vec<Tally> {
    assert_eq!(histories.len(), told.len());
    let mut scores = vec![Tally::default(); KINDS.len() + 1];
    for (history, told) in histories.iter().zip(told) {
        scores[history.kind].add(&history.changes, told);
        scores[KINDS.len()].add(&history.changes, told);
    }
    scores
}

fn ours(histories: &[PlantedChange]) -> Vec<Vec<usize>> {
    let told = |history: &PlantedChange| -> Vec<usize> {
        change_points(&history.values, CHANGE).into_iter().map(|change| change.at).collect()
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let parts = histories.chunks(histories.len().div_ceil(threads));
    thread::scope(|scope| {
        let workers: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(told).collect::<Vec<_>>())).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    })
}

/// With the same p and the same least size.
const OTAVA: &str = r#"
import json, sys
from otava.series import AnalysisOptions, Metric, Series
options = AnalysisOptions()
options.max_pvalue, options.min_magnitude = 0.001, 0.02
told = []
for values in json.load(open(sys.argv[1])):
    series = Series("planted", None, list(range(len(values))), {"time": Metric()}, {"time": values}, {})
    told.append(sorted(int(point.index) for point in series.analyze(options).change_points["time"]))
print(json.dumps(told))
"#;

/// What otava tells of each.
fn rivals(python: &str, histories: &[PlantedChange]) -> Vec<Vec<usize>> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("histories.json");
    let values: Vec<&Vec<f64>> = histories.iter().map(|history| &history.values).collect();
    std::fs::write(&file, serde_json::to_string(&values).expect("numbers")).expect("writable");
    let ran = Command::new(python).args(["-c", OTAVA]).arg(&file).output().expect("it is there");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).expect("indices of each")
}

#[test]
fn changes_planted_into_noise_of_six_kinds_are_found_no_worse_than_by_otava() {
    let kinds = 0..KINDS.len();
    let histories: Vec<PlantedChange> =
        kinds.flat_map(|kind| (0..OF_EACH).map(move |number| planted(kind, number))).collect();
    assert_eq!(histories.len(), 120);
    let ours = scores(&histories, &ours(&histories));
    let rival =
        needs::python_with(Need::Otava).map(|python| scores(&histories, &rivals(&python, &histories)));
    let mut table = String::from("noise         ours   otava  found/told wrongly/missed by ours, by otava\n");
    let names = KINDS.iter().map(|(_, name)| *name).chain(["all"]);
    for (at, name) in names.enumerate() {
        let counts = |score: &Tally| format!("{}/{}/{}", score.found, score.told, score.missed);
        let theirs = rival.as_ref().map(|scores| scores[at]);
        let (f1, count) = theirs.map_or(("-".to_owned(), String::new()), |score| {
            (format!("{:.3}", score.f1()), format!(", {}", counts(&score)))
        });
        writeln!(table, "{name:12} {:.3}  {f1:>6}  {}{count}", ours[at].f1(), counts(&ours[at]))
            .expect("a String takes all that is written");
    }
    eprint!("{table}");
    let all = ours[KINDS.len()].f1();
    assert!(all >= FLOOR, "F1 {all:.3}\n{table}");
    if let Some(rival) = rival {
        assert!(all >= rival[KINDS.len()].f1(), "{table}");
    }
}
