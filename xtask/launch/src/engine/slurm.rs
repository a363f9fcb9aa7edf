//! `slurm`: `sbatch` takes a job file, and `srun` in it starts one process for each rank.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::contract::{Checked, Engine, EngineJob, EngineOptions, JobId, LOOK, of_a_cloud, refuse};
use crate::ask::{ask, is_there, quoted};
use crate::error::{LaunchError, Result};
use crate::machine::JobState;

/// The word that every line of the engine's own begins with.
const LINE: &str = "#SBATCH ";

/// The time between two looks at a bad end, and how many there are before it is believed.
const SETTLED: Duration = Duration::from_secs(1);
const LOOKS: u32 = 6;

/// A Slurm cluster, by its commands.
#[derive(Debug)]
pub(super) struct Slurm;

impl Engine for Slurm {
    fn file_name(&self) -> &'static str {
        "job.sbatch"
    }

    fn render(&self, job: &EngineJob<'_>) -> Result<String> {
        let EngineJob { spec, folder, options, .. } = job;
        refuse("slurm", &of_a_cloud(options))?;
        let engine = folder.engine().display().to_string();
        let mut lines = vec![
            format!("--job-name={}", job.name()),
            format!("--nodes={}", spec.nodes),
            format!("--ntasks={}", spec.ranks),
            // Of a folder with a `%` in its name, one that is not Slurm's.
            format!("--output={}slurm-%j.out", quoted(&format!("{}/", engine.replace('%', "%%")))),
        ];
        if spec.ranks % spec.nodes == 0 {
            lines.push(format!("--ntasks-per-node={}", spec.ranks_per_node()));
        }
        if let Some(gpus) = &spec.gpus {
            let kind = gpus.kind.as_ref().map(|kind| format!("{kind}:")).unwrap_or_default();
            lines.push(format!("--gpus-per-node={kind}{}", gpus.count));
        }
        let named = [("account", &options.account), ("partition", &options.partition)];
        lines.extend(named.iter().filter_map(|(key, value)| Some(format!("--{key}={}", value.as_ref()?))));
        lines.extend(options.minutes.map(|minutes| format!("--time={minutes}")));
        if !options.exclude.is_empty() {
            lines.push(format!("--exclude={}", options.exclude.join(",")));
        }
        let own = lines.iter().map(|line| one_line(line).map(|line| format!("{LINE}{line}\n")));
        let own: String = own.collect::<Result<_>>()?;
        let extra = extra(options)?;
        // A rank that ends badly ends all: the others would wait for it. The exit code of `srun` is not that
        // of the rank, which its own file has.
        let start = format!(
            "srun --nodes={} --ntasks={} --kill-on-bad-exit=1 --label {}",
            spec.nodes,
            spec.ranks,
            job.tool()
        );
        Ok(format!("#!/bin/sh\n{own}{extra}set -eu\n{}exec {start}\n", job.exports()))
    }

    fn check(&self, file: &Path) -> Result<Checked> {
        if !is_there("sbatch") {
            return Ok(Checked::Unchecked("there is no `sbatch` here".into()));
        }
        let said = ask(Command::new("sbatch").arg("--test-only").arg(file), LOOK)?;
        match said.is_fine() {
            true => Ok(Checked::Taken { by: "sbatch --test-only".into(), said: said.complaint() }),
            false => Err(LaunchError::Refused { by: "sbatch --test-only".into(), why: said.complaint() }),
        }
    }

    fn submit(&mut self, file: &Path, limit: Duration) -> Result<JobId> {
        let said = ask(Command::new("sbatch").arg("--parsable").arg(file), limit)?.or_refuse("sbatch")?;
        job_id(&said.out).ok_or_else(|| {
            LaunchError::engine("sbatch", format!("it took the job and said no id: `{}`", said.out.trim()))
        })
    }

    /// A bad end is looked at for a while: a job that is put back into the queue may pass through one.
    fn status(&mut self, job: &JobId) -> Result<JobState> {
        for _ in 0..LOOKS {
            let state = shown(job)?;
            let is_bad = matches!(state, JobState::Done { code, .. } if code != Some(0));
            if !is_bad && !matches!(state, JobState::Cancelled { .. }) {
                return Ok(state);
            }
            thread::sleep(SETTLED);
        }
        shown(job)
    }

    fn cancel(&mut self, job: &JobId) -> Result<()> {
        let said = ask(Command::new("scancel").arg(&job.0), LOOK)?;
        // It may have ended meanwhile.
        if said.is_fine() || said.err.contains("Invalid job id") {
            return Ok(());
        }
        said.or_refuse("scancel").map(drop)
    }

    fn diagnostics(&self, job: &JobId) -> Vec<Command> {
        let command = |name: &str, args: &[&str]| {
            let mut command = Command::new(name);
            command.args(args);
            command
        };
        vec![
            command("scontrol", &["show", "job", &job.0]),
            command("squeue", &["--job", &job.0, "--steps"]),
            command("squeue", &["--long"]),
            command("sinfo", &["--Node", "--long"]),
        ]
    }

    fn find(&mut self, name: &str) -> Option<JobId> {
        let listed = ask(Command::new("squeue").args(["--noheader", "--format=%i", "--name", name]), LOOK);
        job_id(&listed.ok()?.out)
    }
}

