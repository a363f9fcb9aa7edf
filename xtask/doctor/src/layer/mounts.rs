//! The mounts of a layer: an overlay for each folder at the top and each file system below it.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

/// The folders that are the system's own: nothing in them is a file that lasts.
const OF_SYSTEM: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// The kinds of file systems that mean more than their files, and where a layer means nothing.
const PSEUDO: [&str; 12] = [
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "mqueue",
    "tracefs",
    "debugfs",
    "securityfs",
    "bpf",
    "autofs",
];

/// Lays a layer in namespaces of this process's own, with what is written in `scratch`. The folders that can
/// be read and not written then.
///
/// # Errors
/// The reason for which this system lets nobody do so.
pub(super) fn lay(scratch: &Path) -> Result<Vec<PathBuf>, String> {
    let here = std::env::current_dir().map_err(|error| format!("no working folder: {error}"))?;
    enter()?;
    let mounted = mounted_below();
    // Its path leads elsewhere once its folders are covered: an open folder stays what it is.
    let open = File::open(scratch).map_err(|error| format!("the scratch folder: {error}"))?;
    let handle = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    let old = handle.join("old");
    let fail = |what: &'static str| move |error: nix::Error| format!("{what}: {error}");
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(fail("no mounts of its own"))?;
    fs::create_dir_all(&old).map_err(|error| format!("the scratch folder: {error}"))?;
    mount(Some("/"), &old, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(fail("the files cannot be mounted a second time"))?;
    let mut laying = Laying { scratch, handle: &handle, old: &old, count: 0, read_only: Vec::new() };
    laying.children(Path::new("/"))?;
    for (target, kind) in mounted {
        laying.below(&target, &kind)?;
    }
    std::env::set_current_dir(here).map_err(|error| format!("the working folder: {error}"))?;
    Ok(laying.read_only)
}

/// Enters namespaces where this process may mount: as another user only if it has to.
fn enter() -> Result<(), String> {
    let (user, group) = (geteuid(), getegid());
    if unshare(CloneFlags::CLONE_NEWNS).is_ok() {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
        .map_err(|error| format!("no namespace of its own: {error}"))?;
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(|error| format!("{file}: {error}"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))
}

/// The mount points below `/` with their kinds, in the order in which they were mounted.
fn mounted_below() -> Vec<(PathBuf, String)> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let read = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let target = left.split(' ').nth(4)?.replace("\\040", " ");
        Some((PathBuf::from(target), right.split(' ').next()?.to_owned()))
    };
    text.lines().filter_map(read).filter(|(target, _)| target != Path::new("/")).collect()
}

/// A layer that is being laid.
struct Laying<'a> {
    scratch: &'a Path,
    /// The same folder, reached by what is open of it.
    handle: &'a Path,
    /// The place where all files can be reached as they are.
    old: &'a Path,
    count: usize,
    read_only: Vec<PathBuf>,
}

impl Laying<'_> {
    /// Covers each folder in this one.
    fn children(&mut self, folder: &Path) -> Result<(), String> {
        let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            if is_folder && !OF_SYSTEM.iter().any(|own| path == Path::new(own)) && path != self.scratch {
                self.cover(&path)?;
            }
        }
        Ok(())
    }

    /// Covers what is mounted below a folder that is covered, which hides it.
    fn below(&mut self, target: &Path, kind: &str) -> Result<(), String> {
        let is_of_system = OF_SYSTEM.iter().any(|own| target.starts_with(own)) || PSEUDO.contains(&kind);
        if is_of_system || target.starts_with(self.scratch) {
            return Ok(());
        }
        let from = self.old_of(target);
        // Something else may be mounted over it by now.
        match fs::metadata(&from) {
            Ok(found) if found.is_dir() => self.cover(target),
            Ok(_) => bind(&from, target, true),
            Err(_) => Ok(()),
        }
    }

    /// Covers a folder: by an overlay; by itself as it is to be read, where that cannot be.
    fn cover(&mut self, target: &Path) -> Result<(), String> {
        let from = self.old_of(target);
        if !target.exists() {
            return Ok(()); // below a folder whose owner shows it to nobody
        }
        if self.scratch.starts_with(target) {
            // An overlay over the folder that holds what it writes is refused by the system.
            bind(&from, target, true)?;
            self.read_only.push(target.to_owned());
            self.children(target)?;
            return match self.scratch.parent() == Some(target) {
                true => bind(self.handle, self.scratch, false),
                false => Ok(()),
            };
        }
        let is_writable = |path: &Path| {
            !nix::sys::statvfs::statvfs(path)
                .is_ok_and(|found| found.flags().contains(nix::sys::statvfs::FsFlags::ST_RDONLY))
        };
        if is_writable(&from) {
            if self.overlay(&from, target).is_ok() {
                return Ok(());
            }
            self.read_only.push(target.to_owned());
        }
        match bind(&from, target, true) {
            // Somebody has removed the folder meanwhile: the scratch folder of another doctor, say.
            Err(_) if !from.exists() => {
                self.read_only.retain(|folder| folder != target);
                Ok(())
            }
            bound => bound,
        }
    }

    fn overlay(&mut self, from: &Path, target: &Path) -> Result<(), String> {
        self.count += 1;
        let folder = |name: &str| self.handle.join(name).join(self.count.to_string());
        let (upper, work) = (folder("written"), folder("work"));
        for folder in [&upper, &work] {
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        // A new folder's mode would be that of the folder that it covers.
        let _ = fs::metadata(from).and_then(|found| fs::set_permissions(&upper, found.permissions()));
        let escaped = |path: &Path| {
            path.display().to_string().replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
        };
        let options =
            format!("lowerdir={},upperdir={},workdir={}", escaped(from), escaped(&upper), escaped(&work));
        let tried =
            |options: &str| mount(Some("overlay"), target, Some("overlay"), MsFlags::empty(), Some(options));
        tried(&format!("{options},userxattr")).or_else(|_| tried(&options)).map_err(|error| error.to_string())
    }

    fn old_of(&self, path: &Path) -> PathBuf {
        self.old.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// Mounts a file or folder at a second place.
fn bind(from: &Path, target: &Path, is_read_only: bool) -> Result<(), String> {
    let none = None::<&str>;
    let told = |error: nix::Error| format!("{}: {error}", target.display());
    mount(Some(from), target, none, MsFlags::MS_BIND, none).map_err(told)?;
    if !is_read_only {
        return Ok(());
    }
    let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    // A user's namespace may not take away what the mount forbids already.
    let stricter = flags | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(none, target, none, flags, none)
        .or_else(|_| mount(none, target, none, stricter, none))
        .map_err(told)
}
