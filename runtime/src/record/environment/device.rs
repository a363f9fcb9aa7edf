//! Facts of the device that a run was on, where that is not the host.

use super::Environment;
use crate::device::{Backend, DeviceInfo};

/// The fact that names a device that is none.
const FAKE: &str = "gpu fake";

/// The way in which a device is set up, whoever runs on it: what it may draw, whether its memory corrects
/// errors, whether its driver stays loaded.
const SETTINGS: [&str; 3] = ["power limit", "ecc", "persistence"];

impl Environment {
    /// Adds the facts of a device: what changes timings to those of the machine, the driver to the software,
    /// and the rest to the moment. A run on the host's processors stays what it is.
    pub fn add_device(&mut self, info: &DeviceInfo) {
        if info.backend == Backend::Cpu {
            return;
        }
        let mut machine = |name: &str, value: Option<String>| {
            self.machine.extend(value.map(|value| (name.to_owned(), value)));
        };
        machine("gpu", Some(info.name.clone()));
        machine("gpu architecture", info.architecture.clone());
        machine("gpu processors", info.processors.map(|count| count.to_string()));
        machine("gpu memory", info.memory.map(|bytes| format!("{} GiB", bytes >> 30)));
        machine("gpu partitioned", info.partitioned.filter(|part| *part).map(|_| "yes".to_owned()));
        machine("gpu served", info.served.then(|| "yes (MPS)".to_owned()));
        machine(FAKE, info.fake.then(|| info.name.clone()));
        self.software.extend(info.driver.clone().map(|driver| ("gpu driver".to_owned(), driver)));
        self.moment.extend(info.uuid.clone().map(|uuid| ("gpu uuid".to_owned(), uuid)));
        for (name, value) in &info.facts {
            let facts =
                if SETTINGS.contains(&name.as_str()) { &mut self.machine } else { &mut self.software };
            facts.insert(format!("gpu {name}"), value.clone());
        }
    }

    /// The device, where it is a fake: figures of it are never judged by.
    pub fn fake_device(&self) -> Option<&str> {
        self.machine.get(FAKE).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_part_of_the_machine_and_the_host_adds_nothing() {
        let mut environment = Environment::default();
        environment.add_device(&DeviceInfo::default());
        assert_eq!(environment, Environment::default());
        let info = DeviceInfo {
            backend: Backend::Cuda,
            name: "NVIDIA H200".to_owned(),
            driver: Some("13.0".to_owned()),
            uuid: Some("GPU-1".to_owned()),
            ..DeviceInfo::default()
        };
        environment.add_device(&info);
        assert_eq!(environment.machine["gpu"], "NVIDIA H200");
        assert_eq!(environment.software["gpu driver"], "13.0");
        assert_eq!(environment.fake_device(), None);
        let facts = ["power limit", "ecc", "persistence", "driver version"];
        let facts = facts.map(|name| (name.to_owned(), "set".to_owned())).into();
        let unset = environment.machine_id();
        environment.add_device(&DeviceInfo { facts, ..info.clone() });
        assert_ne!(environment.machine_id(), unset, "another power limit is another machine");
        assert_eq!(environment.software["gpu driver version"], "set");
        assert!(!environment.machine.contains_key("gpu driver version"));
        let here = environment.machine_id();
        environment.add_device(&DeviceInfo { name: "NVIDIA H100 (fake)".to_owned(), fake: true, ..info });
        assert_eq!(environment.fake_device(), Some("NVIDIA H100 (fake)"));
        assert_ne!(environment.machine_id(), here);
    }
}