/// The state that `scontrol` shows at this moment.
fn shown(job: &JobId) -> Result<JobState> {
    let said = ask(Command::new("scontrol").args(["--oneliner", "show", "job", &job.0]), LOOK)?;
    if said.is_fine() {
        return state(&said.out)
            .ok_or_else(|| LaunchError::engine("scontrol", format!("it told no state: {}", said.out)));
    }
    if said.err.contains("Invalid job id") {
        return Ok(JobState::Unknown);
    }
    Err(LaunchError::engine("scontrol", said.complaint()))
}

/// A line of ours that a name could break out of.
fn one_line(line: &str) -> Result<&str> {
    match line.contains(|letter: char| letter.is_control()) {
        true => Err(LaunchError::Usage(format!("`{}` is not one line", line.escape_debug()))),
        false => Ok(line),
    }
}

/// The user's own lines, verbatim, if the engine would read them.
fn extra(options: &EngineOptions) -> Result<String> {
    for line in &options.extra {
        one_line(line)?;
        if !line.starts_with(LINE) {
            return Err(LaunchError::Usage(format!(
                "`{line}` is no line of slurm: those begin with `{}`, and sbatch passes over others",
                LINE.trim()
            )));
        }
        let words = line[LINE.len()..].trim();
        if words.starts_with("--array") || words.starts_with("-a ") {
            return Err(LaunchError::Usage(format!(
                "`{line}`: the jobs of an array would write over each other: launch once for each"
            )));
        }
    }
    Ok(options.extra.iter().map(|line| format!("{line}\n")).collect())
}

/// The id in `sbatch --parsable`: digits, and the cluster behind a semicolon.
fn job_id(said: &str) -> Option<JobId> {
    let id = said.trim().lines().last()?.split(';').next()?.trim();
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())).then(|| JobId(id.to_owned()))
}

