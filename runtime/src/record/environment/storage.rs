//! The storage below the data directory: what is read and written there is part of what is measured.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;

use super::fact::{Fact, Facts, gibibytes, read as text};

/// Notes the file system, its device and its size.
pub(super) fn read(data: &Path, facts: &mut Facts<'_>) {
    facts.note("storage", describe(data));
}

/// The file system that holds a folder, as the kernel calls it, and the device or the machine that it is of.
///
/// # Errors
/// Where this system does not say, in words.
pub fn file_system(folder: &Path) -> Result<(String, String), String> {
    let mounts = text(Path::new("/proc/self/mounts"))?;
    let mount = Mount::of(&existing(folder)?, &mounts).ok_or_else(|| nowhere(folder))?;
    Ok((mount.kind, mount.device))
}

/// The mount that holds the data directory, with its options.
pub(super) fn mount(data: &Path) -> Fact {
    let mounts = text(Path::new("/proc/self/mounts"))?;
    let mount = Mount::of(&existing(data)?, &mounts).ok_or_else(|| nowhere(data))?;
    // A disk that was made larger is the same.
    let is_size = |option: &&str| option.starts_with("size=") || option.starts_with("nr_inodes=");
    let options: Vec<&str> = mount.options.split(',').filter(|option| !is_size(option)).collect();
    Ok(format!("{} on {}, {}", mount.kind, mount.device, options.join(",")))
}

fn nowhere(folder: &Path) -> String {
    format!("no mount of /proc/self/mounts holds {}", folder.display())
}

/// Notes how much of it is free.
pub(super) fn now(data: &Path, facts: &mut Facts<'_>) {
    let free = existing(data).and_then(|folder| Ok(sizes(&folder)?.1));
    facts.note("free storage", free.map(gibibytes));
}

fn describe(data: &Path) -> Fact {
    let (kind, device) = file_system(data)?;
    let (total, _) = sizes(&existing(data)?)?;
    let turns = rotational(&device).map_or("", |turns| if turns { ", HDD" } else { ", SSD" });
    Ok(format!("{kind} on {device}{turns}, {}", gibibytes(total)))
}

/// Tells whether the platters of a device turn, where the kernel says.
fn rotational(device: &str) -> Option<bool> {
    let name = Path::new(device).canonicalize().ok()?.file_name()?.to_owned();
    // A partition lies in the folder of its disk, which has the queue.
    let block = Path::new("/sys/class/block").join(name).canonicalize().ok()?;
    let turns = block.ancestors().take(2).find_map(|folder| text(&folder.join("queue/rotational")).ok());
    turns.map(|turns| turns == "1")
}

/// The folder itself, or the nearest above it that is there already, with links followed.
fn existing(folder: &Path) -> Fact<PathBuf> {
    let absolute = std::path::absolute(folder).map_err(|error| error.to_string())?;
    absolute
        .ancestors()
        .find_map(|folder| folder.canonicalize().ok())
        .ok_or_else(|| format!("{} is not there", folder.display()))
}

/// Bytes in all, and those that are free to this user.
fn sizes(folder: &Path) -> Fact<(u64, u64)> {
    let sizes = statvfs(folder).map_err(|error| format!("{} cannot be asked: {error}", folder.display()))?;
    let block = sizes.fragment_size();
    // Counts of blocks are narrower on some systems.
    Ok((sizes.blocks() as u64 * block, sizes.blocks_available() as u64 * block))
}

/// A line of `/proc/self/mounts`.
#[derive(Debug, PartialEq)]
struct Mount {
    device: String,
    point: PathBuf,
    kind: String,
    options: String,
}

impl Mount {
    /// The mount that holds a folder: the deepest one above it, the last where several lie on each other.
    fn of(folder: &Path, mounts: &str) -> Option<Self> {
        let parse = |line: &str| {
            let mut words = line.split(' ').map(unescape);
            Some(Self {
                device: words.next()?,
                point: words.next()?.into(),
                kind: words.next()?,
                options: words.next()?,
            })
        };
        let above = mounts.lines().filter_map(parse).filter(|mount| folder.starts_with(&mount.point));
        above.max_by_key(|mount| mount.point.components().count())
    }
}

/// Space, tab, newline and backslash stand as octal numbers in `/proc/self/mounts`.
fn unescape(word: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.into_iter().fold(word.to_owned(), |word, (code, plain)| word.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "/dev/sda1 / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/sdb /mnt/my\\040disk xfs rw \
        0 0\n\
                          overlay /tmp overlay rw 0 0\n";

    fn kind(folder: &str) -> String {
        Mount::of(Path::new(folder), MOUNTS).unwrap().kind
    }

    #[test]
    fn the_deepest_and_latest_mount_holds_a_folder() {
        assert_eq!(kind("/home/me/target"), "ext4");
        assert_eq!(kind("/tmp/data"), "overlay");
        assert_eq!(kind("/tmpfile"), "ext4");
        assert_eq!(kind("/mnt/my disk/data"), "xfs");
        assert_eq!(Mount::of(Path::new("/x"), ""), None);
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_on_the_storage_of_the_one_above() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("target/weighbridge");
        assert_eq!(existing(&missing), existing(folder.path()));
        assert_eq!(describe(&missing), describe(folder.path()));
    }
}
