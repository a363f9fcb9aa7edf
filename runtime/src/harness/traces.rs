//! `--trace` and `--dump`: after all that is measured, each case once more for each of them, in a repeat that
//! counts nowhere.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::args::BenchArgs;
use super::smoke::program;
use super::usage::UsageError;
use super::{Context, TargetError};
use crate::bencher::{Budget, PartialBudget, RunSettings, SkipReason};
use crate::plan::{CaseId, Isolation, Plan, PlanSettings, PlannedCase};
use crate::process::{Trace, TraceKind};
use crate::record::{
    Allocations, AttachedFile, Attachment, AttachmentStatus, CaseRecord, CaseStatus, RunManifest,
};
use crate::run::{Event, Outcome, RunEnding, RunTask, perf_can_record, run};
use crate::store::Layout;

/// Refuses, before anything is measured, a trace that cannot be made here.
///
/// # Errors
/// Why it cannot.
pub(super) fn check(args: &BenchArgs, plan: &Plan) -> Result<(), TargetError> {
    let refuse = |why: String| Err(UsageError(why).into());
    if args.traces.is_empty() {
        return Ok(());
    }
    if plan.together.isolation == Isolation::None {
        return refuse(
            "--trace and --dump reach child processes alone: leave out --isolation none".to_owned(),
        );
    }
    if args.traces.contains(&TraceKind::Perf)
        && let Err(why) = perf_can_record()
    {
        return refuse(format!("--trace perf: {why}"));
    }
    Ok(())
}

/// Traces each case that was measured, by each kind that was asked for, and attaches what came of it.
///
/// # Errors
/// That the program cannot be started.
pub(super) fn trace(
    context: &Context<'_>,
    plan: &Plan,
    layout: &Layout,
    manifest: &RunManifest,
    cases: &mut [CaseRecord],
) -> Result<(), TargetError> {
    for record in cases.iter_mut().filter(|case| case.status == CaseStatus::Measured) {
        let Some(case) = plan.cases.iter().find(|case| case.id == record.id && case.measured) else {
            continue;
        };
        for kind in &context.args.traces {
            if context.interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
            context.terminal.remark(&format!("tracing {} by {kind}", case.id));
            record.attached.push(attachment(context, plan, layout, manifest, case, *kind)?);
        }
    }
    Ok(())
}

/// The budget of a repeat that is traced: as little as can be, of the size that the case has.
const BUDGET: Budget = Budget {
    warmup: 0,
    batches: 2,
    min_time: Duration::from_millis(1),
    max_time: Some(Duration::from_millis(1)),
};

/// One repeat of a case that is traced, and its trace.
fn attachment(
    context: &Context<'_>,
    plan: &Plan,
    layout: &Layout,
    manifest: &RunManifest,
    case: &PlannedCase,
    kind: TraceKind,
) -> Result<Attachment, TargetError> {
    let run_folder = layout.run(&manifest.id);
    let trace = Trace { kind, folder: layout.attachment(&manifest.id, &case.id, kind.name()) };
    let _ = std::fs::remove_dir_all(&trace.folder); // of a run that was broken off while it was made
    let asked = PartialBudget {
        samples: Some(BUDGET.batches),
        min_time: Some(BUDGET.min_time),
        max_time: BUDGET.max_time,
        repeats: Some(1),
    };
    let alone = Plan {
        cases: vec![PlannedCase { budget: BUDGET, repeats: 1, ..case.clone() }],
        repeats: 1,
        budget: BUDGET,
        // What runs beside a body would be in its trace.
        run: RunSettings { asked, profiled: true, ..plan.run },
        together: PlanSettings { target: None, isolation: Isolation::Repeat, ..plan.together },
        verify: false,
        ..plan.clone()
    };
    let scratch = |case: &CaseId, number: u32| layout.scratch(&manifest.id, case, number);
    let task = RunTask {
        plan: &alone,
        epoch: manifest.epoch,
        finished: &[],
        surroundings: 0,
        scratch: &scratch,
        budget: None,
        shares: false,
        interrupted: &context.interrupted,
    };
    let kept = layout.kept(&manifest.id);
    let mut program = program(context)?.keeping(&kept);
    program.variables.push(trace.variable());
    let mut outcome = None;
    let ending = run(&task, program, &mut |event| {
        if let Event::RepeatEnded { repeat, .. } = event {
            outcome = Some(repeat.outcome.clone());
        }
        Ok::<(), TargetError>(())
    });
    let _ = std::fs::remove_dir_all(&kept);
    let status = match (ending?, outcome) {
        (RunEnding::Complete, Some(outcome)) => outcome,
        _ => Outcome::Skipped { why: SkipReason::Ended },
    };
    Ok(attached(&trace, &run_folder, status))
}

