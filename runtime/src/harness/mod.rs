//! Composes the stages: from the command line to an exit code. Start at `bench.rs`, the flow in one screen.

mod args;
mod bench;
mod call;
mod called_targets;
mod caller;
mod context;
mod duel;
mod duel_plan;
mod error;
mod exit_code;
mod flag;
mod flag_values;
mod flags;
mod following;
mod help;
mod judge;
mod known_times;
mod leading;
mod list;
mod local_ranks;
mod outputs;
mod parse;
mod python;
mod rank_facts;
mod request;
mod resume;
mod runner;
mod session;
mod siblings;
mod smoke;
mod stated_budgets;
mod style;
mod suite;
mod suite_file;
mod targets;
mod time_limit;
mod traces;
mod usage;
mod wait;

pub use exit_code::Exit;
pub use judge::{DuelOrder, DuelProgram, RelinkPrograms, Unjudged, judge_duel};
pub use runner::{Runner, RunnerEnd};
pub use style::{Find, FindRequest, FoundBenches};
pub use suite::{Suite, target_of_program};

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use args::BenchArgs;
use caller::Caller;
use context::Context;
use error::TargetError;
use request::{HarnessMode, request};
use style::Styled;

use nix::sys::signal::{SigSet, Signal};

use crate::metric::{DEVICE_METRICS, METRICS};
use crate::plan::{self, Isolation, Plan, Request};
use crate::process::reaper;
use crate::ranks::{self, RankSeat};
use crate::registry::Registry;
use crate::report::Terminal;
use crate::run::{CHILD_FLAG, DUEL_FLAG, serve};
use crate::store::{self, Layout, Runs};

/// The whole of a bench binary: `weighbridge::main!()` calls it.
pub fn main(suite: Suite) -> ExitCode {
    ExitCode::from(code(suite, None))
}

/// The same, as the number that the shell sees, of a program whose benches are found once the command line is
/// known.
pub fn code(suite: Suite, find: Option<Find>) -> u8 {
    if env::args_os().nth(1).is_some_and(|arg| arg == CHILD_FLAG) {
        return serve();
    }
    if reaper::serve() {
        return 0;
    }
    // A file that grows past the limit of this process is an error of the write, with a name, and not its
    // end.
    let mut too_large = SigSet::empty();
    too_large.add(Signal::SIGXFSZ);
    let _ = too_large.thread_block();
    let exit = start(&suite, find).unwrap_or_else(|error| {
        Terminal::detect(None, false).error(&format!("error: {error}"));
        error.exit()
    });
    let exit = if Terminal::failed_to_write() { exit.or(Exit::Unexpected) } else { exit };
    exit.code()
}

