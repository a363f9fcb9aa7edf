//! Where a run ran: the facts that change timings, and those that help to explain them.
//!
//! One file per kind of fact. A fact that cannot be read is absent with its reason, never guessed.

mod ask;
mod cgroup;
mod device;
mod fact;
mod machine;
mod machine_id;
mod process;
mod software;
mod storage;
mod variables;
mod workspace;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use fact::Facts;
pub use machine_id::{BadMachineId, MachineId};
pub use software::Build;
pub use storage::file_system;
#[cfg(test)]
pub(crate) use variables::is_kept;
use workspace::WorkspaceId;

use crate::process::{OwnFolders, without_secrets};

/// The place where a run ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Facts that change timings: they make the [`MachineId`].
    pub machine: BTreeMap<String, String>,
    /// Facts of the software: kernel, libc, container, rustc, build profile and flags, crate versions,
    /// commit; and the storage.
    pub software: BTreeMap<String, String>,
    /// The start of the process: its priority, limits, cgroup, memory nodes, and the mount of its scratch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub process: BTreeMap<String, String>,
    /// Environment variables that may change what is measured.
    pub variables: BTreeMap<String, String>,
    /// The state of things at the start: the host's name, load, free memory, free storage; the
    /// clock of all samples, its resolution and the cost of a pair of readings; the workspace. Never
    /// compared.
    pub moment: BTreeMap<String, String>,
    /// Facts of any kind that could not be read, and why.
    pub absent: BTreeMap<String, String>,
}

/// A fact that is not the same on two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The name of the fact.
    pub what: String,
    /// Its value here; `None` where it is not set or cannot be read.
    pub here: Option<String>,
    /// Its value on the other side.
    pub there: Option<String>,
}

/// The differences between two environments, kind by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differences {
    /// In the facts that change timings: figures of the two must not be compared.
    pub machine: Vec<Difference>,
    /// In the software.
    pub software: Vec<Difference>,
    /// In how the process was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub process: Vec<Difference>,
    /// In environment variables.
    pub variables: Vec<Difference>,
}

impl Environment {
    /// Reads everything now: a few dozen small files and three short commands, which run meanwhile.
    ///
    /// `data` is the directory whose storage is described (it need not exist yet), `project` the one whose
    /// commit is.
    pub fn capture(data: &Path, project: &Path, build: &Build) -> Self {
        let commands = software::SoftwareCommands::start(project);
        let whose = workspace::WorkspaceCommands::start(project);
        let mut environment = Self::default();
        let Self { machine, software, process, variables, moment, absent } = &mut environment;
        machine::read(Path::new("/"), &mut Facts::new(machine, absent));
        machine::now(&mut Facts::new(moment, absent));
        storage::now(data, &mut Facts::new(moment, absent));
        workspace::read(whose, &mut Facts::new(moment, absent));
        process::read(Path::new("/"), data, &mut Facts::new(process, absent));
        let mut facts = Facts::new(software, absent);
        facts.note("container", machine::container(Path::new("/")));
        storage::read(data, &mut facts);
        software::read(build, commands, &mut facts);
        *variables = variables::relevant(std::env::vars_os());
        environment.hide(&OwnFolders::of(project));
        environment
    }

    /// Writes the user's own folders by their names, and no secret. The workspace is told from others by its
    /// folder, and the facts of the machine are its fingerprint.
    fn hide(&mut self, own: &OwnFolders) {
        let Self { machine: _, software, process, variables, moment, absent } = self;
        let told = [software, process, variables, moment, absent].into_iter().flatten();
        for (_, value) in told.filter(|(what, _)| !workspace::is_of_one(what)) {
            *value = own.hide(&without_secrets(value));
        }
    }

    /// The same, with what the other one knows beside it: no fact that is known here is replaced.
    #[must_use]
    pub(crate) fn with_more(mut self, other: &Self) -> Self {
        let Self { machine, software, moment, .. } = &mut self;
        let kinds = [(machine, &other.machine), (software, &other.software), (moment, &other.moment)];
        for (own, more) in kinds {
            for (what, value) in more {
                own.entry(what.clone()).or_insert_with(|| value.clone());
            }
        }
        self
    }

    /// Adds by how many ranks it is measured, each with its host, and on how many machines: figures of
    /// another number are of something else.
    pub fn add_ranks(&mut self, hosts: &[&str]) {
        let machines: std::collections::BTreeSet<&&str> = hosts.iter().collect();
        let fact = format!("{} on {}", hosts.len(), machines.len());
        self.machine.insert("ranks".to_owned(), fact);
    }

    /// The facts of a workspace alone.
    pub fn of_workspace(folder: &Path) -> Self {
        let mut environment = Self::default();
        let Self { moment, absent, .. } = &mut environment;
        workspace::read(workspace::WorkspaceCommands::start(folder), &mut Facts::new(moment, absent));
        environment
    }

