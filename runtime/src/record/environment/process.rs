//! How this process was started, and what it may take: its priority, limits, processors, cgroup, memory
//! nodes, and the mount that its scratch lies on. They change figures as variables do, and are of no machine.

use std::path::Path;

use super::fact::{Fact, Facts, read as text};
use super::storage;

/// The limits that change what a body can do or how its memory lies, as the kernel names them.
const LIMITS: [&str; 7] = [
    "Max cpu time",
    "Max data size",
    "Max stack size",
    "Max resident set",
    "Max locked memory",
    "Max open files",
    "Max address space",
];

/// Reads the facts of the process whose `/` is at `root`, and of the storage below the data directory.
pub(super) fn read(root: &Path, data: &Path, facts: &mut Facts<'_>) {
    let own = |name: &str| text(&root.join("proc/self").join(name));
    let stat = own("stat");
    facts.note("priority", stat.and_then(|stat| priority(&stat)));
    let limits = own("limits");
    for name in LIMITS {
        let limit = limits.clone().and_then(|limits| limit(&limits, name));
        facts.note(&name.replace("Max", "limit of"), limit);
    }
    facts.note("cgroup", own("cgroup").map(|text| cgroup(&text)));
    let status = own("status");
    let list = |name| status.clone().and_then(|status| listed(&status, name));
    facts.note("processors", list("Cpus_allowed_list"));
    facts.note("memory nodes", list("Mems_allowed_list"));
    facts.note("personality", own("personality"));
    facts.note("mount", storage::mount(data));
}

/// The nice value, and the class of the scheduler where it is not the usual one.
fn priority(stat: &str) -> Fact {
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or(stat, |(_, rest)| rest).split_ascii_whitespace().collect();
    // Fields 19, 40 and 41 of proc(5); the first one here is its third.
    let field = |at: usize| fields.get(at - 3).copied().ok_or("/proc/self/stat is short".to_owned());
    let (nice, real_time, policy) = (field(19)?, field(40)?, field(41)?);
    let class = ["", "fifo", "rr", "batch", "", "idle", "deadline"];
    let class = policy.parse().ok().and_then(|at: usize| class.get(at).copied()).unwrap_or(policy);
    Ok(match class {
        "" => format!("nice {nice}"),
        "fifo" | "rr" => format!("{class} {real_time}"),
        class => format!("nice {nice}, {class}"),
    })
}

/// The soft limit of a kind: the one that holds.
fn limit(limits: &str, name: &str) -> Fact {
    let line = limits.lines().find_map(|line| line.strip_prefix(name));
    let soft = line.and_then(|rest| rest.split_ascii_whitespace().next());
    soft.map(str::to_owned).ok_or_else(|| format!("/proc/self/limits has no `{name}`"))
}

/// The group of each hierarchy, without the scopes that a terminal or a login makes anew.
fn cgroup(text: &str) -> String {
    let mut groups = Vec::new();
    for line in text.lines() {
        let Some((_, rest)) = line.split_once(':') else { continue };
        let Some((controllers, path)) = rest.split_once(':') else { continue };
        let lasting: Vec<&str> = path.split('/').filter(|part| !is_scope(part)).collect();
        let path = lasting.join("/");
        let path = if path.is_empty() { "/" } else { &path };
        groups.push(if controllers.is_empty() { path.to_owned() } else { format!("{controllers}:{path}") });
    }
    groups.sort_unstable();
    groups.join(", ")
}

/// Tells whether systemd has made this group for a login or a terminal: they come and go.
fn is_scope(part: &str) -> bool {
    part.rsplit_once('.').is_some_and(|(_, kind)| kind == "scope")
}

/// The numbers that a line of `/proc/self/status` lists.
fn listed(status: &str, name: &str) -> Fact {
    let list = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    list.map(|list| list.trim().to_owned()).ok_or_else(|| format!("/proc/self/status has no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_the_nice_value_and_the_class_where_it_is_another() {
        let stat = |nice: i32, real_time: u32, policy: u32| {
            let before = "0 ".repeat(15);
            let between = "0 ".repeat(20);
            format!("7 (a (b) c) S {before}{nice} {between}{real_time} {policy} 0")
        };
        assert_eq!(priority(&stat(19, 0, 0)), Ok("nice 19".to_owned()));
        assert_eq!(priority(&stat(0, 0, 5)), Ok("nice 0, idle".to_owned()));
        assert_eq!(priority(&stat(0, 50, 1)), Ok("fifo 50".to_owned()));
        assert!(priority("7 (a) S 1").is_err());
        assert!(priority(&text(Path::new("/proc/self/stat")).unwrap()).unwrap().starts_with("nice "));
    }

    #[test]
    fn the_limit_that_holds_is_the_soft_one() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax stack size  8388608  unlimited  bytes\n";
        assert_eq!(limit(limits, "Max stack size"), Ok("8388608".to_owned()));
        assert!(limit(limits, "Max open files").is_err());
    }

    #[test]
    fn a_new_terminal_is_no_other_cgroup_and_a_slice_is() {
        let of = |path: &str| cgroup(&format!("0::{path}\n"));
        assert_eq!(of("/user.slice/session-1.scope"), of("/user.slice/session-2.scope"));
        assert_ne!(of("/user.slice/session-1.scope"), of("/batch.slice/session-1.scope"));
        assert_eq!(of("/init.scope"), "/");
        assert_eq!(cgroup("4:memory:/job\n1:cpu,cpuacct:/\n"), "cpu,cpuacct:/, memory:/job");
    }
}
