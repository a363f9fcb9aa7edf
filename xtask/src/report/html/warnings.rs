//! What the rules and the estimates found, rule by rule, with what helps.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use maud::{Markup, html};
use weighbridge::data::{Finding, Severity};

use crate::view::{CaseView, View, clip};

/// More cases of one rule are counted and not listed.
const MOST: usize = 60;

/// A case, and what was found of it.
type FoundWarning<'a> = (&'a CaseView<'a>, &'a Finding);

pub(super) fn page(view: &View<'_>) -> Markup {
    let mut rules = BTreeMap::<(Reverse<Severity>, &str), Vec<FoundWarning<'_>>>::new();
    for case in &view.cases {
        for finding in &case.record.findings {
            rules.entry((Reverse(finding.severity), &finding.rule)).or_default().push((case, finding));
        }
    }
    if rules.is_empty() {
        return html! {};
    }
    html! {
        p.lead { "What takes a rank away comes first. A caveat is to be read with the figure." }
        @for ((severity, rule), found) in &rules {
            details open[severity.0 == Severity::Fail] {
                summary {
                    span class={ "chip s-" (severity.0.name()) } { (severity.0.name()) } " "
                    b { (rule) } " "
                    span.dim { "in " (found.len()) " cases" }
                }
                div.scroll {
                    table {
                        thead { tr { th { "case" } th { "what was found" } th { "what helps" } } }
                        tbody {
                            @for (case, finding) in found.iter().take(MOST) {
                                tr {
                                    td { a href={ "#c-" (case.anchor) } { (case.name) } }
                                    td.long { (clip(&finding.detail.to_string(), view.room.text)) }
                                    td.long { (clip(&finding.remedy, view.room.text)) }
                                }
                            }
                        }
                    }
                }
                @if found.len() > MOST { p.dim { "And " (found.len() - MOST) " more." } }
            }
        }
    }
}