/// The state in a line of `scontrol --oneliner show job`.
fn state(line: &str) -> Option<JobState> {
    let of = |key: &str| line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let (name, reason) = (of("JobState")?, of("Reason").unwrap_or("None").to_owned());
    let restarts = of("Restarts").and_then(|text| text.parse().ok()).unwrap_or(0);
    let (code, signal) = of("ExitCode")?.split_once(':')?;
    let nodes = of("NodeList").unwrap_or("(null)");
    let told = || {
        let signal = if signal == "0" { String::new() } else { format!(", signal {signal}") };
        let reason = if reason == "None" { String::new() } else { format!(", {reason}") };
        format!("{name}, exit code {code}{signal}{reason}, on {nodes}")
    };
    Some(match name {
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => {
            JobState::Queued { why: reason, restarts }
        }
        "RUNNING" | "COMPLETING" | "SUSPENDED" | "RESIZING" | "SIGNALING" | "STAGE_OUT" | "STOPPED" => {
            JobState::Running { restarts }
        }
        "COMPLETED" => JobState::Done { code: Some(0), why: told() },
        "CANCELLED" | "PREEMPTED" | "REVOKED" => JobState::Cancelled { why: told() },
        // Of these the exit code may be 0.
        _ => JobState::Done { code: code.parse().ok().filter(|code| *code != 0), why: told() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::LaunchFolder;
    use crate::spec::GpuRequest;
    use crate::spec::LaunchSpec;
    use crate::spec::tests::four;

    fn rendered(spec: &LaunchSpec, options: &EngineOptions) -> Result<String, String> {
        let folder = LaunchFolder::at("/my 100%".into());
        let job = EngineJob { spec, folder: &folder, options, attempt: 2 };
        Slurm.render(&job).map_err(|error| error.to_string())
    }

    #[test]
    fn the_job_file_says_all_that_was_asked_for() {
        let spec = LaunchSpec {
            ranks: 8,
            gpus: Some(GpuRequest { kind: Some("a100".into()), count: 2 }),
            env: [("A".to_owned(), "it's".to_owned())].into(),
            ..four()
        };
        let options = EngineOptions {
            account: Some("acc".into()),
            partition: Some("long".into()),
            minutes: Some(90),
            exclude: vec!["node7".into(), "node9".into()],
            extra: vec!["#SBATCH --constraint=ib".into()],
            ..EngineOptions::default()
        };
        expect_test::expect![[r"
            #!/bin/sh
            #SBATCH --job-name=weighbridge-20261128-120000-00000a
            #SBATCH --nodes=4
            #SBATCH --ntasks=8
            #SBATCH --output='/my 100%%/engine/'slurm-%j.out
            #SBATCH --ntasks-per-node=2
            #SBATCH --gpus-per-node=a100:2
            #SBATCH --account=acc
            #SBATCH --partition=long
            #SBATCH --time=90
            #SBATCH --exclude=node7,node9
            #SBATCH --constraint=ib
            set -eu
            export WEIGHBRIDGE_LAUNCH_FOLDER='/my 100%'
            export WEIGHBRIDGE_LAUNCH_ATTEMPT=2
            export A='it'\''s'
            exec srun --nodes=4 --ntasks=8 --kill-on-bad-exit=1 --label '/my 100%/bundle/tool'
        "]]
        .assert_eq(&rendered(&spec, &options).unwrap());
    }

    #[test]
    fn a_line_that_the_engine_would_pass_over_or_that_is_two_is_refused() {
        let extra = |line: &str| {
            rendered(&four(), &EngineOptions { extra: vec![line.into()], ..EngineOptions::default() })
        };
        assert!(extra("--constraint=ib").unwrap_err().contains("begin with `#SBATCH`"));
        assert!(extra("#SBATCH -C x\nrm -r /").unwrap_err().contains("is not one line"));
        assert!(extra("#SBATCH --array=0-9").unwrap_err().contains("array"));
        let account = EngineOptions { account: Some("a\n#SBATCH -n 9".into()), ..EngineOptions::default() };
        assert!(rendered(&four(), &account).unwrap_err().contains("is not one line"));
        let image = EngineOptions { image: Some("x".into()), spot: true, ..EngineOptions::default() };
        assert!(rendered(&four(), &image).unwrap_err().contains("no word for --image, --spot"));
    }

    #[test]
    fn an_id_is_digits_and_nothing_else_is_one() {
        assert_eq!(job_id("12\n"), Some(JobId("12".into())));
        assert_eq!(job_id("note: hello\n12;cluster\n"), Some(JobId("12".into())));
        for bad in ["", "\n", "Submitted batch job", "-1", "12 13", "weighbridge"] {
            assert_eq!(job_id(bad), None, "{bad}");
        }
    }

    #[test]
    fn each_state_of_slurm_is_one_of_ours() {
        let line = |of: &str, code: &str| {
            format!(
                "JobId=7 JobName=x Restarts=1 Reason=Resources JobState={of} ExitCode={code} \
                 NodeList=n[0-3]"
            )
        };
        let restarts = 1;
        assert_eq!(
            state(&line("PENDING", "0:0")),
            Some(JobState::Queued { why: "Resources".into(), restarts })
        );
        assert_eq!(state(&line("COMPLETING", "0:0")), Some(JobState::Running { restarts }));
        assert!(matches!(state(&line("COMPLETED", "0:0")), Some(JobState::Done { code: Some(0), .. })));
        assert!(matches!(state(&line("CANCELLED", "0:15")), Some(JobState::Cancelled { .. })));
        for failed in ["FAILED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "NEW_ONE"]
        {
            let Some(JobState::Done { code: None, why }) = state(&line(failed, "0:9")) else {
                panic!("{failed} is no success")
            };
            assert!(why.contains(failed) && why.contains("signal 9") && why.contains("n[0-3]"), "{why}");
        }
        assert_eq!(state("slurm_load_jobs error"), None);
    }
}
