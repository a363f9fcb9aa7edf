//! Judges what ranks told: pure. A host is named with the others' figures beside it, and what was asked is
//! held against what is there.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::report::{HostFacts, RankReport};
use crate::spec::LaunchSpec;

/// The verdict on a stage, written by rank 0 and read by all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StageVerdict {
    /// True if the next stage may begin.
    pub(crate) goes_on: bool,
    /// Sentences: what is wrong.
    pub(crate) wrong: Vec<String>,
    /// Sentences: what is not as it could be.
    pub(crate) notes: Vec<String>,
}

/// A host that is so much slower than the median of the others is not like them.
const SLOWER: f64 = 1.5;
/// The same of memory's bandwidth, which neighbours disturb more.
const NARROWER: f64 = 2.0;
/// The same of memory and of disks.
const EMPTIER: f64 = 4.0;
/// The least that must be free where ranks write.
const DISK: u64 = 64 << 20;
/// Clocks may be apart by so many seconds: names of runs and stamps of files are of seconds.
const APART: f64 = 2.0;

/// Judges the reports of all ranks, of which those that are missing are `None`.
pub(crate) fn hosts(spec: &LaunchSpec, reports: &[Option<RankReport>]) -> StageVerdict {
    let mut wrong = Vec::new();
    let missing: Vec<String> = (0..)
        .zip(reports)
        .filter(|(_, report)| report.is_none())
        .map(|(rank, _): (u32, _)| rank.to_string())
        .collect();
    if !missing.is_empty() {
        wrong.push(format!("ranks that never came: {}", missing.join(", ")));
    }
    let there: Vec<&RankReport> = reports.iter().flatten().collect();
    wrong.extend(read_back(spec, &there));
    let (mut degraded, mut notes) = (Vec::new(), Vec::new());
    if let Some(refuses) = spec.preflight {
        degraded = unlike(&there);
        notes = other_kinds(&there);
        if let (true, Some(advice)) = (refuses && !degraded.is_empty(), advice(&degraded)) {
            notes.push(advice);
        }
        let told = degraded.iter().map(|(_, told)| told.clone());
        if refuses { wrong.extend(told) } else { notes.extend(told) }
    }
    drop(degraded);
    StageVerdict { goes_on: wrong.is_empty(), wrong, notes }
}

fn advice(degraded: &[(String, String)]) -> Option<String> {
    let hosts: BTreeSet<&str> = degraded.iter().map(|(host, _)| host.as_str()).collect();
    let flags: Vec<String> = hosts.into_iter().map(|host| format!("--exclude {host}")).collect();
    (!flags.is_empty()).then(|| format!("go on without: {}; or as it is: --preflight warn", flags.join(" ")))
}

/// Differences between what was asked and what the ranks have.
fn read_back(spec: &LaunchSpec, there: &[&RankReport]) -> Vec<String> {
    let mut wrong = Vec::new();
    let hosts: BTreeSet<&str> = there.iter().map(|report| report.host.as_str()).collect();
    if there.len() == spec.ranks as usize && hosts.len() != spec.nodes as usize {
        let names: Vec<&str> = hosts.iter().copied().collect();
        wrong.push(format!("{} hosts were asked for, and ranks are on {}", spec.nodes, names.join(", ")));
    }
    for host in &hosts {
        let ranks = there.iter().filter(|report| report.host == *host).count();
        if ranks > spec.ranks_per_node() as usize {
            wrong.push(format!(
                "{host}: {ranks} ranks, and {} for each host were asked for",
                spec.ranks_per_node()
            ));
        }
    }
    for report in there {
        let at = format!("rank {} on {}", report.rank, report.host);
        if report.bundle != spec.bundle {
            wrong.push(format!("{at}: it reads programs {}, and {} travel", report.bundle, spec.bundle));
        }
        for (name, asked) in &spec.env {
            match report.env.get(name) {
                Some(found) if found == asked => {}
                Some(found) => wrong.push(format!("{at}: {name} is `{found}`, and `{asked}` was asked for")),
                None => wrong.push(format!("{at}: {name} is not set, and `{asked}` was asked for")),
            }
        }
        if let (Some(asked), Some(facts)) = (&spec.gpus, &report.facts) {
            let kind = asked.kind.as_deref().unwrap_or_default();
            let found = facts.devices.iter().filter(|name| name.contains(kind)).count();
            if found < asked.count as usize {
                let has = if facts.devices.is_empty() { "none".into() } else { facts.devices.join(", ") };
                wrong.push(format!("{at}: {} devices {kind} were asked for, and it has {has}", asked.count));
            }
        }
    }
    wrong
}