fn start(suite: &Suite, find: Option<Find>) -> Result<Exit, TargetError> {
    let tells = env::args_os().nth(1).is_some_and(|arg| arg == DUEL_FLAG);
    let line = env::args_os().skip(if tells { 2 } else { 1 });
    let args = BenchArgs::parse(line.collect(), &|name| env::var(name).ok())?;
    let cargo = Caller::of_this_process();
    let args = match cargo.as_ref().and_then(Caller::folder) {
        Some(folder) => args.below(&folder),
        None => args,
    };
    let package = cargo.and_then(|_| env::var_os("CARGO_MANIFEST_DIR"));
    let suite = &package.map_or(Ok(*suite), |package| suite.run_for(Path::new(&package)))?;
    let terminal = Terminal::detect(args.color, args.quiet);
    if args.help {
        terminal.answer(&help::help());
        return Ok(Exit::Fine);
    }
    if args.version {
        terminal.answer(&format!("weighbridge {}\n", env!("CARGO_PKG_VERSION")));
        return Ok(Exit::Fine);
    }
    if args.list_metrics {
        terminal.answer(&list::metrics(METRICS.iter().chain(DEVICE_METRICS)));
        return Ok(Exit::Fine);
    }
    if args.ignored {
        return Ok(Exit::Fine); // nothing is ignored, so there is nothing to list and nothing to run
    }
    let mode = match &args {
        BenchArgs { list: true, .. } => HarnessMode::List,
        BenchArgs { profile_time: Some(_), .. } => HarnessMode::Profile,
        BenchArgs { bench: true, test: false, .. } => HarnessMode::Bench,
        _ => HarnessMode::Smoke,
    };
    let seat = match mode {
        HarnessMode::Bench if !tells => seat(&args)?,
        _ => None,
    };
    let styled = Styled::register(
        find,
        &FindRequest {
            folder: Layout::new(suite.data(args.data.as_deref())).found(),
            directory: Path::new(suite.directory),
            filtered: !args.filters.is_empty(),
        },
    )?;
    let registry = Registry::collect()?;
    let registry = match suite.family {
        Some(family) => registry.of_crate(family),
        None => registry,
    };
    let args = match &args.resume {
        Some(run) => resume::args(suite, &args, run, seat.as_ref())?,
        None => args,
    };
    python::settle(args.python.as_deref())?;
    let chosen = suite_file::read(&args)?;
    let args = suite_file::args(args, chosen.as_ref());
    let settings = settings(suite)?;
    let stated = settings.as_ref().map(|(file, text)| (file.as_str(), text.as_str()));
    let request = |args: &BenchArgs, mode| -> Result<Request, TargetError> {
        Ok(Request { expressions: styled.expressions, ..request(args, mode, stated)? })
    };
    let asked = request(&args, mode)?;
    // A process cannot safely change its own environment, which is where scenarios look for the folders.
    for (name, typed) in args.for_children() {
        let set = env::var(name).ok().filter(|value| !value.is_empty());
        if asked.together.isolation == Isolation::None && typed != set.as_ref() {
            let flag = name.trim_start_matches("WEIGHBRIDGE_").to_lowercase().replace('_', "-");
            let why = format!("--{flag} reaches child processes alone: without them set {name} instead");
            return Err(usage::UsageError(why).into());
        }
    }
    let planned = |request: &Request| -> Result<Plan, TargetError> {
        let Some((file, chosen)) = &chosen else { return Ok(plan::build(&registry, request)?) };
        let requests = chosen.requests(file, &registry, request)?;
        let mut plan = plan::build_all(&registry, request, &requests)?;
        plan.notes.insert(0, chosen.expansion(requests.len(), &plan));
        Ok(plan)
    };
    let plan = planned(&asked)?;
    let listed = match tells {
        true => Some(planned(&request(&duel_plan::listing(&args), HarnessMode::List)?)?),
        false => None,
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    // Of several ranks one speaks.
    let terminal =
        Terminal { quiet: args.quiet || seat.as_ref().is_some_and(|seat| seat.rank > 0), ..terminal };
    let context = Context { suite, args, terminal, settings, styled, seat, interrupted: interrupted.clone() };
    if let Some(listed) = listed {
        terminal.answer(&duel_plan::told(&context, &plan, &listed)?);
        return Ok(Exit::Fine);
    }
    if mode == HarnessMode::List {
        terminal.answer(&list::list(&registry, &plan, context.args.format));
        return Ok(Exit::Fine);
    }
    if let Some(said) = siblings::refused_elsewhere(&context) {
        context.terminal.remark(&said);
    }
    if let Some(said) = siblings::passed_over(&context, &registry, &plan, mode)? {
        context.terminal.remark(&said);
        return Ok(Exit::Fine);
    }
    for note in &context.styled.notes {
        context.terminal.remark(note);
    }
    // The first Ctrl-C ends the run in order; a second one, in a body that nobody can stop, ends it at once.
    ctrlc::set_handler(move || {
        if interrupted.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted.code().into());
        }
    })?;
    let local = context.args.ranks.filter(|ranks| *ranks > 1 && context.seat.is_none());
    match mode {
        HarnessMode::Bench if let Some(ranks) = local.filter(|_| !context.args.dry_run) => {
            leading::check(&context, &plan)?;
            session::check(&context, &plan)?;
            local_ranks::run(&context, ranks as usize)
        }
        HarnessMode::Bench if let Some(seat) = context.seat.as_ref().filter(|seat| seat.rank > 0) => {
            following::take_part(&context, seat, &plan)
        }
        HarnessMode::Bench if context.args.is_duel() => {
            let why =
                "note: pages and exports are of a stored run, and a duel stores none: nothing is written";
            context.terminal.remark(if context.args.outputs.is_wanted() { why } else { "" });
            duel::duel(&context, &registry, &plan)
        }
        HarnessMode::Bench => {
            let data = context.suite.data(context.args.data.as_deref());
            let plan = known_times::with_times(plan, &Runs::new(Layout::new(data)), &context.suite.name());
            bench::bench(&context, &registry, &plan)
        }
        HarnessMode::Smoke => smoke::smoke(&context, &plan),
        HarnessMode::Profile => smoke::profile(&context, &plan),
        HarnessMode::List => unreachable!("answered above"),
    }
}

/// The place of this process among ranks, where a launcher has started several.
fn seat(args: &BenchArgs) -> Result<Option<RankSeat>, TargetError> {
    let seat = ranks::detect(&|name| env::var(name).ok())?;
    let Some(seat) = seat else { return Ok(None) };
    if let Some(typed) = args.ranks.filter(|typed| *typed != seat.ranks as u64) {
        let why = format!(
            "--ranks {typed} starts so many on this machine, and {} has started {} already: leave it out",
            seat.launcher, seat.ranks
        );
        return Err(usage::UsageError(why).into());
    }
    #[cfg(target_os = "linux")]
    if seat.is_local() {
        // Whoever has started all ranks ends them; if it is killed, nobody else does.
        let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGINT);
    }
    Ok(Some(seat))
}

/// The workspace's settings file, its name and its text, if there is one.
fn settings(suite: &Suite) -> Result<Option<(String, String)>, TargetError> {
    let file = suite.workspace().join(".config").join("weighbridge.toml");
    let name = file.display().to_string();
    match store::read_text(&file) {
        Ok(text) => Ok(Some((name, text))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(TargetError::Settings { file: name, source }),
    }
}
