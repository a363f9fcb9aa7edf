//! Which system did which scenario, as a heat map.

use maud::{Markup, html};

use crate::view::{CoverageCell, View};

pub(super) fn page(view: &View<'_>) -> Markup {
    let coverage = &view.coverage;
    if coverage.systems.is_empty() {
        return html! {};
    }
    html! {
        p.lead {
            "How the cases of each scenario ended for each system: verified of all. \
             Colours repeat what the numbers and letters say."
        }
        div.scroll {
            table.grid {
                thead { tr {
                    th { "scenario" }
                    @for system in &coverage.systems { th.up { span { (system) } } }
                } }
                tbody {
                    @for (scenario, cells) in &coverage.rows {
                        tr { th scope="row" { (scenario) } @for cell in cells { (of(*cell)) } }
                    }
                }
            }
        }
        p.dim {
            "2/3: two of three cases were measured and verified. u: work not verified to be equal, \
             f: failed, –: skipped or not finished."
        }
    }
}

fn of(cell: CoverageCell) -> Markup {
    let Some(state) = cell.state() else { return html! { td.cell {} } };
    let mut parts = Vec::new();
    for (count, letter) in [(cell.unranked, "u"), (cell.failed, "f")] {
        if count > 0 {
            parts.push(format!("{letter}{count}"));
        }
    }
    let said = format!(
        "{} verified, {} not ranked, {} failed, {} skipped",
        cell.ranked, cell.unranked, cell.failed, cell.missing
    );
    html! {
        td class={ "cell h-" (state.name().replace(' ', "")) } title=(said) {
            @if cell.ranked > 0 || !parts.is_empty() {
                (cell.ranked) "/" (cell.all()) " " (parts.join(" "))
            } @else {
                "–"
            }
        }
    }
}