/// Hosts that are not like the others, each with a sentence.
fn unlike(there: &[&RankReport]) -> Vec<(String, String)> {
    let hosts: Vec<(&str, &HostFacts)> =
        there.iter().filter_map(|report| Some((report.host.as_str(), report.facts.as_ref()?))).collect();
    let mut found = Vec::new();
    let mut hold = |what: &str, figure: fn(&HostFacts) -> f64, bad: fn(f64, f64) -> bool| {
        for (at, (host, facts)) in hosts.iter().enumerate() {
            let mut others: Vec<f64> = hosts
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != at)
                .map(|(_, (_, facts))| figure(facts))
                .collect();
            others.sort_by(f64::total_cmp);
            let Some(median) = others.get((others.len().max(1) - 1) / 2) else { continue };
            if bad(figure(facts), *median) {
                let beside: Vec<String> = hosts
                    .iter()
                    .filter(|(other, _)| other != host)
                    .map(|(other, facts)| format!("{other} {}", shown(figure(facts))))
                    .collect();
                let told = format!(
                    "{host}: {what} {}, and the others have {}",
                    shown(figure(facts)),
                    beside.join(", ")
                );
                found.push(((*host).to_owned(), told));
            }
        }
    };
    hold("seconds for the same work", |of| of.yardstick, |own, others| own > others * SLOWER);
    hold("bytes a second from memory to memory", |of| of.bandwidth, |own, others| own * NARROWER < others);
    hold("bytes of memory free", |of| of.memory_available as f64, |own, others| own * EMPTIER < others);
    hold("bytes of disk free", |of| of.disk_free as f64, |own, others| own * EMPTIER < others);
    hold("seconds that its clock is ahead", |of| of.clock_ahead, |own, others| (own - others).abs() > APART);
    for (host, facts) in &hosts {
        if facts.disk_free < DISK {
            let told = format!("{host}: {} bytes are free where ranks write", facts.disk_free);
            found.push(((*host).to_owned(), told));
        }
    }
    found
}

fn shown(figure: f64) -> String {
    if figure.abs() >= 1e5 { format!("{figure:.2e}") } else { format!("{figure:.4}") }
}

