//! What is printed: a Markdown table with a row for each cell, and the mechanisms that it refers to.

use super::cases::WorkerCell;
use super::cost::BatchCost;
use super::explanation::{self, CellDifference};
use super::others::Others;
use super::verdict::{BoundStanding, BoundVerdict};
use weighbridge::data::Exit;
use weighbridge_xtask::table::Table;

/// Both sides of one cell of a peer.
#[derive(Clone, Debug)]
pub(super) struct ComparedCase {
    pub(super) name: &'static str,
    pub(super) short: &'static str,
    pub(super) cell: WorkerCell,
    /// The costs of the harness and of the loop by hand in each round.
    pub(super) rounds: Vec<(BatchCost, BatchCost)>,
    /// `true` if the harness waited so long for a processor in any round that its wall times do not hold.
    pub(super) waited: bool,
}

/// The judgement of a cell by its rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgedCase {
    verdict: BoundVerdict,
    /// The medians of both sides.
    harness: BatchCost,
    hand: BatchCost,
    /// The mechanism behind a difference, where one is known.
    mechanism: Option<&'static str>,
}

impl JudgedCase {
    /// Returns whether it has a difference that nothing explains and on which the rounds agree.
    pub(super) fn is_over(&self) -> bool {
        self.verdict.standing == BoundStanding::Over && self.mechanism.is_none()
    }
}

impl ComparedCase {
    /// `None` where there was no round.
    pub(super) fn judged(&self, others: Others, fault_cost: f64) -> Option<JudgedCase> {
        let (harness, hand): (Vec<BatchCost>, Vec<BatchCost>) = self.rounds.iter().copied().unzip();
        let (harness, hand) = (BatchCost::median(&harness)?, BatchCost::median(&hand)?);
        let mut verdict = BoundVerdict::of(&self.rounds)?;
        if (others.are_many() || self.waited) && verdict.standing == BoundStanding::Over {
            verdict.standing = BoundStanding::Unsure; // wall times say more of the machine
        }
        let of = CellDifference {
            cell: self.cell,
            hand: hand.wall,
            difference: verdict.difference,
            bound: verdict.bound,
            faults: harness.faults - hand.faults,
            fault_cost,
        };
        let is_one = matches!(verdict.standing, BoundStanding::Over | BoundStanding::Unsure);
        let mechanism = is_one.then(|| explanation::find(self.short, &of)).flatten();
        Some(JudgedCase { verdict, harness, hand, mechanism })
    }
}

/// The most times that the rounds are taken again for cells that seem to be over.
pub(super) const AGAIN: usize = 2;

/// The page, and how it ends: a difference that is neither within its bound nor explained, or one that is not
/// sure. A page fault costs so many seconds.
pub(super) fn page(
    compared: &[ComparedCase],
    rounds: u32,
    others: Others,
    fault_cost: f64,
) -> (String, Exit) {
    let mut table = Table::new([
        "framework",
        "case",
        "workers>",
        "wall, harness>",
        "wall, hand>",
        "CPU, harness>",
        "CPU, hand>",
        "faults, harness>",
        "faults, hand>",
        "loop>",
        "difference>",
        "bound>",
        "verdict",
    ]);
    let (mut notes, mut exit) = (Vec::new(), Exit::Fine);
    for one in compared {
        let Some(judged) = one.judged(others, fault_cost) else { continue };
        let JudgedCase { verdict, harness, hand, mechanism } = judged;
        let word = match verdict.standing {
            BoundStanding::Within => "within",
            BoundStanding::Corrected => "corrected",
            BoundStanding::Over => "over",
            BoundStanding::Unsure => "unsure",
        };
        let word = match (verdict.standing, mechanism) {
            (_, Some(mechanism)) => format!("{word}: {}", number(&mut notes, mechanism)),
            (BoundStanding::Over, None) => {
                exit = exit.or(Exit::Regressed);
                word.to_owned()
            }
            (BoundStanding::Unsure, None) => {
                exit = exit.or(Exit::Inconclusive);
                word.to_owned()
            }
            (BoundStanding::Within | BoundStanding::Corrected, None) => word.to_owned(),
        };
        table.row([
            one.name.to_owned(),
            one.cell.scenario().id.to_owned(),
            one.cell.workers.to_string(),
            us(harness.wall),
            us(hand.wall),
            us(harness.cpu),
            us(hand.cpu),
            format!("{:.1}", harness.faults),
            format!("{:.1}", hand.faults),
            us(harness.own),
            format!("{}{}", if verdict.difference < 0.0 { "-" } else { "+" }, us(verdict.difference.abs())),
            us(verdict.bound),
            word,
        ]);
    }
    if table.is_empty() {
        return (String::new(), Exit::Fine);
    }
    let mut text = format!(
        "Microseconds for a whole batch, medians of {rounds} rounds in turns, without beginning an epoch; of \
         up to {} where a row was over. Other programs used up to {:.0} % of the processors. A difference is \
         judged by the wall clock: `within` its bound; `corrected`, within it without the worker's own loop; \
         `over`; or `unsure`, where rounds do not agree, that share is over 10 %, or threads waited for a \
         processor in over 10 % of the time. A number is that of a cause that is known. A page fault costs \
         {:.2} here.\n\n{}",
        rounds as usize * (1 + AGAIN),
        others.share() * 100.0,
        fault_cost * 1e6,
        table.markdown()
    );
    for (at, mechanism) in notes.iter().enumerate() {
        text.push_str(&format!("{}{}. {mechanism}\n", if at == 0 { "\n" } else { "" }, at + 1));
    }
    (text, exit)
}

