//! A Slurm cluster of hosts in namespaces of this machine, which is gone when it is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::until;

const SCRIPT: &str = include_str!("cluster.sh");

/// One cluster at a time: tests of one program run side by side, and the machine may be small.
static ONE: Mutex<()> = Mutex::new(());

pub struct Cluster {
    folder: tempfile::TempDir,
    outer: Child,
    /// The first process of the namespaces, as this machine numbers it.
    first: u32,
    _one: MutexGuard<'static, ()>,
}

impl Cluster {
    /// A cluster of so many hosts that are idle. `None` where this machine cannot have one: the calling test
    /// is then said to be skipped, and returns.
    #[track_caller]
    pub fn of(hosts: u32) -> Option<Cluster> {
        Self::with(hosts, |_| {})
    }

    /// The same, where something lies in its folder before the hosts start.
    #[track_caller]
    pub fn with(hosts: u32, prepare: impl Fn(&Path)) -> Option<Cluster> {
        if !needs::slurm() {
            return None;
        }
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        fs::create_dir(dir.join("small")).unwrap();
        fs::create_dir(dir.join("100% shared")).unwrap();
        fs::create_dir_all(dir.join("data/runs")).unwrap();
        prepare(dir);
        fs::write(dir.join("cluster.sh"), SCRIPT).unwrap();
        let log = fs::File::create(dir.join("cluster.log")).unwrap();
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--uts", "--mount", "sh"]);
        unshare.arg(dir.join("cluster.sh")).arg(dir).arg(hosts.to_string());
        unshare.stdin(Stdio::piped()).stderr(log.try_clone().unwrap()).stdout(log);
        let mut outer = unshare.spawn().unwrap();
        let up = dir.join("up");
        until("the hosts are made", || {
            let ended = outer.try_wait().unwrap();
            let said = || fs::read_to_string(dir.join("cluster.log")).unwrap_or_default();
            assert!(ended.is_none(), "the cluster ended with {ended:?}: {}", said());
            up.exists()
        });
        let first = only_child(outer.id());
        let cluster = Cluster { folder, outer, first, _one: one };
        until("all hosts are idle", || {
            cluster.said("sinfo", &["--noheader", "--format=%T %D"]).trim() == format!("idle {hosts}")
        });
        Some(cluster)
    }

    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    pub fn shared(&self) -> PathBuf {
        self.dir().join("100% shared")
    }

    /// A command that runs on the host that nobody computes on.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first.to_string(), "--pid", "--net", "--uts", "--mount"]);
        command.args(["sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(self.dir()).arg(program);
        command.env("SLURM_CONF", self.dir().join("slurm.conf")).stdin(Stdio::null());
        command
    }

    /// What a command of Slurm says.
    pub fn said(&self, program: &str, args: &[&str]) -> String {
        let Output { stdout, .. } = self.command(program).args(args).output().unwrap();
        String::from_utf8_lossy(&stdout).into_owned()
    }

    /// The jobs that Slurm has and that have not ended, with their states.
    pub fn jobs(&self) -> Vec<(String, String)> {
        let said = self.said("squeue", &["--noheader", "--states=all", "--format=%i %T"]);
        let jobs = said.lines().filter_map(|line| line.trim().split_once(' '));
        let ended = ["CANCELLED", "COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT"];
        jobs.filter(|(_, state)| !ended.contains(state))
            .map(|(id, state)| (id.to_owned(), state.to_owned()))
            .collect()
    }

    /// Takes the power of a host away.
    pub fn kill_host(&self, host: u32) {
        let id = fs::read_to_string(self.dir().join(format!("host-{host}.pid"))).unwrap();
        let killed = self.command("kill").args(["-KILL", id.trim()]).status().unwrap();
        assert!(killed.success());
    }

    /// The command lines of all processes in the cluster that have this word.
    pub fn processes(&self, word: &str) -> Vec<String> {
        let said = self.said("ps", &["-e", "-o", "args="]);
        let lines = said.lines().filter(|line| line.contains(word) && !line.starts_with("ps "));
        lines.map(str::to_owned).collect()
    }

    /// Ends the cluster, and looks that nothing of it is left.
    pub fn end(mut self) {
        let space = fs::read_link(format!("/proc/{}/ns/net", self.first)).unwrap();
        let dir = self.dir().to_owned();
        self.kill();
        drop(self);
        let left = || {
            let all = fs::read_dir("/proc").unwrap().flatten();
            let of_it = |path: PathBuf| fs::read_link(path.join("ns/net")).is_ok_and(|of| of == space);
            all.filter(|entry| of_it(entry.path())).count()
        };
        until("no process of the cluster is left", || left() == 0);
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains(&*dir.to_string_lossy()), "{mounts}");
        assert!(!dir.exists(), "{}", dir.display());
    }

    fn kill(&mut self) {
        // The kernel ends whatever is in a PID namespace when its first process ends.
        drop(self.outer.kill());
        drop(self.outer.wait());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The only process that a process has started.
pub fn only_child(parent: u32) -> u32 {
    let children = format!("/proc/{parent}/task/{parent}/children");
    let mut found = 0;
    until("the process has one of its own", || {
        let text = fs::read_to_string(&children).unwrap_or_default();
        text.trim().parse().is_ok_and(|child: u32| {
            found = child;
            true
        })
    });
    found
}
