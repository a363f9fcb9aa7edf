//! The lines of libtest's benches, as `--output-format bencher` prints them.

use anyhow::Result;
use weighbridge::data::bencher_lines;

use super::{ExportOutput, Job};

pub(super) fn write(job: &Job<'_>) -> Result<ExportOutput> {
    let (lines, _) = bencher_lines(job.run);
    anyhow::ensure!(!lines.is_empty(), "no case of run {} has a time", job.run.manifest.id);
    Ok(ExportOutput::Text(lines))
}