/// The attachment that comes of a trace, by how its repeat ended and by what lies in its folder.
fn attached(trace: &Trace, run: &Path, outcome: Outcome) -> Attachment {
    let kind = trace.kind;
    let failed = |why: String| Attachment::missing(kind, AttachmentStatus::Failed(why));
    match outcome {
        Outcome::Failed(failure) => return failed(format!("its repeat {failure}")),
        Outcome::Skipped { why } => {
            return Attachment::missing(kind, AttachmentStatus::Absent(why.to_string()));
        }
        Outcome::Measured { .. } => {}
    }
    let files = match trace.files() {
        Err(why) => return failed(why),
        Ok(None) => {
            let why = format!("nothing of it runs in a worker, which could be traced by {kind}");
            return Attachment::missing(kind, AttachmentStatus::Absent(why));
        }
        Ok(Some(files)) => files,
    };
    let mut allocations = Vec::new();
    if kind == TraceKind::Tracemalloc {
        for (path, _) in &files {
            match Allocations::read(&trace.folder.join(path)) {
                Ok(read) => allocations.push(read),
                Err(why) => return failed(why),
            }
        }
    }
    let folder = trace.folder.strip_prefix(run).unwrap_or(&trace.folder);
    let file = |(path, bytes)| AttachedFile { path: folder.join(path), bytes };
    Attachment {
        kind,
        status: AttachmentStatus::Attached,
        files: files.into_iter().map(file).collect(),
        allocations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::Phase;
    use crate::run::{Failure, How};

    fn measured() -> Outcome {
        Outcome::Measured { seen: Box::default(), work: None, evidence: Box::default() }
    }

    /// The attachment that comes of these files.
    fn of(kind: TraceKind, files: &[(&str, &str)], outcome: Outcome) -> Attachment {
        let run = tempfile::tempdir().unwrap();
        let folder = run.path().join("attached").join("case").join(kind.name());
        for (name, text) in files {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        }
        attached(&Trace { kind, folder }, run.path(), outcome)
    }

    #[test]
    fn a_trace_is_attached_with_its_files_below_the_folder_of_the_run() {
        let found = of(TraceKind::Torch, &[("run.json", "{}")], measured());
        assert_eq!(found.status, AttachmentStatus::Attached);
        let file = AttachedFile { path: "attached/case/torch/run.json".into(), bytes: 2 };
        assert_eq!(found.files, [file]);
    }

    #[test]
    fn an_empty_trace_fails_by_its_name_and_who_has_none_of_the_kind_is_told_so() {
        let status = |files: &[(&str, &str)], outcome| of(TraceKind::Torch, files, outcome).status;
        let AttachmentStatus::Failed(why) = status(&[("run.json", "")], measured()) else { panic!() };
        assert_eq!(why, "the trace `run.json` is empty");
        let AttachmentStatus::Failed(why) = status(&[("note", "x")], measured()) else { panic!() };
        assert_eq!(why, "no file of a trace was written");
        let AttachmentStatus::Absent(why) = status(&[], measured()) else { panic!() };
        assert!(why.contains("runs in a worker"), "{why}");
        let skipped = Outcome::Skipped { why: "NumPy does not use torch here".into() };
        assert_eq!(
            status(&[], skipped),
            AttachmentStatus::Absent("NumPy does not use torch here".to_owned())
        );
        let failure = Failure {
            how: How::Error,
            phase: Phase::Timed,
            detail: "out of ink".to_owned(),
            stderr: String::new(),
        };
        // What a repeat that failed has left is no trace of anything.
        let AttachmentStatus::Failed(why) = status(&[("run.json", "{}")], Outcome::Failed(failure)) else {
            panic!()
        };
        assert!(why.starts_with("its repeat returned an error") && why.ends_with("out of ink"), "{why}");
    }

    #[test]
    fn allocations_are_read_into_the_record_or_the_trace_has_failed() {
        let text = r#"{"operation": "save", "peak": 9,
            "sites": [{"place": "a.py:1", "source": "b", "bytes": 8, "allocations": 1}]}"#;
        let found = of(TraceKind::Tracemalloc, &[("save.json", text)], measured());
        assert_eq!((found.allocations[0].peak, found.allocations[0].sites[0].bytes), (9, 8));
        let found = of(TraceKind::Tracemalloc, &[("save.json", "{}")], measured());
        assert!(matches!(found.status, AttachmentStatus::Failed(why) if why.contains("cannot be read")));
    }
}
