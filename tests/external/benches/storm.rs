//! Bodies that `cargo lab storm` breaks off: each says that it ran, and holds something that must not be left
//! behind.

#![forbid(unsafe_code)]

use std::env;
use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::process::{Command, Stdio};

use weighbridge::prelude::*;

/// Adds the case to the file that `STORM_LOG` names: one line each time that a body is executed.
fn note(case: &str) {
    let Some(path) = env::var_os("STORM_LOG") else { return };
    let mut log = OpenOptions::new().append(true).create(true).open(path).expect("the log can be opened");
    log.write_all(format!("{case}\n").as_bytes()).expect("the log can be written");
}

/// A process that ends long after everything else has.
fn sleeper(through: &[&str]) -> Command {
    let mut words = [through, &["sleep", "991"]].concat().into_iter();
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Numbers, and nothing else.
#[scenario(id = "PLAIN-1")]
fn plain(bencher: &mut Bencher, #[sweep(short = 100, long = 10_000)] len: usize) {
    note(if len == 100 { "plain_1@short" } else { "plain_1@long" });
    let numbers: Vec<usize> = (0..len).collect();
    bencher.iter(|| black_box(&numbers).iter().sum::<usize>());
}

/// A file in the scratch directory.
#[scenario(id = "SCRATCH-1")]
fn scratch(bencher: &mut Bencher) -> Result<()> {
    note("scratch_1");
    let path = bencher.scratch()?.join("numbers");
    bencher.iter(|| fs::write(&path, [7; 4096]).is_ok());
    Ok(())
}

/// A file in shared memory, which is held open while the body runs, and removed at its end.
#[scenario(id = "SHARED-1")]
fn shared(bencher: &mut Bencher) {
    note("shared_1");
    let mark = env::var("STORM_MARK").unwrap_or_default();
    let path = format!("/dev/shm/weighbridge-storm-{mark}-{}", std::process::id());
    let held = File::create(&path);
    bencher.iter(|| black_box(17));
    drop(held);
    let _ = fs::remove_file(path); // there may be no shared memory here
}

/// Processes: one in a session of its own, one below a shell, and short ones all the time, so that a kill
/// meets them between fork and exec.
#[scenario(id = "CHILDREN-1")]
fn children(bencher: &mut Bencher) -> Result<()> {
    note("children_1");
    let start = |through: &[&str]| {
        sleeper(through).spawn().map_err(|error| Error::new(format!("failed to start {through:?}: {error}")))
    };
    let mut started = vec![start(&["setsid"])?, start(&["sh", "-c", "sleep 991 & exec \"$@\"", "sh"])?];
    bencher.iter(|| {
        let mut short = Command::new("setsid").arg("true").spawn()?;
        short.wait()
    });
    for child in &mut started {
        let _ = child.kill().and_then(|()| child.wait()); // it may have ended by itself
    }
    Ok(())
}

weighbridge::main!();
