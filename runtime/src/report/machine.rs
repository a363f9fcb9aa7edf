//! The machine in a line: what the figures below it are limited by.

use super::caveats;
use crate::bencher::visible_in_line;
use crate::record::{Environment, RunId};

/// Facts of the machine that limit a run, in the order in which they are said.
const FACTS: &[&str] =
    &["cpu model", "cores", "cpu quota", "memory", "memory limit", "virtualisation", "gpu"];

/// Values that are not worth a word.
const NOTHING: &[&str] = &["none", "no"];

/// `machine m-08cdf6660673: AMD EPYC, 2 physical, 2 logical cores, 24 GiB memory, ...; load 0.31`.
pub fn machine(environment: &Environment) -> String {
    let fact = |name: &&str| {
        let value = environment.machine.get(*name).filter(|value| !NOTHING.contains(&value.as_str()))?;
        Some(if *name == "cpu model" { value.clone() } else { format!("{name} {value}") })
    };
    let facts: Vec<String> = FACTS.iter().filter_map(fact).collect();
    let load =
        environment.moment.get("load average").map_or_else(String::new, |load| format!("; load {load}"));
    let fake = fake_device(environment).map_or_else(String::new, |fake| format!("; {fake}"));
    visible_in_line(&format!("machine {}: {}{load}{fake}", environment.machine_id(), facts.join(", ")))
}

/// The line that the clock is not where it was.
pub fn clock_is_behind(newest: &RunId) -> String {
    format!(
        "by the clock the newest run, {newest}, began later than now: runs are ordered as they are written"
    )
}

/// The sentence that every report of a run on a fake has.
pub fn fake_device(environment: &Environment) -> Option<String> {
    environment.fake_device().map(|name| visible_in_line(&caveats::fake_device(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Backend, DeviceInfo};

    #[test]
    fn limits_of_the_machine_are_said_and_what_does_not_limit_is_not() {
        let map = |facts: &[(&str, &str)]| {
            facts.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let environment = Environment {
            machine: map(&[
                ("cpu model", "Some CPU"),
                ("cores", "2"),
                ("cpu quota", "none"),
                ("memory limit", "4 GiB"),
            ]),
            moment: map(&[("load average", "0.50 0.40 0.30")]),
            ..Environment::default()
        };
        let line = machine(&environment);
        assert!(line.ends_with(": Some CPU, cores 2, memory limit 4 GiB; load 0.50 0.40 0.30"), "{line}");
        let mut fake = environment;
        fake.add_device(&DeviceInfo {
            backend: Backend::Cuda,
            name: "Some GPU (fake)".into(),
            fake: true,
            ..DeviceInfo::default()
        });
        let line = machine(&fake);
        assert!(line.contains("gpu Some GPU (fake); load"), "{line}");
        assert!(line.contains("; FAKE DEVICE: Some GPU (fake) is a fake"), "{line}");
    }
}
