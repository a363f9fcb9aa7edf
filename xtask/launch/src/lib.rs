//! `cargo weighbridge launch`: bench programs on the hosts that a launcher gives.
//!
//! No scheduler is written here: an engine that people have starts one process for each rank, and that
//! process is this tool again ([`rank`]). It tells of its host, runs the bench program, and writes down how
//! that ended. So every engine needs one start line, and no engine's word is needed for what a rank did.
//!
//! Data flows down:
//!
//! ```text
//! args      the line as it is typed
//! request   the line as it is meant
//! bundle    what travels, with its digest
//! engine    job files; hand over, ask, end
//! machine   the states of a launch, pure, with a deadline for each
//! agent     a rank on its host
//! follow    events in, acts out
//! outcome   what came of it, validated from the ranks' files
//! ```

mod agent;
mod args;
mod ask;
mod bundle;
mod collect;
mod engine;
mod error;
mod folder;
mod follow;
mod machine;
mod outcome;
mod progress;
mod prune;
mod request;
mod spec;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use weighbridge::data::{Exit, RunId};

pub use agent::rank;
pub use args::{CompareAction, EngineKind, LaunchArgs, LaunchMode, PreflightPolicy};
pub use ask::output_within;
pub use bundle::{BaselineProgram, Programs};
pub use error::LaunchError;
pub use progress::Shown;
pub use prune::prune;

use engine::{Checked, Engine, EngineJob, EngineOptions};
use error::Result;
use folder::{LaunchFolder, write_json};
use follow::Follower;
use machine::Machine;
use request::LaunchRequest;
use spec::{LaunchSpec, SpecDuel};

/// The answer of a launch at its end.
#[derive(Debug)]
pub struct LaunchAnswer {
    /// The answer, for people.
    pub text: String,
    /// Things to know beside it.
    pub remarks: Vec<String>,
    /// The end of the command.
    pub exit: Exit,
}

/// A launch that was understood, of which nothing has begun.
#[derive(Debug)]
pub struct Launch {
    request: LaunchRequest,
}

impl Launch {
    /// Understands a line. `scratch` is the shared folder where all ranks are of this machine and none is
    /// named.
    ///
    /// # Errors
    /// When the line cannot be meant.
    pub fn new(args: &LaunchArgs, scratch: PathBuf) -> Result<Self> {
        Ok(Self { request: LaunchRequest::of(args, scratch)? })
    }

    /// True if programs that travelled before are used again.
    pub fn has_programs(&self) -> bool {
        self.request.resume.is_some()
    }

