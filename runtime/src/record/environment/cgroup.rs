//! Limits that a container puts on this process: the share of processors it may use, and its memory.
//!
//! A process lives in one folder of each hierarchy; every folder above limits it too, so the least limit
//! holds. The files are described in the kernel's `Documentation/admin-guide/cgroup-v1` and `cgroup-v2.rst`.

use std::path::{Path, PathBuf};

use super::fact::{Fact, read};

/// The number of processors' worth of time this process may use; `None` where nothing limits it.
pub(super) fn cpu_quota(root: &Path) -> Fact<Option<f64>> {
    let quota = |folder: &Path| {
        if let Ok(text) = read(&folder.join("cpu.max")) {
            let (quota, period) = text.split_once(' ')?;
            return Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?);
        }
        let field = |name: &str| read(&folder.join(name)).ok()?.parse::<f64>().ok();
        // -1 is no limit.
        let quota = field("cpu.cfs_quota_us").filter(|quota| *quota > 0.0)?;
        Some(quota / field("cpu.cfs_period_us")?)
    };
    Ok(folders(root, "cpu")?.iter().filter_map(|folder| quota(folder)).min_by(f64::total_cmp))
}

/// The number of bytes of memory this process and its like may use; `None` where nothing limits them.
pub(super) fn memory_limit(root: &Path) -> Fact<Option<u64>> {
    let limit = |folder: &Path| {
        let text = read(&folder.join("memory.max")).or_else(|_| read(&folder.join("memory.limit_in_bytes")));
        text.ok()?.parse::<u64>().ok()
    };
    Ok(folders(root, "memory")?.iter().filter_map(|folder| limit(folder)).min())
}

/// The folders that limit this process in the hierarchies of a controller, from its own up to the root's.
fn folders(root: &Path, controller: &str) -> Fact<Vec<PathBuf>> {
    let text = read(&root.join("proc/self/cgroup"))?;
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((_, rest)) = line.split_once(':') else { continue };
        let Some((controllers, own)) = rest.split_once(':') else { continue };
        let hierarchy = match controllers {
            // Version 2 has one hierarchy for all controllers.
            "" => root.join("sys/fs/cgroup"),
            _ if controllers.split(',').any(|name| name == controller) => {
                root.join("sys/fs/cgroup").join(controller)
            }
            _ => continue,
        };
        // A container sees its own folder as the root, though the path may be told as the host sees it:
        // folders that are not there are read as unlimited.
        let own = Path::new(own.trim_start_matches('/'));
        found.extend(own.ancestors().map(|above| hierarchy.join(above)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::environment::machine::tests::tree;

    #[test]
    fn version_2_limits_are_the_least_on_the_way_up() {
        let root = tree(&[
            ("proc/self/cgroup", "0::/pod/job\n"),
            ("sys/fs/cgroup/pod/job/cpu.max", "max 100000"),
            ("sys/fs/cgroup/pod/cpu.max", "150000 100000"),
            ("sys/fs/cgroup/pod/job/memory.max", "2147483648"),
            ("sys/fs/cgroup/pod/memory.max", "max"),
        ]);
        assert_eq!(cpu_quota(root.path()), Ok(Some(1.5)));
        assert_eq!(memory_limit(root.path()), Ok(Some(2 << 30)));
    }

    #[test]
    fn version_1_limits_are_found_below_their_controllers() {
        let root = tree(&[
            ("proc/self/cgroup", "4:memory:/job\n1:cpu,cpuacct:/\n0::/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824"),
        ]);
        assert_eq!(cpu_quota(root.path()), Ok(Some(4.0)));
        assert_eq!(memory_limit(root.path()), Ok(Some(1 << 30)));
    }

    #[test]
    fn no_limit_is_none_and_no_cgroup_is_a_reason() {
        let root = tree(&[
            ("proc/self/cgroup", "1:cpu:/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
        ]);
        assert_eq!(cpu_quota(root.path()), Ok(None));
        assert_eq!(memory_limit(root.path()), Ok(None));
        assert!(cpu_quota(tree(&[]).path()).unwrap_err().contains("proc/self/cgroup"));
    }
}
