//! What the faults of one kind have cost, and the table of all kinds.

use weighbridge::data::Exit;

use crate::output::Output;
use weighbridge::data::Columns;

/// What one fault did, in words; nothing where nothing went wrong.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Harm {
    /// A finished repeat that is gone, changed or measured twice, a run that cannot be resumed, a damaged
    /// record that was believed, a command that should have worked.
    pub(super) lost: Vec<String>,
    /// A process, a scratch or temporary file, shared memory.
    pub(super) left: Vec<String>,
    pub(super) panicked: Vec<String>,
    pub(super) hung: Vec<String>,
}

/// What the faults of one kind have done.
#[derive(Debug)]
pub(super) struct Toll {
    kind: &'static str,
    tried: usize,
    /// How many faults had each harm: lost, left, panicked, hung.
    counts: [usize; 4],
    wrong: Vec<String>,
    /// Faults that could not be tried, with the reason.
    skipped: Vec<String>,
}

impl Toll {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, tried: 0, counts: [0; 4], wrong: Vec::new(), skipped: Vec::new() }
    }

    /// Adds a fault by its name.
    pub(super) fn add(&mut self, fault: &str, harm: &Harm) {
        self.tried += 1;
        let Harm { lost, left, panicked, hung } = harm;
        for (at, (word, what)) in
            [("lost", lost), ("left", left), ("panicked", panicked), ("hung", hung)].into_iter().enumerate()
        {
            self.counts[at] += usize::from(!what.is_empty());
            self.wrong.extend(what.iter().map(|what| format!("{}: {fault}: {word}: {what}", self.kind)));
        }
    }

    /// Notes that a fault cannot be made here.
    pub(super) fn skip(&mut self, fault: &str, why: &str) {
        self.skipped.push(format!("{}: {fault}: {why}", self.kind));
    }
}

/// The table, all that went wrong, and what was not tried.
pub(super) fn said(tolls: &[Toll]) -> Output {
    let mut table = Columns::new(["kind", "tried>", "lost>", "left>", "panicked>", "hung>"]);
    let mut row = |kind: &str, tried: usize, counts: [usize; 4]| {
        let counts = counts.iter().map(ToString::to_string);
        table.row([kind.to_owned(), tried.to_string()].into_iter().chain(counts));
    };
    let (mut tried, mut counts) = (0, [0; 4]);
    for toll in tolls {
        row(toll.kind, toll.tried, toll.counts);
        tried += toll.tried;
        for (sum, count) in counts.iter_mut().zip(toll.counts) {
            *sum += count;
        }
    }
    row("all", tried, counts);
    let mut text = table.text();
    for line in tolls.iter().flat_map(|toll| &toll.skipped) {
        text.push_str(&format!("skipped: {line}\n"));
    }
    for line in tolls.iter().flat_map(|toll| &toll.wrong) {
        text.push_str(&format!("wrong: {line}\n"));
    }
    let exit = if counts == [0; 4] { Exit::Fine } else { Exit::Failed };
    Output { text, remarks: Vec::new(), exit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_counts_faults_and_whatever_went_wrong_ends_with_6() {
        let mut kills = Toll::new("kills");
        kills.add("at 3 ms", &Harm::default());
        assert_eq!(said(&[kills]).exit, Exit::Fine);

        let (mut kills, mut disks) = (Toll::new("kills"), Toll::new("disks"));
        kills.add("at 3 ms", &Harm { lost: vec!["a".into(), "b".into()], ..Harm::default() });
        kills.add("at 4 ms", &Harm { hung: vec!["c".into()], ..Harm::default() });
        disks.skip("8 KiB", "mounting is not allowed");
        let expected = "kind   tried  lost  left  panicked  hung\n\
                        kills      2     1     0         0     1\n\
                        disks      0     0     0         0     0\n\
                        all        2     1     0         0     1\n\
                        skipped: disks: 8 KiB: mounting is not allowed\n\
                        wrong: kills: at 3 ms: lost: a\n\
                        wrong: kills: at 3 ms: lost: b\n\
                        wrong: kills: at 4 ms: hung: c\n";
        let found = said(&[kills, disks]);
        assert_eq!((found.text.as_str(), found.exit), (expected, Exit::Failed));
    }
}