/// Kinds of hosts, where there are several: figures over them are of no one machine.
fn other_kinds(there: &[&RankReport]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut kinds = |what: &str, of: fn(&HostFacts) -> String| {
        let all = there.iter().filter_map(|report| Some((of(report.facts.as_ref()?), report.host.as_str())));
        let all: BTreeSet<(String, &str)> = all.collect();
        let different: BTreeSet<&str> = all.iter().map(|(kind, _)| kind.as_str()).collect();
        if different.len() > 1 {
            let told: Vec<String> = all.iter().map(|(kind, host)| format!("{host} {kind}")).collect();
            notes.push(format!("hosts differ in their {what}: {}", told.join(", ")));
        }
    };
    kinds("processors", |of| of.cpu.clone());
    kinds("kernels", |of| of.kernel.clone());
    kinds("devices", |of| of.devices.join(" + "));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::GpuRequest;
    use crate::spec::tests::four;

    type Change<T> = fn(&mut T);

    fn report(rank: u32) -> RankReport {
        RankReport {
            rank,
            local: 0,
            host: format!("node{rank}"),
            processors: 8,
            bundle: four().bundle,
            env: std::collections::BTreeMap::new(),
            facts: Some(HostFacts {
                cpu: "EPYC".into(),
                kernel: "6.1".into(),
                disk_free: 1 << 40,
                memory_available: 1 << 36,
                clock_ahead: 0.01,
                bandwidth: 1e10,
                yardstick: 0.001,
                devices: vec!["NVIDIA A100-SXM4".into()],
            }),
        }
    }

    fn all() -> Vec<Option<RankReport>> {
        (0..4).map(|rank| Some(report(rank))).collect()
    }

    fn with(change: impl Fn(&mut RankReport)) -> StageVerdict {
        let mut reports = all();
        change(reports[2].as_mut().unwrap());
        hosts(&four(), &reports)
    }

    #[test]
    fn hosts_that_are_alike_and_as_asked_go_on() {
        let fine = StageVerdict { goes_on: true, wrong: vec![], notes: vec![] };
        assert_eq!(hosts(&four(), &all()), fine);
    }

    #[test]
    fn a_host_that_is_not_like_the_others_is_named_with_their_figures_and_the_way_on() {
        let changes: [(Change<HostFacts>, &str); 6] = [
            (|facts| facts.yardstick = 0.002, "node2: seconds for the same work 0.0020, and the others have"),
            (|facts| facts.bandwidth = 4e9, "node2: bytes a second from memory to memory 4.00e9"),
            (|facts| facts.memory_available = 1 << 30, "node2: bytes of memory free"),
            (|facts| facts.disk_free = 1 << 30, "node2: bytes of disk free"),
            (|facts| facts.clock_ahead = -240.0, "node2: seconds that its clock is ahead -240.0000"),
            (|facts| facts.disk_free = 0, "node2: 0 bytes are free where ranks write"),
        ];
        for (change, told) in changes {
            let verdict = with(|report| change(report.facts.as_mut().unwrap()));
            assert!(!verdict.goes_on && verdict.wrong.iter().any(|line| line.contains(told)), "{verdict:?}");
            assert!(verdict.wrong.iter().all(|line| line.starts_with("node2: ")), "{verdict:?}");
            assert!(verdict.notes.iter().any(|line| line.contains("--exclude node2")), "{verdict:?}");
        }
        let verdict = with(|report| report.facts.as_mut().unwrap().yardstick = 0.002);
        assert!(verdict.wrong[0].contains("node0 0.0010, node1 0.0010, node3 0.0010"), "{verdict:?}");
        assert!(with(|report| report.facts.as_mut().unwrap().yardstick = 0.0014).goes_on);
    }

    #[test]
    fn who_wants_no_refusal_is_told_and_who_wants_no_look_is_not() {
        let mut reports = all();
        reports[1].as_mut().unwrap().facts.as_mut().unwrap().yardstick = 1.0;
        let warned = hosts(&LaunchSpec { preflight: Some(false), ..four() }, &reports);
        assert!(warned.goes_on && warned.notes.len() == 1 && warned.notes[0].starts_with("node1: "));
        assert_eq!(hosts(&LaunchSpec { preflight: None, ..four() }, &reports).notes, Vec::<String>::new());
    }

    #[test]
    fn what_was_asked_is_held_against_what_the_ranks_have_even_where_no_host_is_looked_at() {
        let spec = LaunchSpec {
            preflight: None,
            env: [("OMP_NUM_THREADS".to_owned(), "4".to_owned())].into(),
            gpus: Some(GpuRequest { kind: Some("A100".into()), count: 1 }),
            ..four()
        };
        let mut reports = all();
        for report in reports.iter_mut().flatten() {
            report.env.insert("OMP_NUM_THREADS".into(), "4".into());
        }
        assert!(hosts(&spec, &reports).goes_on);
        let changes: [(Change<RankReport>, &str); 6] = [
            (|report| drop(report.env.remove("OMP_NUM_THREADS")), "OMP_NUM_THREADS is not set, and `4`"),
            (|report| drop(report.env.insert("OMP_NUM_THREADS".into(), "1".into())), "is `1`, and `4`"),
            (|report| report.bundle = "older".into(), "rank 2 on node2: it reads programs older"),
            (|report| report.host = "node1".into(), "node1: 2 ranks, and 1 for each host"),
            (|report| report.facts.as_mut().unwrap().devices.clear(), "1 devices A100 were asked for"),
            (
                |report| report.facts.as_mut().unwrap().devices = vec!["NVIDIA T4".into()],
                "and it has NVIDIA T4",
            ),
        ];
        for (change, told) in changes {
            let mut changed = reports.clone();
            change(changed[2].as_mut().unwrap());
            let verdict = hosts(&spec, &changed);
            assert!(!verdict.goes_on && verdict.wrong.iter().any(|line| line.contains(told)), "{verdict:?}");
        }
    }

    #[test]
    fn ranks_that_never_came_are_named() {
        let mut reports = all();
        (reports[1], reports[3]) = (None, None);
        let verdict = hosts(&four(), &reports);
        assert_eq!(verdict.wrong, ["ranks that never came: 1, 3"]);
    }

    #[test]
    fn hosts_of_several_kinds_are_a_note() {
        let verdict = with(|report| report.facts.as_mut().unwrap().cpu = "Xeon".into());
        assert!(verdict.goes_on && verdict.notes[0].contains("processors: node0 EPYC"), "{verdict:?}");
    }
}