/// The number of a note, which is added where it is new.
fn number(notes: &mut Vec<&'static str>, note: &'static str) -> usize {
    let at = notes.iter().position(|known| *known == note).unwrap_or_else(|| {
        notes.push(note);
        notes.len() - 1
    });
    at + 1
}

/// Seconds as microseconds, with one digit behind the point, or none where there are four before it.
fn us(seconds: f64) -> String {
    let us = seconds * 1e6;
    if us < 1000.0 { format!("{us:.1}") } else { format!("{us:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(harness: f64, hand: f64, waited: bool) -> ComparedCase {
        let cost = |cpu: f64| BatchCost { wall: 2e-6 * cpu, cpu: 1e-6 * cpu, faults: 0.0, own: 0.0 };
        ComparedCase {
            name: "NumPy",
            short: "numpy",
            cell: WorkerCell { scenario: 0, workers: 0 },
            rounds: vec![(cost(harness), cost(hand))],
            waited,
        }
    }

    #[test]
    fn a_row_shows_both_clocks_and_is_judged_by_the_wall() {
        let (text, exit) = page(&[compared(103.0, 100.0, true)], 5, Others::default(), 1e-6);
        let row =
            "| NumPy | CV-1 | 0 | 206.0 | 200.0 | 103.0 | 100.0 | 0.0 | 0.0 | 0.0 | +6.0 | 10.0 | within |\n";
        assert!(text.contains(row) && text.contains("medians of 5 rounds"), "{text}");
        assert_eq!(exit, Exit::Fine);
    }

    #[test]
    fn a_difference_over_its_bound_that_nothing_explains_is_open_whichever_side_is_slower() {
        for (harness, difference) in [(110.0, "+20.0"), (90.0, "-20.0")] {
            let (text, exit) = page(&[compared(harness, 100.0, false)], 5, Others::default(), 1e-6);
            assert!(
                exit == Exit::Regressed && text.contains(&format!("| {difference} | 10.0 | over |")),
                "{text}"
            );
        }
    }

    #[test]
    fn on_a_busy_machine_nothing_is_over() {
        let (text, exit) = page(&[compared(150.0, 100.0, true)], 5, Others::default(), 1e-6);
        assert!(exit == Exit::Inconclusive && text.contains("| unsure |"), "{text}");
    }

    #[test]
    fn a_difference_that_is_the_workers_own_loop_is_corrected() {
        let mut one = compared(110.0, 100.0, false);
        one.rounds[0].0.own = 15e-6;
        let (text, exit) = page(&[one], 5, Others::default(), 1e-6);
        assert!(exit == Exit::Fine && text.contains("| 15.0 | +20.0 | 10.0 | corrected |"), "{text}");
    }

    #[test]
    fn a_difference_on_which_rounds_do_not_agree_is_told_as_such() {
        let (mut one, other) = (compared(110.0, 100.0, false), compared(99.0, 100.0, false));
        one.rounds.extend([one.rounds[0], other.rounds[0]]);
        let (text, exit) = page(&[one], 3, Others::default(), 1e-6);
        assert!(exit == Exit::Inconclusive && text.contains("unsure"), "{text}");
    }

    #[test]
    fn a_mechanism_is_a_note_that_is_told_once() {
        let mut notes = Vec::new();
        assert_eq!([number(&mut notes, "a"), number(&mut notes, "b"), number(&mut notes, "a")], [1, 2, 1]);
        assert_eq!(notes, ["a", "b"]);
    }

    #[test]
    fn where_nothing_was_compared_nothing_is_printed() {
        assert_eq!(page(&[], 5, Others::default(), 1e-6), (String::new(), Exit::Fine));
    }
}
