//! The one line that ends every run, in a fixed grammar: `weighbridge: key=value ...`.

use crate::compare::Comparison;
use crate::record::{CaseRecord, CaseStatus, RunRecord};
use crate::verify::Agreement;

/// The line: `weighbridge: run=ID cases=N measured=N failed=N unequal=N unverified=N skipped=N incomplete=N
/// exit=N`. Those are `unequal` of which a rule says that their work or their clock does not verify.
pub fn summary(run: &RunRecord, exit: u8) -> String {
    let count = |takes: fn(&CaseRecord) -> bool| run.cases.iter().filter(|case| takes(case)).count();
    let resumed = if run.manifest.resumed { " resumed=yes" } else { "" };
    let fake = if run.manifest.environment.fake_device().is_some() { " device=fake" } else { "" };
    format!(
        "weighbridge: run={} cases={} measured={} failed={} unequal={} unverified={} skipped={} \
         incomplete={}{resumed}{fake} exit={exit}\n",
        run.manifest.id,
        run.cases.len(),
        count(|case| case.status == CaseStatus::Measured),
        count(|case| matches!(case.status, CaseStatus::Failed(_))),
        count(|case| case.failed_rules().next().is_some()),
        count(
            |case| case.status == CaseStatus::Measured && matches!(case.agreement, Agreement::Unverified(_))
        ),
        count(|case| matches!(case.status, CaseStatus::Skipped(_))),
        count(|case| case.status == CaseStatus::Incomplete),
    )
}

/// The line of a duel: `weighbridge: duel=ID cases=N regressed=N improved=N unchanged=N inconclusive=N
/// added=N removed=N incomparable=N failed=N exit=N`.
pub fn duel_summary(comparison: &Comparison, exit: u8) -> String {
    let counts = comparison.counts;
    format!(
        "weighbridge: duel={} cases={} regressed={} improved={} unchanged={} inconclusive={} added={} \
         removed={} incomparable={} failed={} exit={exit}\n",
        comparison.candidate,
        comparison.rows.len(),
        counts.regressed,
        counts.improved,
        counts.unchanged,
        counts.inconclusive,
        counts.added,
        counts.removed,
        counts.incomparable,
        comparison.failures.len(),
    )
}
