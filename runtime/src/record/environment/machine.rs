//! Facts that change timings: processor, caches, clock policy, virtualisation, limits, memory.
//!
//! Nothing here may change from one run to the next on an unchanged machine, or every run would be on a new
//! one: free memory, frequencies and the kernel's version are kept elsewhere.

use std::fs;
use std::path::Path;

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::cgroup;
use super::fact::{Fact, Facts, gibibytes, read as text};
use crate::device::Clock;

/// The folder in which the kernel describes the processors.
const CPUS: &str = "sys/devices/system/cpu";

/// Reads the facts of the machine whose `/` is at `root`.
pub(super) fn read(root: &Path, facts: &mut Facts<'_>) {
    let cpuinfo = text(&root.join("proc/cpuinfo"));
    let cpuinfo = cpuinfo.as_deref().map_err(Clone::clone);
    let cpus = root.join(CPUS);
    facts.note("architecture", Ok(std::env::consts::ARCH));
    facts.note("cpu model", cpuinfo.clone().and_then(cpu_model));
    facts.note("cores", cores(cpuinfo.clone()));
    facts.note("allowed cpus", allowed_cpus(root));
    facts.note("caches", caches(&cpus.join("cpu0/cache")));
    facts.note("governor", governors(&cpus));
    facts.note("turbo", turbo(&cpus));
    facts.note("smt", text(&cpus.join("smt/active")).map(|active| on_off(active == "1")));
    facts.note("virtualisation", cpuinfo.map(|cpuinfo| virtualisation(root, cpuinfo)));
    let quota = cgroup::cpu_quota(root);
    facts.note("cpu quota", quota.map(|quota| quota.map_or("none".into(), |cpus| format!("{cpus} cpus"))));
    let total = memory();
    // A limit above what there is limits nothing (version 1 says "no limit" with a huge number).
    let limit = cgroup::memory_limit(root).map(|limit| limit.filter(|limit| Ok(*limit) < total));
    facts.note("memory limit", limit.map(|limit| limit.map_or("none".into(), gibibytes)));
    facts.note("memory", total.map(gibibytes));
    facts.note("numa nodes", numa_nodes(root));
}

/// Notes the state of the machine now: the host's name, load, free memory, the clock.
pub(super) fn now(facts: &mut Facts<'_>) {
    let load =
        System::load_average().map(|load| format!("{:.2} {:.2} {:.2}", load.one, load.five, load.fifteen));
    facts.note("host", System::host_name().map_err(|error| error.to_string()));
    facts.note("load average", load.map_err(|error| error.to_string()));
    facts.note("free memory", system().map(|system| gibibytes(system.available_memory())));
    let clock = Clock::monotonic();
    facts.note("clock", Ok(clock.name()));
    facts.note("clock resolution", Ok(format!("{} ns", clock.resolution().as_nanos())));
    facts.note("clock pair", Ok(format!("{} ns", clock.pair().as_nanos())));
    facts.note(
        "clock source",
        text(Path::new("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
    );
}

fn system() -> Fact<System> {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    System::new_with_specifics(memory).map_err(|error| error.to_string())
}

fn memory() -> Fact<u64> {
    system().map(|system| system.total_memory())
}

/// The model's name; on Arm, where the kernel gives none, the numbers of implementer, part and revision.
fn cpu_model(cpuinfo: &str) -> Fact {
    if let Some(name) = field(cpuinfo, "model name").or_else(|| field(cpuinfo, "cpu model")) {
        return Ok(name.to_owned());
    }
    let parts = ["CPU implementer", "CPU part", "CPU variant", "CPU revision"];
    let found: Vec<&str> = parts.iter().filter_map(|part| field(cpuinfo, part)).collect();
    if found.is_empty() { Err("/proc/cpuinfo names no model".into()) } else { Ok(found.join(" ")) }
}

fn cores(cpuinfo: Fact<&str>) -> Fact {
    let logical = cpuinfo?.lines().filter(|line| line.starts_with("processor")).count();
    let physical = System::physical_core_count().map_err(|error| error.to_string())?;
    Ok(format!("{physical} physical, {logical} logical"))
}

/// The number of processors the scheduler may put this process on (`taskset`, cpusets).
fn allowed_cpus(root: &Path) -> Fact<usize> {
    let status = text(&root.join("proc/self/status"))?;
    let list = field(&status, "Cpus_allowed_list").ok_or("/proc/self/status has no Cpus_allowed_list")?;
    count_list(list).ok_or_else(|| format!("`{list}` is no list of processors"))
}

/// The number of numbers a list such as `0-3,8` holds.
fn count_list(list: &str) -> Option<usize> {
    let mut count = 0;
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        count += last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1;
    }
    Some(count)
}

/// The caches that the first processor sees: `L1 Data 32K, L2 Unified 1024K`.
fn caches(folder: &Path) -> Fact {
    let entries =
        fs::read_dir(folder).map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    let describe = |index: &Path| {
        let part = |name: &str| text(&index.join(name)).ok();
        Some(format!("L{} {} {}", part("level")?, part("type")?, part("size")?))
    };
    Ok(sorted(entries.flatten().filter_map(|entry| describe(&entry.path())).collect()))
}

/// The policies that set the clock, each once.
fn governors(cpus: &Path) -> Fact {
    let policies = fs::read_dir(cpus.join("cpufreq")).map_err(|_| "the kernel sets no clock here")?;
    let found: Vec<String> =
        policies.flatten().filter_map(|policy| text(&policy.path().join("scaling_governor")).ok()).collect();
    if found.is_empty() {
        return Err("the kernel sets no clock here".into());
    }
    Ok(sorted(found))
}

/// Each once, in order: the order of a directory is none.
fn sorted(mut found: Vec<String>) -> String {
    found.sort_unstable();
    found.dedup();
    found.join(", ")
}

/// Tells whether processors may run above their nominal clock.
fn turbo(cpus: &Path) -> Fact<&'static str> {
    let intel = text(&cpus.join("intel_pstate/no_turbo")).map(|off| on_off(off != "1"));
    let other = || text(&cpus.join("cpufreq/boost")).map(|on| on_off(on == "1"));
    intel.or_else(|_| other()).map_err(|_| "the kernel does not say".into())
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The hypervisor below, by the processor's flag and the names that the firmware gives.
fn virtualisation(root: &Path, cpuinfo: &str) -> String {
    let firmware = |name: &str| text(&root.join("sys/class/dmi/id").join(name)).ok();
    let product: Vec<String> = ["sys_vendor", "product_name"].into_iter().filter_map(firmware).collect();
    let flags = field(cpuinfo, "flags").unwrap_or_default();
    let names = ["KVM", "QEMU", "VMware", "VirtualBox", "Virtual Machine", "Xen", "HVM", "Compute Engine"];
    let known = names.iter().any(|name| product.iter().any(|product| product.contains(name)));
    match flags.split(' ').any(|flag| flag == "hypervisor") || known {
        false => "none".into(),
        true if product.is_empty() => "hypervisor".into(),
        true => format!("hypervisor ({})", product.join(" ")),
    }
}

/// The kind of container around this process, by the marks that container programs leave. Anybody may remove
/// such a mark, and none changes a timing by itself (the limits of a container do, and are told): it is no
/// fact of the machine.
pub(super) fn container(root: &Path) -> Fact<&'static str> {
    let marks = [(".dockerenv", "docker"), ("run/.containerenv", "podman")];
    if let Some((_, name)) = marks.into_iter().find(|(mark, _)| root.join(mark).exists()) {
        return Ok(name);
    }
    let groups = text(&root.join("proc/1/cgroup"))?;
    let names = ["docker", "kubepods", "containerd", "podman", "lxc"];
    Ok(names.into_iter().find(|name| groups.contains(name)).unwrap_or("none"))
}