    /// The workspace that it was measured for.
    pub fn workspace(&self) -> WorkspaceId {
        WorkspaceId::among(&self.moment)
    }

    /// Takes out of it what must not be known where a baseline is kept apart from the data directory.
    pub(crate) fn forget_workspace(&mut self, is_committed: bool) {
        WorkspaceId::forget(&mut self.moment, is_committed);
    }

    /// The fingerprint of the facts that change timings.
    pub fn machine_id(&self) -> MachineId {
        MachineId::of(&self.machine)
    }

    /// Differences in how the process was started. What is not known of one is no difference.
    fn process_differences(&self, other: &Self) -> Vec<Difference> {
        let mut found = between(&self.process, &other.process);
        found.retain(|difference| difference.here.is_some() && difference.there.is_some());
        found
    }

    /// Tells how this environment differs from another.
    pub fn differences(&self, other: &Self) -> Differences {
        Differences {
            machine: between(&self.machine, &other.machine),
            software: between(&self.software, &other.software),
            process: self.process_differences(other),
            variables: between(&self.variables, &other.variables),
        }
    }
}

fn between(here: &BTreeMap<String, String>, there: &BTreeMap<String, String>) -> Vec<Difference> {
    let mut names: Vec<String> = here.keys().chain(there.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| here.get(name) != there.get(name));
    let sides = |name: &String| (here.get(name).cloned(), there.get(name).cloned());
    let difference = |what| {
        let (here, there) = sides(&what);
        Difference { what, here, there }
    };
    names.into_iter().map(difference).collect()
}

impl fmt::Display for Difference {
    /// From the other side to this: `governor: powersave -> performance`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "not set".to_owned());
        write!(f, "{}: {} -> {}", self.what, text(&self.there), text(&self.here))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(facts: &[(&str, &str)]) -> BTreeMap<String, String> {
        facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn here() -> Environment {
        let folder = std::env::temp_dir();
        Environment::capture(&folder, &folder, &Build::default())
    }

    #[test]
    fn the_machine_of_two_captures_is_the_same_and_nothing_is_both_known_and_absent() {
        let (a, b) = (here(), here());
        assert_eq!(a.differences(&b), Differences::default());
        assert_eq!(a.machine_id(), b.machine_id());
        for known in [&a.machine, &a.software, &a.process, &a.moment] {
            assert!(known.keys().all(|name| !a.absent.contains_key(name)), "{a:?}");
            assert!(known.values().all(|value| !value.trim().is_empty()), "{a:?}");
        }
        assert!(a.absent.values().all(|why| !why.trim().is_empty()), "{a:?}");
    }

    #[test]
    fn every_fact_that_is_promised_is_either_known_or_absent_with_a_reason() {
        let environment = here();
        let promised = "cpu model, cores, allowed cpus, caches, governor, turbo, virtualisation, container, \
            cpu quota, memory limit, memory, numa nodes, kernel, libc, host, os, rustc, build profile, rust \
            flags, weighbridge, commit, branch, working tree, storage, load average, clock, clock \
            resolution, clock pair, clock source, workspace, origin, priority, limit of stack size, cgroup, \
            processors, memory nodes, personality, mount";
        for name in promised.split(", ") {
            let Environment { machine, software, process, moment, .. } = &environment;
            let known = [machine, software, process, moment];
            let is_known = known.into_iter().any(|facts| facts.contains_key(name));
            assert!(is_known || environment.absent.contains_key(name), "{name}: {environment:?}");
        }
    }

    #[test]
    fn differences_name_the_fact_and_both_values_kind_by_kind() {
        let old = Environment {
            machine: map(&[("memory", "16 GiB"), ("turbo", "on")]),
            variables: map(&[("RUSTFLAGS", "-C target-cpu=native")]),
            ..Environment::default()
        };
        let new = Environment {
            machine: map(&[("memory", "16 GiB"), ("turbo", "off")]),
            software: map(&[("kernel", "6.1")]),
            ..Environment::default()
        };
        let found = new.differences(&old);
        let texts =
            |differences: &[Difference]| differences.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&found.machine), ["turbo: on -> off"]);
        assert_eq!(texts(&found.software), ["kernel: not set -> 6.1"]);
        assert_eq!(texts(&found.variables), ["RUSTFLAGS: -C target-cpu=native -> not set"]);
    }

    #[test]
    fn only_facts_that_change_timings_make_the_machine_id() {
        let machine = map(&[("memory", "16 GiB")]);
        let plain = Environment { machine: machine.clone(), ..Environment::default() };
        let other = Environment {
            machine,
            software: map(&[("kernel", "6.1")]),
            process: map(&[("priority", "nice 19")]),
            variables: map(&[("WEIGHBRIDGE_SLOWDOWN", "2")]),
            moment: map(&[("load average", "9.1")]),
            absent: map(&[("turbo", "unreadable")]),
        };
        assert_eq!(plain.machine_id(), other.machine_id());
    }
}
