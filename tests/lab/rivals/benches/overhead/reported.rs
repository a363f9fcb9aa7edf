//! What each harness reports for a body of nothing and for one of a few nanoseconds.

use crate::table::{median, print as print_table, time};
use crate::{Result, bodies, criterion_side, divan_side, start, tango_side, weighbridge_side};

/// Each is asked this often, in turn, so that drift of the machine falls on all alike.
const ROUNDS: usize = 3;

const WHO: [&str; 8] = [
    "by hand, 1e8 iterations",
    "by hand, results hidden",
    "weighbridge, in process",
    "weighbridge, in children",
    "criterion",
    "divan",
    "divan, --sample-size 10000",
    "tango, solo, its mean",
];

/// Prints the table, and what the runs showed beside it: the time from the start of each process of ours to
/// its first iteration.
pub fn print() -> Result<()> {
    let mut reported = [const { [const { Vec::new() }; WHO.len()] }; bodies::NAMES.len()];
    let mut starts = Vec::new();
    for _ in 0..ROUNDS {
        let criterion = criterion_side::reported()?;
        let divan = divan_side::reported(None)?;
        let larger = divan_side::reported(Some("10000"))?;
        let tango = tango_side::reported()?;
        for (body, name) in bodies::NAMES.into_iter().enumerate() {
            let children = weighbridge_side::in_children(name)?;
            starts.extend(children.starts);
            let figures = [
                bodies::by_hand(name, false),
                bodies::by_hand(name, true),
                weighbridge_side::in_process(name)?,
                children.reported,
                criterion[body],
                divan[body],
                larger[body],
                tango[body],
            ];
            for (seen, figure) in reported[body].iter_mut().zip(figures) {
                seen.push(figure);
            }
        }
    }
    println!(
        "median time that is reported for a body: median of {ROUNDS} rounds, lowest and highest, \
         beside the hand-written loop (ours of nothing to be below 0.3 ns, of a few ns within 2 %)"
    );
    for (name, seen) in bodies::NAMES.into_iter().zip(&reported) {
        let hand = median(&seen[0]);
        let rows = WHO.iter().zip(seen).map(|(who, seen)| {
            let middle = median(seen);
            let low = seen.iter().copied().fold(f64::INFINITY, f64::min);
            let high = seen.iter().copied().fold(0.0, f64::max);
            let ratio = format!("{:.2}", middle / hand);
            let apart = format!("{:+.2} ns", middle - hand);
            vec![(*who).to_owned(), time(middle), time(low), time(high), ratio, apart]
        });
        print_table(&[name, "median", "low", "high", "ratio", "apart"], &rows.collect::<Vec<_>>());
    }
    start::print_repeats(&starts);
    Ok(())
}
