//! Disks that are full, and limits on the size of a file: whatever cannot be written is told, and nothing
//! that was is lost.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::draw::StormDraws;
use super::lab::{ARGS, FaultTrial, Lab};
use super::toll::{Harm, Toll};

/// What a data directory needs at most, in KiB: of more, nothing is noticed.
const MOST: usize = 140;
/// The same, in files and folders.
const MOST_FILES: usize = 36;

/// Tries so many disks.
pub(super) fn storm(lab: &Lab, draw: &mut StormDraws, faults: usize) -> Result<Toll> {
    let mut toll = Toll::new("disks");
    let mountable = mountable(&lab.trial("mount")?);
    for number in 0..faults {
        let trial = lab.trial(&format!("disk-{number}"))?;
        let mut harm = Harm::default();
        let fault = match number % 4 {
            0 | 1 => format!("{number}: a disk of {} KiB", 4 + draw.below(MOST)),
            2 => format!("{number}: a disk of {} files", 3 + draw.below(MOST_FILES)),
            _ => format!("{number}: files of {} blocks", draw.below(64)),
        };
        eprintln!("disks: {fault}");
        let size = fault.split(' ').find_map(|word| word.parse::<usize>().ok()).unwrap_or_default();
        match (number % 4, &mountable) {
            (3, _) => limited(lab, &trial, size, &mut harm)?,
            (_, Err(why)) => {
                trial.clear();
                toll.skip(&fault, why);
                continue;
            }
            (2, Ok(())) => full(lab, &trial, &format!("nr_inodes={size}"), &mut |_| {}, &mut harm)?,
            (_, Ok(())) => full(lab, &trial, &format!("size={size}k"), &mut |_| {}, &mut harm)?,
        }
        trial.clear();
        toll.add(&fault, &harm);
    }
    Ok(toll)
}

/// A data directory on a disk with so much room, which then gets more. `look` sees what is stored, both
/// times.
pub(super) fn full(
    lab: &Lab,
    trial: &FaultTrial,
    room: &str,
    look: &mut dyn FnMut(&mut Harm),
    harm: &mut Harm,
) -> Result<()> {
    let data = trial.data();
    mount(&data, room)?;
    let held = broken_off(lab, trial, "\"$0\" \"$@\"", harm);
    // The disk gets more room, as when somebody has cleared it up.
    let resumed = held.and_then(|()| {
        look(harm);
        mount(&data, "remount,size=64m,nr_inodes=10000")?;
        trial.expect_a_resume(lab, harm)?;
        look(harm);
        Ok(())
    });
    trial.expect_nothing_left(harm);
    unmount(&data)?;
    resumed
}

/// A limit on the size of each file, of so many blocks of 512 bytes.
fn limited(lab: &Lab, trial: &FaultTrial, blocks: usize, harm: &mut Harm) -> Result<()> {
    broken_off(lab, trial, &format!("ulimit -f {blocks}; \"$0\" \"$@\""), harm)?;
    trial.expect_a_resume(lab, harm)?;
    trial.expect_nothing_left(harm);
    Ok(())
}

/// A run in which something cannot be written: it says so, and all that can be seen of it is whole.
fn broken_off(lab: &Lab, trial: &FaultTrial, script: &str, harm: &mut Harm) -> Result<()> {
    // What it says goes through a pipe, which no limit is on; and the shell ends as the program did.
    let piped =
        format!("exec 3>&1; code=$( {{ ({script}; echo $? >&4) 2>&1 | cat >&3; }} 4>&1 ); exit $code");
    let ended = trial.finish(&mut lab.through(trial, &piped, ARGS))?;
    trial.expect_an_end(&ended, "the run", harm);
    let is_told = ended.said.contains("failed to") || ended.said.contains("exit=");
    if !is_told && !ended.hung {
        harm.lost.push(format!("the run says neither that it was done nor why not: {}", ended.said));
    }
    trial.expect_whole_records(harm);
    Ok(())
}

/// Whether file systems can be mounted here.
pub(super) fn mountable(trial: &FaultTrial) -> Result<(), String> {
    let data = trial.data();
    mount(&data, "size=4k").and_then(|()| unmount(&data)).map_err(|error| error.to_string())
}

fn mount(at: &Path, room: &str) -> Result<()> {
    run(Command::new("mount").args(["-t", "tmpfs", "-o", room, "tmpfs"]).arg(at))
}

fn unmount(at: &Path) -> Result<()> {
    run(Command::new("umount").arg(at))?;
    fs::create_dir_all(at).context("failed to make a folder")
}

fn run(command: &mut Command) -> Result<()> {
    let ended = command.stdin(Stdio::null()).output().context("there is no `mount`")?;
    if !ended.status.success() {
        bail!("{}", String::from_utf8_lossy(&ended.stderr).trim());
    }
    Ok(())
}
