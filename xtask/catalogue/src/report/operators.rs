//! Whose operators did the work: systems that call one shared function differ in how they feed it, and in
//! nothing else.

use std::collections::BTreeSet;
use std::fmt::Write;

use weighbridge::data::{CaseRecord, rank};
use weighbridge::{Equivalence, Operator};

use super::field::{ComparedField, FieldGroup, name};
use weighbridge_xtask::show;
use weighbridge_xtask::table::Table;

const FITS: &str = "a String takes all that is written";

/// Whose operators do the steps of a case, as its work report says; nobody's where it has none, or does not
/// say.
fn operators(case: &CaseRecord) -> BTreeSet<Operator> {
    let said = case.work.iter().flat_map(|work| &work.report.operators);
    said.copied().collect()
}

/// The same in a word: `native`, or `native, shared numpy` where steps are of both.
pub(super) fn word(case: &CaseRecord) -> String {
    operators(case).into_iter().map(Operator::name).collect::<Vec<_>>().join(", ")
}

/// Every scenario with its systems by whose operators they run, the fastest first.
pub(super) fn section(field: &ComparedField<'_>) -> String {
    let said = |group: &&FieldGroup<'_>| group.cases.iter().any(|case| !operators(case).is_empty());
    let groups: Vec<&FieldGroup<'_>> = field.groups.iter().filter(said).collect();
    if groups.is_empty() {
        return String::new();
    }
    let titles = Operator::ALL.map(Operator::name);
    let mut table = Table::new(["variant"].into_iter().chain(titles).chain(["of both", "verified"]));
    for group in groups {
        let places = rank(&group.cases, group.metric);
        let of = |wanted: &dyn Fn(&BTreeSet<Operator>) -> bool| {
            let chosen = places.iter().filter(|place| wanted(&operators(place.case)));
            let shown =
                chosen.map(|place| format!("{} {}", name(place.case), show::median(Some(place.metric))));
            shown.collect::<Vec<_>>().join("; ")
        };
        let alone = Operator::ALL.map(|one| of(&|set| set.len() == 1 && set.contains(&one)));
        let rule = group.cases.first().map_or(Equivalence::None, |case| case.equivalence);
        let last = [of(&|set| set.len() > 1), rule.to_string()];
        table.row(std::iter::once(group.title.clone()).chain(alone).chain(last));
    }
    let mut text = "\n## Whose operators\n\n".to_owned();
    writeln!(
        text,
        "Each system by whose code did its transforms: `native`, its own or those of a library that its \
         users take beside it; `shared numpy`, one function that all are given, so that they differ in how \
         they feed it; `ours`, compiled into the suite. The last column says how far the work had to agree: \
         `alike(t)` is by the traits of elements, within `t` of the field's range and what chance \
         allows.\n\n{}",
        table.markdown()
    )
    .expect(FITS);
    let libraries: BTreeSet<(&str, &str)> = field
        .run
        .cases
        .iter()
        .filter_map(|case| Some((name(case), case.work.as_ref()?.report.library.as_deref()?)))
        .collect();
    for (adapter, library) in libraries {
        writeln!(text, "- {adapter}: operators of {library}").expect(FITS);
    }
    text
}
