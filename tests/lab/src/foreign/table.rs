//! The table of all targets, and the verdict over them.

use weighbridge::data::Columns;

use super::harvest::HarvestedTarget;

/// Of 140 targets, so many at least work.
const LEAST: (usize, usize) = (130, 140);

/// The table, and what it comes to.
pub(super) fn page(targets: &[HarvestedTarget]) -> String {
    let mut table = Columns::new(["crate", "target", "compiled", "tested>", "measured>", "exception"]);
    let count = |cases: Option<u64>| cases.map_or_else(|| "-".to_owned(), |cases| cases.to_string());
    for target in targets {
        table.row([
            target.krate.clone(),
            target.name.clone(),
            if target.compiled { "yes" } else { "no" }.to_owned(),
            count(target.tested),
            count(target.measured),
            remark(target),
        ]);
    }
    let (works, cases) = (working(targets), targets.iter().filter_map(|target| target.measured).sum::<u64>());
    format!(
        "{}\n{works} of {} targets compile and run, {cases} cases are measured\n",
        table.text(),
        targets.len()
    )
}

fn remark(target: &HarvestedTarget) -> String {
    match (&target.exception, &target.why) {
        (Some(exception), Some(_)) => exception.clone(),
        (Some(_), None) => "works: the list need not state an exception".to_owned(),
        (None, Some(why)) => format!("FAILED: {why}"),
        (None, None) => String::new(),
    }
}

fn working(targets: &[HarvestedTarget]) -> usize {
    targets.iter().filter(|target| target.works()).count()
}

/// Tells whether each works that states no exception, and of all as many as are to. `whole`: these are all.
pub(super) fn is_fine(targets: &[HarvestedTarget], whole: bool) -> bool {
    let expected = targets.iter().all(|target| target.works() || target.exception.is_some());
    expected && (!whole || working(targets) * LEAST.1 >= targets.len() * LEAST.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(working: usize, excepted: usize, failed: usize) -> Vec<HarvestedTarget> {
        let one = HarvestedTarget {
            krate: "itoa-1.0.0".to_owned(),
            name: "bench".to_owned(),
            compiled: true,
            tested: Some(2),
            measured: Some(2),
            ..HarvestedTarget::default()
        };
        let fails = HarvestedTarget { measured: None, why: Some("it ended".to_owned()), ..one.clone() };
        let excepted_one = HarvestedTarget { exception: Some("no network".to_owned()), ..fails.clone() };
        let mut all = vec![one; working];
        all.extend(vec![excepted_one; excepted]);
        all.extend(vec![fails; failed]);
        all
    }

    #[test]
    fn a_failure_without_a_stated_exception_and_too_many_exceptions_are_told() {
        assert!(is_fine(&targets(130, 10, 0), true));
        assert!(!is_fine(&targets(129, 11, 0), true));
        assert!(!is_fine(&targets(139, 0, 1), true));
        assert!(is_fine(&targets(1, 11, 0), false), "of a choice, exceptions may be most");
    }

    #[test]
    fn the_table_has_the_reason_of_each_that_does_not_work() {
        let page = page(&targets(1, 1, 1));
        assert!(page.contains("no network") && page.contains("FAILED: it ended"), "{page}");
        assert!(page.contains("1 of 3 targets compile and run, 2 cases are measured"), "{page}");
    }
}
