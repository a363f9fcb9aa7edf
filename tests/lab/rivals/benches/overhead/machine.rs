//! The line that says where figures are from.

use std::fs::read_to_string;
use std::process::Command;

/// Processor, cores, kernel, compiler and load.
pub fn line() -> String {
    let cpus = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cpu = cpu.map_or("an unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?");
    let rustc = Command::new("rustc").arg("--version").output().map(|output| output.stdout);
    let rustc = String::from_utf8(rustc.unwrap_or_default()).unwrap_or_default();
    let rustc = rustc.split(" (").next().unwrap_or_default().trim_end();
    format!("{cpu}, {cores} cores, Linux {}, {rustc}, load {load}", kernel.trim_end())
}
