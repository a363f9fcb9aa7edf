//! The page around the pages: its head, its policy, its navigation, and the scripts that it carries.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};
use weighbridge::data::RunStatus;

use super::Page;
use super::data::Island;
use crate::view::View;

const STYLE: &str = include_str!("page.css");
const CHARTS_STYLE: &str = include_str!("../../../assets/uplot/uPlot.min.css");
const CHARTS: &str = include_str!("../../../assets/uplot/uPlot.iife.min.js");
const CHARTS_LICENCE: &str = include_str!("../../../assets/uplot/LICENSE");
const CODE: &str = include_str!("page.js");
/// Run before anything is laid out: pages that are not looked at need no layout.
const FIRST: &str = "document.documentElement.classList.add('js')";

/// The whole document.
pub(super) fn page(view: &View<'_>, pages: &[Page], islands: &[Island]) -> String {
    let manifest = &view.run.manifest;
    let title = format!("{}: run {}", manifest.suite, manifest.id);
    let licence = CHARTS_LICENCE.replace("--", "- -");
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="generator" content="cargo xtask report html";
                link rel="icon" href="data:,";
                title { (title) }
                (PreEscaped(format!("<!-- uPlot, inlined below:\n{licence}\n-->")))
                style { (PreEscaped(CHARTS_STYLE)) }
                style { (PreEscaped(STYLE)) }
                script { (PreEscaped(FIRST)) }
            }
            body {
                (head(view, pages))
                main {
                    @for page in pages {
                        section.page id=(page.key) aria-labelledby={ "h-" (page.key) } {
                            h2 id={ "h-" (page.key) } { (page.title) }
                            (page.body)
                        }
                    }
                    section.page id="case" aria-live="polite" {}
                }
                footer {
                    p {
                        "Made by " code { "cargo xtask report html" }
                        " from the records of run " (manifest.id) " and nothing else. \
                         Intervals hold at 95 %. A ratio whose interval has 1 in it is a tie."
                    }
                    p.keys hidden {
                        kbd { "/" } " filter  "
                        kbd { "j" } " " kbd { "k" } " next and previous row  "
                        kbd { "Enter" } " open  "
                        kbd { "Esc" } " back  "
                        kbd { "1" } "–" kbd { (pages.len()) } " pages. "
                        "Drag in a chart to zoom, double-click to zoom out, click a name to hide its line."
                    }
                }
                @for island in islands {
                    script type=(island.kind) id=(island.id) { (PreEscaped(&island.json)) }
                }
                script { (PreEscaped(CHARTS)) }
                script { (PreEscaped(CODE)) }
            }
        }
    };
    document.into_string()
}

/// The content security policy of the page: these scripts, these styles, and no request to anybody.
fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let all = |texts: &[&str]| texts.iter().map(|text| hash(text)).collect::<Vec<_>>().join(" ");
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        all(&[FIRST, CHARTS, CODE]),
        all(&[CHARTS_STYLE, STYLE])
    )
}

fn head(view: &View<'_>, pages: &[Page]) -> Markup {
    let manifest = &view.run.manifest;
    let unfinished = match manifest.status {
        RunStatus::Complete => None,
        RunStatus::Running => {
            Some("This run did not come to its end, or is still running: it shows what there is.")
        }
        RunStatus::Damaged => Some("Files of this run are gone: it shows what there is."),
        RunStatus::Interrupted => Some("This run was interrupted: it shows what there is."),
    };
    html! {
        header.top {
            div.tools { button.tool #theme type="button" hidden { "Dark or light" } }
            h1 { (manifest.suite) }
            p.facts {
                "Run " b { (manifest.id) } " of " (view.started())
                ", commit " b { (view.commit()) }
                ", profile " b { (manifest.profile) }
                " on " b { (manifest.active_backend) }
                ", " (manifest.planned.repeats) " repeats. " (view.machine())
            }
            @if let Some(why) = unfinished { div.banner role="status" { (why) } }
            @if manifest.resumed {
                div.banner role="status" { "This run was broken off and taken up again." }
            }
            @for (other, number) in manifest.other_surroundings.iter().zip(1..) {
                div.banner role="status" {
                    "Repeats with the caveat “surroundings” were measured in others than the first ones ("
                    (number) "): "
                    @for difference in other { (difference) "; " }
                }
            }
            @if let Some(fake) = &view.fake { div.banner role="alert" { (fake) } }
            nav aria-label="Pages" {
                @for page in pages { a href={ "#" (page.key) } { (page.title) } }
            }
        }
    }
}