fn numa_nodes(root: &Path) -> Fact<usize> {
    let nodes = text(&root.join("sys/devices/system/node/online"))?;
    count_list(&nodes).ok_or_else(|| format!("`{nodes}` is no list of nodes"))
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim()).filter(|value| !value.is_empty())
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A folder that looks like `/` with these files.
    pub(in super::super) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        root
    }

    fn facts(root: &Path) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        let (mut known, mut absent) = (BTreeMap::new(), BTreeMap::new());
        read(root, &mut Facts::new(&mut known, &mut absent));
        (known, absent)
    }

    #[test]
    fn a_mark_that_anybody_can_remove_is_no_fact_of_the_machine() {
        let files = [("proc/cpuinfo", "processor\t: 0\nmodel name\t: Example 9000\n"), (".dockerenv", "")];
        let (with, without) = (tree(&files), tree(&files[..1]));
        assert_eq!(facts(with.path()).0, facts(without.path()).0);
        assert_eq!(container(with.path()), Ok("docker"));
    }

    #[test]
    fn a_machine_is_read_off_the_kernels_files() {
        let root = tree(&[
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Example 9000\nflags\t\t: fpu hypervisor sse\n"),
            ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3,8\n"),
            ("proc/1/cgroup", "0::/kubepods/pod1\n"),
            ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
            ("sys/devices/system/node/online", "0-1\n"),
        ]);
        let (known, absent) = facts(root.path());
        for (name, value) in [
            ("cpu model", "Example 9000"),
            ("allowed cpus", "5"),
            ("caches", "L1 Data 32K"),
            ("governor", "performance"),
            ("turbo", "off"),
            ("virtualisation", "hypervisor (QEMU)"),
            ("numa nodes", "2"),
        ] {
            assert_eq!(known.get(name).map(String::as_str), Some(value), "{name}");
        }
        assert!(absent.contains_key("cpu quota"), "{absent:?}");
    }

    #[test]
    fn a_machine_that_says_nothing_has_reasons_and_no_values() {
        let (known, absent) = facts(tree(&[]).path());
        assert!(!known.contains_key("cpu model") && !known.contains_key("governor"));
        for name in ["cpu model", "cores", "allowed cpus", "caches", "governor", "turbo"] {
            assert!(!absent[name].is_empty(), "{name}");
        }
    }

    #[test]
    fn an_arm_processor_is_named_by_its_numbers() {
        let model = cpu_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
        assert_eq!(model, Ok("0x41 0xd0c".into()));
    }

    #[test]
    fn lists_of_processors_are_counted() {
        let lists = [("0", Some(1)), ("0-3,8", Some(5)), ("", None), ("3-1", None), ("a", None)];
        for (list, count) in lists {
            assert_eq!(count_list(list), count, "{list}");
        }
    }
}
