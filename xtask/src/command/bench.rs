//! The commands as a bench binary: one scenario, one adapter for each command. A child process is told of
//! them likewise.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::process::{Command, ExitCode, Stdio};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use weighbridge::__private::{
    AdapterEntry, Additions, Axes, Contract, Keep, Location, PartialBudget, Point, ScenarioEntry, Suite, add,
    main,
};
use weighbridge::data::without_secrets;
use weighbridge::{Bencher, Direction, Equivalence, Error, Unit};

use super::{CommandFile, Shell, VARIABLE};

/// The contract that all commands are adapters of. Which one it is, the bencher says.
trait CommandProcess {}

struct NamedCommand;

impl CommandProcess for NamedCommand {}

const CONTRACT: Contract = Contract { id: TypeId::of::<dyn CommandProcess>, name: "Process" };

const HERE: Location = Location { module: module_path!(), file: file!(), line: line!() };

/// Runs as a bench binary, or as a child of one, if this process was started as one; `None` in all others.
pub(crate) fn bench() -> Option<ExitCode> {
    let commands = told()?.all;
    let adapter = |command: &Shell| AdapterEntry {
        name: command.name.clone().leak(),
        tier: 1,
        contract: CONTRACT,
        description: without_secrets(&command.line.join(" ")).leak(),
        unequal: None,
        resident: false,
        version: "",
        location: HERE,
        make: || {
            let process: Box<dyn CommandProcess> = Box::new(NamedCommand);
            Ok(Box::new(process))
        },
        probe: None,
    };
    let scenario = ScenarioEntry {
        id: "COMMAND",
        category: "Commands",
        description: "Whole processes, from their start to their end.",
        sets: &[],
        equivalence: Some(Equivalence::None),
        equivalence_by: None,
        contract: Some(CONTRACT),
        location: HERE,
        axes: Axes::NONE,
        keep: Keep::always,
        needs: None,
        describe: None,
        group: None,
        collective: false,
        budget: PartialBudget::NONE,
        run,
    };
    let adapters = commands.iter().map(adapter).collect();
    add(Additions { scenarios: vec![scenario], adapters, alone: true });
    Some(main(Suite {
        target_tmp: None,
        package: "commands",
        version: env!("CARGO_PKG_VERSION"),
        target: "shell",
        directory: ".",
        family: None,
    }))
}

/// The commands, where this process was told of some.
fn told() -> Option<CommandFile> {
    serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()
}

/// Measures the command that the bencher names.
fn run(bencher: &mut Bencher, _: Option<&mut dyn Any>, _: &Point) -> Result<(), Error> {
    let Some(CommandFile { all, ignore_failure, show_output }) = told() else {
        return Err(Error::new("this process was not told of the commands"));
    };
    let command = all.iter().find(|command| Some(&*command.name) == bencher.adapter());
    let command = command.ok_or_else(|| Error::new("no command has this name"))?;
    let failed = RefCell::new(None);
    let start = |line: &[String], may_fail: bool| {
        if failed.borrow().is_some() {
            return;
        }
        let output = || if show_output { Stdio::inherit() } else { Stdio::null() };
        let mut process = Command::new(&line[0]);
        // Commands are not to be told that they run below a harness.
        process.args(&line[1..]).env_remove(VARIABLE).stdin(Stdio::null()).stdout(output()).stderr(output());
        let why = match process.status() {
            Ok(ended) if ended.success() || may_fail => return,
            Ok(ended) => format!("`{}` ended with {ended}: --show-output shows why", line[line.len() - 1]),
            Err(error) => format!("failed to start `{}`: {error}", line[0]),
        };
        failed.replace(Some(without_secrets(&why)));
    };
    let before = used();
    let mut runs = 0.0;
    let prepare = || {
        if let Some(line) = &command.prepare {
            start(line, false);
        }
    };
    bencher.batched(prepare).at_once(1).iter(|()| {
        start(&command.line, ignore_failure);
        runs += 1.0;
    });
    if let Some(why) = failed.take() {
        return Err(Error::new(why));
    }
    // With what was run before them, where there is such.
    let spent = before.zip(used()).filter(|_| command.prepare.is_none() && runs > 0.0);
    if let Some((before, after)) = spent {
        bencher.metric("user_time", (after.0 - before.0) / runs, Unit::SECONDS, Direction::Lower);
        bencher.metric("system_time", (after.1 - before.1) / runs, Unit::SECONDS, Direction::Lower);
    }
    Ok(())
}

/// Seconds that processes which have ended were on a processor: in their own code, and in the kernel's.
fn used() -> Option<(f64, f64)> {
    let used: Usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    Some((seconds(used.user_time()), seconds(used.system_time())))
}
