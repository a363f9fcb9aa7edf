//! A rank tells of itself and of its host: what the launch is held against before anything is measured.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime};

use nix::sys::statvfs::{Statvfs, statvfs};
use nix::unistd::gethostname;
use serde::{Deserialize, Serialize};

use super::rank::LaunchRank;
use crate::bundle;
use crate::folder::LaunchFolder;
use crate::spec::LaunchSpec;

/// Facts of one rank, as it found them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankReport {
    pub(crate) rank: u32,
    pub(crate) local: u32,
    pub(crate) host: String,
    /// The processors that it may run on.
    pub(crate) processors: usize,
    /// The digest of what lies in the bundle, as this host reads it.
    pub(crate) bundle: String,
    /// The variables that were asked for, as this process has them.
    pub(crate) env: BTreeMap<String, String>,
    /// The facts of the host, by its first rank.
    pub(crate) facts: Option<HostFacts>,
}

/// Facts of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostFacts {
    pub(crate) cpu: String,
    pub(crate) kernel: String,
    /// Bytes that are free where the ranks write.
    pub(crate) disk_free: u64,
    /// Bytes that a process can have.
    pub(crate) memory_available: u64,
    /// Seconds by which its clock is ahead of the one that stamps the shared folder's files.
    pub(crate) clock_ahead: f64,
    /// Bytes a second, copied from memory to memory: the best of several tries.
    pub(crate) bandwidth: f64,
    /// Seconds of a fixed piece of work: the least of several tries.
    pub(crate) yardstick: f64,
    pub(crate) devices: Vec<String>,
}

/// Looks at this process, and at its host if it is the first there.
pub(crate) fn look(spec: &LaunchSpec, rank: LaunchRank, folder: &LaunchFolder) -> RankReport {
    let asked = spec.env.keys().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
    RankReport {
        rank: rank.rank,
        local: rank.local,
        host: host(),
        processors: std::thread::available_parallelism().map_or(0, usize::from),
        bundle: bundle::digest(&folder.bundle()).unwrap_or_else(|error| error.to_string()),
        env: asked.collect(),
        facts: (rank.local == 0).then(|| facts(folder.root(), rank.rank)),
    }
}

/// The name of this host.
pub(crate) fn host() -> String {
    gethostname().map_or_else(|_| "?".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn facts(shared: &Path, rank: u32) -> HostFacts {
    HostFacts {
        cpu: line_of("/proc/cpuinfo", "model name").unwrap_or_default(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        disk_free: disk_free(shared),
        memory_available: memory_available(),
        clock_ahead: clock_ahead(shared, rank).unwrap_or(0.0),
        bandwidth: bandwidth(),
        yardstick: yardstick(),
        devices: devices(),
    }
}

/// In floats, since the two numbers are of other widths on other systems.
fn disk_free(folder: &Path) -> u64 {
    let free = |disk: Statvfs| disk.blocks_available() as f64 * disk.fragment_size() as f64;
    statvfs(folder).map_or(0, |disk| free(disk) as u64)
}

/// The value of the first line of a file of `key : value` with this key.
fn line_of(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn memory_available() -> u64 {
    let told = line_of("/proc/meminfo", "MemAvailable");
    told.and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

/// The server of the shared folder stamps a file with its own clock, and this host knows when it wrote.
fn clock_ahead(shared: &Path, rank: u32) -> Option<f64> {
    let path = shared.join(format!(".clock-{rank}"));
    let mut file = File::create(&path).ok()?;
    file.write_all(b"x").ok()?;
    file.sync_all().ok()?;
    let now = SystemTime::now();
    let stamped = file.metadata().ok()?.modified().ok()?;
    drop(fs::remove_file(&path));
    Some(match now.duration_since(stamped) {
        Ok(ahead) => ahead.as_secs_f64(),
        Err(behind) => -behind.duration().as_secs_f64(),
    })
}

/// The tries of each small figure: among so many one is undisturbed, whatever else the host does.
const TRIES: usize = 24;

fn bandwidth() -> f64 {
    let from = vec![1_u8; 16 << 20];
    let mut to = vec![0_u8; from.len()];
    let seconds = least(|| black_box(&mut to).copy_from_slice(black_box(&from)));
    from.len() as f64 / seconds
}

fn yardstick() -> f64 {
    least(|| {
        let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
        for _ in 0..400_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        black_box(state);
    })
}

fn least(mut body: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..TRIES {
        let begun = Instant::now();
        body();
        least = least.min(begun.elapsed().as_secs_f64());
    }
    least
}

/// The devices that NVIDIA's tool lists; none where there is no such tool.
fn devices() -> Vec<String> {
    let mut tool = Command::new("nvidia-smi");
    tool.args(["--query-gpu=name", "--format=csv,noheader"]).stdin(Stdio::null()).stderr(Stdio::null());
    let listed = tool.output().ok().filter(|listed| listed.status.success());
    let text = listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