    /// Packs, renders, lets the engine's own checker look, and unless it is a dry run hands the job over and
    /// follows it to its end. `data` is where the runs of rank 0 are kept.
    ///
    /// # Errors
    /// When it cannot begin; all that happens later is in the answer.
    pub fn run(
        self,
        programs: Option<&Programs>,
        data: &Path,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Result<LaunchAnswer> {
        let (spec, folder) = self.prepare(programs)?;
        let request = &self.request;
        // What never began leaves nothing; what was broken off stays.
        let clean = || {
            if request.resume.is_none() {
                drop(fs::remove_dir_all(folder.root()));
            }
        };
        let mut engine = engine::engine(request.engine);
        let attempt = folder.attempts();
        let job = EngineJob { spec: &spec, folder: &folder, options: &request.options, attempt };
        let job_file = engine.file_name();
        let rendered = || {
            let text = render(&*engine, &job, job_file)?;
            let spot_file = spot(&*engine, &job, request)?;
            let checked = engine.check(&folder.job_file(job_file))?;
            Ok((text, spot_file, checked))
        };
        let (text, spot_file, checked) = rendered().inspect_err(|_: &LaunchError| clean())?;
        let plan = spec.digest();
        if request.is_dry {
            clean();
            return Ok(dry(&spec, &text, &checked, &plan));
        }
        let mut remarks = Vec::new();
        if let Checked::Unchecked(why) = &checked {
            remarks.push(format!("note: the job file was not checked: {why}"));
        }
        let followed = Follower {
            machine: Machine::new(request.deadlines, spot_file.is_some(), request.is_kept),
            engine: &mut *engine,
            spec: &spec,
            folder: &folder,
            job_file,
            spot_file: spot_file.as_deref(),
            attempt,
            stop: listen()?,
            show,
        }
        .follow();
        let (summary, exit) = outcome::conclude(&spec, &folder, &followed, plan)?;
        remarks.extend(summary.notes.iter().map(|note| format!("note: {note}")));
        remarks.extend(summary.errors.iter().map(|error| format!("error: {error}")));
        if folder.stall().exists() {
            remarks.push(format!("diagnosis: {}", folder.stall().display()));
        }
        if let Err(error) = outcome::keep_runs(&summary, &folder, data) {
            remarks.push(format!("note: the run was not copied to {}: {error}", data.display()));
        }
        if !summary.ok && !summary.hosts.is_empty() {
            let shared = ask::quoted(&request.shared.display().to_string());
            let name = spec.engine.as_str();
            remarks.push(format!(
                "go on with: launch --engine {name} --shared {shared} --resume {}",
                spec.launch
            ));
        }
        if summary.ok && !request.is_kept {
            // Programs are large, and nothing of them is left to be measured.
            drop(fs::remove_dir_all(folder.bundle()));
        }
        Ok(LaunchAnswer { text: summary.told(&folder), remarks, exit })
    }

    /// The spec and the folder, with the programs in it.
    fn prepare(&self, programs: Option<&Programs>) -> Result<(LaunchSpec, LaunchFolder)> {
        let request = &self.request;
        if let Some(id) = &request.resume {
            return self.take_up(id);
        }
        let programs = programs.ok_or_else(|| LaunchError::Usage("there is no program to launch".into()))?;
        let launch = new_id();
        let folder = LaunchFolder::of(&request.shared, &launch);
        let engine = folder.engine();
        fs::create_dir_all(&engine).map_err(LaunchError::io("make", &engine))?;
        let packed = bundle::pack(programs, &request.with, &folder);
        // A shared folder that is full is not to be left fuller.
        let bundle = packed.inspect_err(|_| drop(fs::remove_dir_all(folder.root())))?;
        let duel = programs.baseline.as_ref().map(|baseline| SpecDuel {
            suite: baseline.suite.clone(),
            name: baseline.name.clone(),
            policy: baseline.policy.clone(),
        });
        let spec = LaunchSpec { launch, duel, bundle, ..request.spec.clone() };
        write_json(&folder.spec(), &spec)?;
        Ok((spec, folder))
    }

    /// The spec of a launch that was broken off: the work is the same, or it is refused.
    fn take_up(&self, id: &str) -> Result<(LaunchSpec, LaunchFolder)> {
        let (request, asked) = (&self.request, &self.request.spec);
        let bad = |why: String| LaunchError::Usage(format!("--resume {id}: {why}"));
        id.parse::<RunId>().map_err(|_| bad("this is no id of a launch".into()))?;
        let folder = LaunchFolder::of(&request.shared, id);
        if !folder.spec().is_file() {
            return Err(bad(format!("there is no such launch below {}", request.shared.display())));
        }
        let stored = LaunchSpec::read(&folder.spec())?;
        if stored.engine != asked.engine {
            return Err(bad(format!("it is of the engine {}", stored.engine)));
        }
        let is_said = (asked.nodes, asked.ranks) != (1, 1);
        if is_said && (stored.nodes, stored.ranks) != (asked.nodes, asked.ranks) {
            return Err(bad(format!("it is of {} ranks on {} hosts", stored.ranks, stored.nodes)));
        }
        let args = &asked.stages[asked.stages.len() - 1].args;
        if !args.is_empty() && stored.stages.iter().all(|stage| stage.args != *args) {
            return Err(bad("its bench arguments are others: leave them out".into()));
        }
        if bundle::digest(&folder.bundle()).ok().as_ref() != Some(&stored.bundle) {
            return Err(bad("its programs are not as they travelled".into()));
        }
        let spec = LaunchSpec { is_resumed: true, ..stored };
        write_json(&folder.spec(), &spec)?;
        Ok((spec, folder))
    }
}

/// The name of a launch, in the order of time.
fn new_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    RunId::new(now.as_secs(), now.subsec_nanos() ^ std::process::id()).to_string()
}

fn render(engine: &dyn Engine, job: &EngineJob<'_>, name: &str) -> Result<String> {
    let text = engine.render(job)?;
    let file = job.folder.job_file(name);
    fs::write(&file, &text).map_err(LaunchError::io("write", &file))?;
    Ok(text)
}

/// The job file for hosts that may be taken away again, where there are such and nobody forbids it.
fn spot(engine: &dyn Engine, job: &EngineJob<'_>, request: &LaunchRequest) -> Result<Option<String>> {
    if !engine.has_spot() || !request.may_fall_back {
        return Ok(None);
    }
    let options = EngineOptions { spot: true, ..request.options.clone() };
    let name = format!("spot-{}", engine.file_name());
    render(engine, &EngineJob { options: &options, ..*job }, &name)?;
    Ok(Some(name))
}

/// The answer of a dry run: the job file, the plan's digest, and the word of the engine's own checker.
fn dry(spec: &LaunchSpec, text: &str, checked: &Checked, plan: &str) -> LaunchAnswer {
    let checked = match checked {
        Checked::Taken { by, said } if said.is_empty() => format!("checked by {by}"),
        Checked::Taken { by, said } => format!("checked by {by}: {said}"),
        Checked::Unchecked(why) => format!("not checked by the engine: {why}"),
    };
    let stages: Vec<String> =
        spec.stages.iter().map(|stage| format!("stage {}: {}\n", stage.name, stage.args.join(" "))).collect();
    let text = format!(
        "{text}\n{}{} ranks on {} hosts, programs {}, plan {plan}\n{checked}; nothing was submitted\n",
        stages.concat(),
        spec.ranks,
        spec.nodes,
        spec.bundle
    );
    LaunchAnswer { text, remarks: Vec::new(), exit: Exit::Fine }
}

/// True once the user or the system wants an end.
fn listen() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&stop);
    ctrlc::set_handler(move || heard.store(true, Ordering::Relaxed))?;
    Ok(stop)
}
