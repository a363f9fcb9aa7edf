//! The page as HTML: one file, without scripts.

use maud::{DOCTYPE, html as markup};

use crate::page::{effect_text, remedy_lines, title};
use crate::report::DoctorReport;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
    pre{background:#f4f4f4;padding:.7em;overflow:auto}td{padding:.2em 1em .2em 0;vertical-align:top}";

/// The whole page.
pub(crate) fn html(report: &DoctorReport) -> String {
    let verdict = &report.verdict;
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "Doctor: " (report.script) }
                style { (STYLE) }
            }
            body {
                h1 { (title(report)) }
                @if let Some(remedy) = &verdict.remedy {
                    h2 { "To do" }
                    pre { (remedy_lines(remedy).join("\n")) }
                }
                (list("Evidence", &verdict.evidence))
                @if !verdict.tried.is_empty() {
                    h2 { "Tried in this script, in turns" }
                    table { @for effect in &verdict.tried {
                        tr { td { (effect.arm) } td { (effect_text(effect)) } }
                    } }
                }
                (list("Notes", &verdict.notes))
            }
        }
    };
    page.into_string()
}

fn list(heading: &str, lines: &[String]) -> maud::Markup {
    markup! {
        @if !lines.is_empty() {
            h2 { (heading) }
            ul { @for line in lines { li { (line) } } }
        }
    }
}
