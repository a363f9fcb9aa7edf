//! The one line that ends every judging, in a grammar that scripts may rely on.

use super::JudgedSuite;
use weighbridge::data::Exit;

/// `weighbridge: compared=16 improved=0 unchanged=15 regressed=1 inconclusive=0 added=0 removed=0
/// incomparable=0 exit=3`, over all suites. `compared` counts the cases whose figures were weighed. Where a
/// suite's are of a fake for a device, `device=fake` stands before the exit.
pub(super) fn of(judged: &[JudgedSuite], exit: Exit) -> String {
    let sum = |count: fn(&JudgedSuite) -> usize| judged.iter().map(count).sum::<usize>();
    let fake = if judged.iter().any(|one| one.fake.is_some()) { " device=fake" } else { "" };
    format!(
        "weighbridge: compared={} improved={} unchanged={} regressed={} inconclusive={} added={} removed={} \
         incomparable={}{fake} exit={}",
        sum(|one| one.comparison.counts.weighed()),
        sum(|one| one.comparison.counts.improved),
        sum(|one| one.comparison.counts.unchanged),
        sum(|one| one.comparison.counts.regressed),
        sum(|one| one.comparison.counts.inconclusive),
        sum(|one| one.comparison.counts.added),
        sum(|one| one.comparison.counts.removed),
        sum(|one| one.comparison.counts.incomparable),
        exit.code(),
    )
}
