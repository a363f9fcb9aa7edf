//! The contest: every harness compares every case with itself, again and again.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::table::{median, print as print_table, time};
use crate::task::{ComparedTask, HarnessFigure, Pass};
use crate::{Result, cases, criterion_side, divan_side, tango_side, weighbridge_side};

/// A harness with the settings that it compares under.
struct Rival {
    name: &'static str,
    /// How its bench target is called; `$B` is the program.
    command: &'static str,
    pass: fn(&ComparedTask) -> Result<Pass>,
}

const RIVALS: [Rival; 5] = [
    Rival { name: "criterion", command: criterion_side::COMMAND, pass: criterion_side::pass },
    Rival { name: "divan", command: divan_side::COMMAND, pass: divan_side::pass },
    Rival { name: "tango", command: tango_side::COMMAND, pass: |task| tango_side::pass(task, None) },
    Rival {
        name: "tango, 1 s",
        command: tango_side::COMMAND_SECOND,
        pass: |task| tango_side::pass(task, Some("1")),
    },
    Rival { name: "weighbridge", command: weighbridge_side::COMMAND, pass: weighbridge_side::pass },
];

/// What a harness said so far.
#[derive(Default)]
struct Score {
    comparisons: usize,
    slower: usize,
    faster: usize,
    inconclusive: usize,
    changed: BTreeMap<String, usize>,
    /// What a comparison took in each pass, in nanoseconds.
    took: Vec<f64>,
}

/// Holds the contest and prints what came of it.
///
/// # Errors
/// When a harness cannot be run, or what it prints cannot be read.
pub fn contest(passes: usize, plant: Option<f64>, only: &str) -> Result<()> {
    let cases: &'static [&str] = if plant.is_some() { &cases::PLANTABLE } else { &cases::NAMES };
    let task = ComparedTask { cases, plant };
    let rivals: Vec<&Rival> = RIVALS.iter().filter(|rival| rival.name.starts_with(only)).collect();
    let mut scores: Vec<Score> = rivals.iter().map(|_| Score::default()).collect();
    for pass in 1..=passes {
        // In turns, so that drift of the machine falls on all alike.
        for (rival, score) in rivals.iter().zip(&mut scores) {
            let begun = Instant::now();
            let said = (rival.pass)(&task).map_err(|error| format!("{}: {error}", rival.name))?;
            score.add(&said, begun.elapsed().as_nanos() as f64, &task)?;
            eprintln!(
                "pass {pass} of {passes}: {}: {} of {} comparisons called changed",
                rival.name,
                score.slower + score.faster,
                score.comparisons
            );
        }
    }
    print(&task, &rivals, &scores);
    Ok(())
}

impl Score {
    fn add(&mut self, pass: &Pass, nanoseconds: f64, task: &ComparedTask) -> Result<()> {
        let named: Vec<&str> = pass.iter().map(|(case, _)| case.as_str()).collect();
        if named != task.cases {
            return Err(format!("{named:?} were judged instead of {:?}", task.cases).into());
        }
        for (case, said) in pass {
            let counted = match said {
                HarnessFigure::Slower => &mut self.slower,
                HarnessFigure::Faster => &mut self.faster,
                HarnessFigure::Inconclusive => &mut self.inconclusive,
                HarnessFigure::Same => continue,
            };
            *counted += 1;
            if *said != HarnessFigure::Inconclusive {
                *self.changed.entry(case.clone()).or_default() += 1;
            }
        }
        self.comparisons += pass.len();
        self.took.push(nanoseconds / pass.len() as f64);
        Ok(())
    }
}

fn print(task: &ComparedTask, rivals: &[&Rival], scores: &[Score]) {
    match task.plant {
        None => println!("a program compared with itself: whatever is called changed was imagined"),
        Some(percent) => println!("a program compared with itself, the new side {percent} % slower"),
    }
    let rows = rivals.iter().zip(scores).map(|(rival, score)| {
        let share = 100.0 * (score.slower + score.faster) as f64 / score.comparisons as f64;
        vec![
            rival.name.to_owned(),
            score.comparisons.to_string(),
            score.slower.to_string(),
            score.faster.to_string(),
            format!("{share:.1} %"),
            score.inconclusive.to_string(),
            time(median(&score.took)),
        ]
    });
    let header = [
        "",
        "comparisons",
        "called slower",
        "called faster",
        "changed",
        "inconclusive",
        "a comparison takes",
    ];
    print_table(&header, &rows.collect::<Vec<_>>());

    println!("called changed, by case");
    let rows = rivals.iter().zip(scores).map(|(rival, score)| {
        let of = |case: &&str| score.changed.get(*case).copied().unwrap_or(0).to_string();
        std::iter::once(rival.name.to_owned()).chain(task.cases.iter().map(of)).collect()
    });
    let header: Vec<&str> = std::iter::once("").chain(task.cases.iter().copied()).collect();
    print_table(&header, &rows.collect::<Vec<Vec<String>>>());

    println!("commands; $B is this program, {} says as which bench target it runs", crate::role::VARIABLE);
    for rival in rivals {
        println!("{}: {}", rival.name, rival.command);
    }
}
