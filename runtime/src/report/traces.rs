//! What came of the traces that were asked for: where they lie, or why there is none.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::plan::counted;
use super::quantity;
use crate::bencher::visible_in_line;
use crate::metric::Unit;
use crate::record::{Allocations, AttachmentStatus, CaseRecord, RunRecord};

/// So many lines that allocate are shown where not all are.
const FEW: usize = 3;

/// The depth of the folders of a run that lead to the files of a trace: `attached`, the case, the kind.
const DEEP: usize = 3;

/// Every trace of a run, whose files lie in `folder`. `all` shows all lines of Python that allocate. Empty
/// where none was asked for.
pub fn traces(run: &RunRecord, folder: &Path, all: bool) -> String {
    run.cases.iter().map(|case| case_traces(case, folder, all)).collect()
}

/// The same of one case.
pub fn case_traces(case: &CaseRecord, folder: &Path, all: bool) -> String {
    let mut text = String::new();
    for attached in &case.attached {
        let told = match &attached.status {
            AttachmentStatus::Attached => {
                let bytes: u64 = attached.files.iter().map(|file| file.bytes).sum();
                let first =
                    attached.files.first().map(|file| file.path.iter().take(DEEP).collect::<PathBuf>());
                format!(
                    "{}, {}, below {}",
                    counted(attached.files.len(), "file"),
                    quantity::show(bytes as f64, &Unit::BYTES),
                    folder.join(first.unwrap_or_default()).display()
                )
            }
            AttachmentStatus::Absent(why) => format!("none: {why}"),
            AttachmentStatus::Failed(why) => format!("FAILED: {why}"),
        };
        line(&mut text, &format!("trace by {} of {}: {told}", attached.kind, case.id));
        for allocations in &attached.allocations {
            sites(&mut text, allocations, if all { usize::MAX } else { FEW });
        }
    }
    text
}

/// The allocations of Python in an operation.
fn sites(text: &mut String, allocations: &Allocations, most: usize) {
    let size = |bytes: f64| quantity::show(bytes, &Unit::BYTES);
    let Allocations { operation, peak, sites } = allocations;
    line(text, &format!("  {operation}: Python allocated {} at most; what lives on:", size(*peak as f64)));
    for site in sites.iter().take(most) {
        let bytes = site.bytes as f64;
        let sign = if bytes < 0.0 { "-" } else { "+" };
        let count = site.allocations;
        line(text, &format!("    {sign}{} ({count:+}) {}  {}", size(bytes.abs()), site.place, site.source));
    }
    if sites.is_empty() {
        line(text, "    nothing");
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{}", visible_in_line(line)).expect("a string takes everything");
}
