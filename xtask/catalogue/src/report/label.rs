//! What kind of gap it is, by what was measured.

use weighbridge::Delivery;
use weighbridge::data::{CaseRecord, Unit, WorkReport, quantity};

use super::batch_spending::{self, BatchSpending, SpentFit, fastest};
use super::field::{ComparedField, ShownDuel, name};

/// The kind of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GapKind {
    /// One of them runs on a device.
    HostVersusDevice,
    /// The work reports differ in what is handed over.
    UnequalWork,
    /// Most of it is there however little a batch holds.
    IterationBound,
    /// The measurements do not tell.
    Unexplained,
}

/// A kind with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) kind: GapKind,
    /// In a sentence without a full stop.
    pub(super) evidence: String,
}

/// From this share on a part of the gap is most of it.
const MOST: f64 = 0.5;

impl GapKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HostVersusDevice => "host-versus-device",
            Self::UnequalWork => "unequal-work",
            Self::IterationBound => "iteration-bound",
            Self::Unexplained => "unexplained",
        }
    }
}

/// The label of a gap. The work reports are looked at first: where they differ, times explain nothing.
pub(super) fn label(duel: &ShownDuel<'_>, field: &ComparedField<'_>) -> Label {
    if let Some(label) = reports(duel.ours, duel.rival) {
        return label;
    }
    let evidence = |kind, evidence| Label { kind, evidence };
    let clock = duel.group.by_cpu();
    let (ours, theirs) = (BatchSpending::time(duel.ours, clock), BatchSpending::time(duel.rival, clock));
    let (Some(ours), Some(theirs), Some((best, least))) = (ours, theirs, fastest(duel.group, clock)) else {
        return evidence(GapKind::Unexplained, "there are no times of single batches".to_owned());
    };
    let excess = ours - theirs;
    let takes = if clock { "takes the processor" } else { "takes" };
    let fit = |case| SpentFit::of(field, name(case), clock);
    let Some((fit, other)) = fit(duel.ours).zip(fit(duel.rival)) else {
        let text = format!(
            "a batch {takes} {} against {}; too few variants were measured to tell what of it is fixed",
            time(ours),
            time(theirs)
        );
        return evidence(GapKind::Unexplained, text);
    };
    if excess <= 0.0 {
        let text = format!(
            "a batch {takes} {} against {}, and {best} {} for it: the gap is not in the {} of single batches",
            time(ours),
            time(theirs),
            time(least),
            batch_spending::clock(clock)
        );
        return evidence(GapKind::Unexplained, text);
    }
    // What is fixed of a batch cannot be more than the batch.
    let (our_fixed, their_fixed) = (fit.line.fixed.min(ours), other.line.fixed.min(theirs));
    let fixed = our_fixed - their_fixed;
    if fixed >= MOST * excess {
        let text = format!(
            "of {} more {} for each batch, {} are there however little it holds: \
             {} fixed against {} (over {} variants)",
            time(excess),
            batch_spending::clock(clock),
            time(fixed.min(excess)),
            time(our_fixed),
            time(their_fixed),
            fit.line.points
        );
        return evidence(GapKind::IterationBound, text);
    }
    let text = format!(
        "a batch {takes} {} against {}, and {best} {} for it: the gap grows with the work ({:.1} times {} \
         against {:.1}{})",
        time(ours),
        time(theirs),
        time(least),
        fit.line.factor,
        fit.beside,
        other.line.factor,
        if other.beside == fit.beside { String::new() } else { format!(" times {}", other.beside) }
    );
    evidence(GapKind::Unexplained, text)
}

/// Returns the label that work reports give where they do not say the same.
fn reports(ours: &CaseRecord, theirs: &CaseRecord) -> Option<Label> {
    let report = |case: &CaseRecord| case.work.as_ref().map(|work| work.report.clone());
    let (ours_report, theirs_report) = report(ours).zip(report(theirs))?;
    let (us, them) = (name(ours), name(theirs));
    if worked_on(&ours_report) != worked_on(&theirs_report) {
        let evidence = format!("{us} ran on `{}`, {them} on `{}`", ours_report.ran_on, theirs_report.ran_on);
        return Some(Label { kind: GapKind::HostVersusDevice, evidence });
    }
    let found = asymmetry(&ours_report, &theirs_report)?;
    Some(Label { kind: GapKind::UnequalWork, evidence: format!("{us} {}, {them} {}", found.0, found.1) })
}

/// Returns the device of the work: `cuda:0` of `cuda:0 NVIDIA H200`, `cpu` of `cpu, delivered to cuda:0`.
fn worked_on(report: &WorkReport) -> &str {
    report.ran_on.split([' ', ',']).next().unwrap_or_default()
}

/// Returns the first difference of two work reports, in words for each.
fn asymmetry(ours: &WorkReport, theirs: &WorkReport) -> Option<(String, String)> {
    if ours.transforms != theirs.transforms {
        let list = |report: &WorkReport| format!("executed [{}]", report.transforms.join(", "));
        return Some((list(ours), list(theirs)));
    }
    let words = |delivery| match delivery {
        Delivery::Owned => "hands over buffers that hold",
        Delivery::View => "hands out views of memory that it keeps",
        Delivery::Device => "leaves its batches on a device",
    };
    (ours.delivery != theirs.delivery).then(|| (words(ours.delivery).into(), words(theirs.delivery).into()))
}

/// A time as people read it.
pub(super) fn time(seconds: f64) -> String {
    quantity::show(seconds, &Unit::SECONDS)
}
