//! The plays on a real Slurm of four hosts.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::cluster::{Cluster, only_child};
use crate::{LaunchEnded, SHORT, bench_of, launches, read, script, until, xtask};

/// `launch` on the cluster, one rank on each host.
fn launch(cluster: &Cluster, shared: &Path, args: &[&str]) -> Command {
    let mut command = cluster.command(xtask());
    command.args(["launch", "--engine", "slurm", "--heartbeat", "1"]);
    command.arg("--data").arg(cluster.dir().join("data")).arg("--shared").arg(shared);
    command.args(args);
    command
}

fn ended(cluster: &Cluster, args: &[&str]) -> LaunchEnded {
    let output = launch(cluster, &cluster.shared(), args).output().unwrap();
    LaunchEnded::of(output, &cluster.shared())
}

/// A launch of which every rank waits, and has said so.
struct AtWork<'a> {
    cluster: &'a Cluster,
    child: Child,
}

impl<'a> AtWork<'a> {
    fn start(cluster: &'a Cluster, args: &[&str]) -> Self {
        let waits = "echo waiting; touch \"waits-$WEIGHBRIDGE_RANK\"; exec sleep 86399";
        let program = script(cluster.dir(), waits);
        let mut command = launch(cluster, &cluster.shared(), &["-n", "4", "--program"]);
        command.arg(program).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let at_work = Self { cluster, child };
        until("all ranks wait", || {
            launches(&cluster.shared())
                .last()
                .is_some_and(|folder| (0..4).all(|rank| folder.join(format!("bundle/waits-{rank}")).exists()))
        });
        at_work
    }

    /// The only job of the cluster.
    fn job(&self) -> String {
        let jobs = self.cluster.jobs();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs[0].0.clone()
    }

    fn ended(self) -> LaunchEnded {
        LaunchEnded::of(self.child.wait_with_output().unwrap(), &self.cluster.shared())
    }
}

/// Looks that Slurm has no job that has not ended, and the hosts no process of a rank.
#[track_caller]
fn nothing_is_left(cluster: &Cluster) {
    until("every job has ended", || cluster.jobs().is_empty());
    until("no rank is left", || cluster.processes("bundle/").is_empty());
    assert_eq!(cluster.processes("sleep 86399"), Vec::<String>::new());
}

#[test]
fn four_hosts_measure_as_one_launch_and_all_of_it_is_gone_at_the_end() {
    let Some(cluster) = Cluster::of(4) else { return };
    let env = bench_of("true");
    let args = [&["-n", "4", "--program", xtask(), "--env", &env][..], &SHORT].concat();
    let ended = ended(&cluster, &args);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    ended.says(&["full: ok, 4 ranks", "rank 0 on node0", "rank 3 on node3", "the engine calls it "]);
    let summary = &ended.summary;
    assert_eq!((&summary["end"], &summary["stages"][0]["samples_checked"]), (&"completed".into(), &4.into()));
    let hosts: Vec<&str> =
        summary["hosts"].as_array().unwrap().iter().filter_map(|host| host["host"].as_str()).collect();
    assert_eq!(hosts, ["node0", "node1", "node2", "node3"]);
    let run = summary["stages"][0]["run"].as_str().unwrap();
    assert!(cluster.dir().join("data/runs").join(run).join("run.json").is_file());
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn a_dry_run_is_checked_by_slurm_and_hands_nothing_over() {
    let Some(cluster) = Cluster::of(4) else { return };
    let program = script(cluster.dir(), "exit 0");
    let args = ["-n", "4", "--program", program.to_str().unwrap(), "--dry-run", "--time", "5"];
    let dry = ended(&cluster, &args);
    assert_eq!(dry.code, Some(0), "{}", dry.said);
    dry.says(&["#SBATCH --nodes=4", "#SBATCH --time=5", "checked by sbatch --test-only", "to start at"]);
    assert!(cluster.said("squeue", &["--noheader", "--states=all"]).is_empty());
    for (wrong, told) in [
        (&["--partition", "nosuch"][..], "invalid partition"),
        (&["--extra", "#SBATCH --nosuch=1"], "unrecognized option"),
        (&["-N", "5", "-n", "5"], "Requested node configuration is not available"),
    ] {
        let refused = ended(&cluster, &[&["--program", program.to_str().unwrap()][..], wrong].concat());
        assert_eq!(refused.code, Some(2), "{}", refused.said);
        refused.says(&["sbatch --test-only refuses the job file", told]);
        assert!(cluster.said("squeue", &["--noheader", "--states=all"]).is_empty());
        assert_eq!(launches(&cluster.shared()).len(), 0, "nothing that was refused is left");
    }
    cluster.end();
}

#[test]
fn an_interrupted_launch_takes_its_job_with_it_and_no_other_one() {
    let Some(cluster) = Cluster::of(4) else { return };
    // Somebody else's, of the same user and with a name like ours.
    let other = cluster
        .said("sbatch", &["--parsable", "--job-name=weighbridge-other", "--hold", "--wrap", "sleep 1"]);
    let other = other.trim().to_owned();
    let program = script(cluster.dir(), "echo waiting; touch waits; exec sleep 86399");
    let mut command = launch(&cluster, &cluster.shared(), &["-n", "4", "--program"]);
    command.arg(program).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    until("a rank waits", || {
        launches(&cluster.shared()).last().is_some_and(|folder| folder.join("bundle/waits").exists())
    });
    let inner = only_child(child.id());
    assert!(Command::new("kill").args(["-INT", &inner.to_string()]).status().unwrap().success());
    let ended = LaunchEnded::of(child.wait_with_output().unwrap(), &cluster.shared());
    assert_eq!(ended.code, Some(130), "{}", ended.said);
    assert_eq!(ended.summary["end"], "interrupted");
    let left: Vec<String> = cluster.jobs().into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, [other.as_str()], "no other job is ended");
    assert_eq!(cluster.processes("sleep 86399"), Vec::<String>::new());
    cluster.said("scancel", &[&other]);
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn a_job_that_somebody_else_cancels_is_told_as_that() {
    let Some(cluster) = Cluster::of(4) else { return };
    let at_work = AtWork::start(&cluster, &[]);
    cluster.said("scancel", &[&at_work.job()]);
    let ended = at_work.ended();
    assert_eq!(
        (ended.code, &ended.summary["end"]),
        (Some(6), &"cancelled_elsewhere".into()),
        "{}",
        ended.said
    );
    ended.says(&["somebody else ended the job: CANCELLED"]);
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn a_host_that_dies_is_named_and_the_others_are_given_back() {
    let Some(cluster) = Cluster::of(4) else { return };
    let at_work = AtWork::start(&cluster, &["--rank-patience", "10"]);
    cluster.kill_host(2);
    let ended = at_work.ended();
    assert_eq!(ended.code, Some(6), "{}", ended.said);
    // Whoever notices first: the beats that stop, or Slurm.
    let end = ended.summary["end"].as_str().unwrap();
    assert!(["ranks_lost", "job_failed"].contains(&end), "{}", ended.said);
    ended.says(&["rank 2"]);
    let killed = &ended.summary["hosts"][2]["host"];
    assert_eq!(killed, "node2");
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn a_job_that_stays_in_the_queue_is_looked_for_waited_for_once_more_and_ended() {
    let Some(cluster) = Cluster::of(4) else { return };
    let program = script(cluster.dir(), "exit 0");
    let args = ["-n", "4", "--launch-timeout", "2", "--extra", "#SBATCH --begin=now+3hours"];
    let ended = ended(&cluster, &[&args[..], &["--program", program.to_str().unwrap()]].concat());
    assert_eq!((ended.code, &ended.summary["end"]), (Some(6), &"launch_timed_out".into()), "{}", ended.said);
    ended.says(&[
        "waiting once more",
        "the engine still has the job after 2 s twice: BeginTime",
        "diagnosis: ",
    ]);
    let stall = read(&launches(&cluster.shared()).pop().unwrap().join("stall.json"));
    let commands = stall["engine"].as_array().unwrap();
    let of =
        |name: &str| commands.iter().find(|of| of["command"].as_str().unwrap().starts_with(name)).unwrap();
    assert!(of("scontrol show job")["said"].as_str().unwrap().contains("Reason=BeginTime"), "{stall}");
    assert!(of("sinfo")["said"].as_str().unwrap().contains("node3"), "{stall}");
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn ranks_that_say_nothing_for_too_long_are_diagnosed_and_ended() {
    let Some(cluster) = Cluster::of(4) else { return };
    let ended = AtWork::start(&cluster, &["--stall-timeout", "5"]).ended();
    assert_eq!((ended.code, &ended.summary["end"]), (Some(6), &"stalled".into()), "{}", ended.said);
    let stall = read(&launches(&cluster.shared()).pop().unwrap().join("stall.json"));
    assert_eq!(stall["ranks"][3]["latest"], "waiting", "{stall}");
    assert!(stall["logs"].as_array().unwrap().iter().any(|log| log[1] == "waiting\n"), "{stall}");
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
#[ignore = "Slurm 22.05 fails it in a third of the runs, by the exit code of the first batch script"]
fn a_job_that_slurm_puts_back_and_starts_again_is_followed_to_its_end() {
    let Some(cluster) = Cluster::of(4) else { return };
    let go = cluster.dir().join("go");
    let waits = format!("test -e {0} || {{ touch {0}-not; exec sleep 86399; }}", go.display());
    let mut command = launch(&cluster, &cluster.shared(), &["-n", "4", "--program", xtask()]);
    command.args(["--extra", "#SBATCH --requeue", "--env", &bench_of(&waits)]).args(SHORT);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("a rank waits", || cluster.dir().join("go-not").exists());
    std::fs::write(&go, "").unwrap();
    let job = cluster.jobs()[0].0.clone();
    cluster.said("scontrol", &["requeue", &job]);
    until("the job is back in the queue", || cluster.jobs().iter().any(|(_, state)| state == "PENDING"));
    // Slurm itself waits for two minutes, as long as any host may take to notice.
    until("nothing is left of the first attempt", || {
        let idle = cluster.said("sinfo", &["--noheader", "--format=%T %D"]);
        idle.trim() == "idle 4" && cluster.processes("slurmstepd").is_empty()
    });
    cluster.said("scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]);
    let ended = LaunchEnded::of(child.wait_with_output().unwrap(), &cluster.shared());
    assert_eq!((ended.code, &ended.summary["restarts"]), (Some(0), &1.into()), "{}", ended.said);
    ended.says(&["the engine started the job again", "full: ok, 4 ranks"]);
    let launched = launches(&cluster.shared()).pop().unwrap();
    assert!(launched.join("attempt-0").is_dir() && launched.join("attempt-1").is_dir());
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn a_shared_folder_that_is_full_is_told_and_is_left_as_it_was() {
    let Some(cluster) = Cluster::of(1) else { return };
    let program = script(cluster.dir(), "exit 0");
    let small = cluster.dir().join("small");
    cluster.said("sh", &["-c", "head -c 230m /dev/zero > small/theirs"]);
    let mut command = launch(&cluster, &small, &["-n", "1", "--program"]);
    let output = command.arg(program).output().unwrap();
    let ended = LaunchEnded::of(output, &small);
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    ended.says(&["failed to copy", "No space left"]);
    assert_eq!(
        cluster.said("find", &[small.to_str().unwrap(), "-type", "f"]).trim(),
        small.join("theirs").display().to_string()
    );
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn a_host_with_less_than_the_others_is_named_before_anything_is_measured() {
    let prepare = |dir: &Path| {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap();
        let lines = text.lines().map(|line| match line.starts_with("MemAvailable") {
            true => "MemAvailable:     300000 kB".to_owned(),
            false => line.to_owned(),
        });
        std::fs::write(dir.join("meminfo-node3"), lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    };
    let Some(cluster) = Cluster::with(4, prepare) else { return };
    let program = script(cluster.dir(), "touch measured");
    let program = program.to_str().unwrap();
    let refused = ended(&cluster, &["-n", "4", "--program", program]);
    assert_eq!(refused.code, Some(6), "{}", refused.said);
    refused.says(&[
        "preflight: node3: bytes of memory free 3.07e8, and the others have node0 ",
        "--exclude node3",
    ]);
    let launched = launches(&cluster.shared()).pop().unwrap();
    assert!(!launched.join("bundle/measured").exists());
    // Without it the others are enough.
    let env = bench_of("true");
    let args = [&["-n", "3", "--exclude", "node3", "--program", xtask(), "--env", &env][..], &SHORT].concat();
    let without = ended(&cluster, &args);
    assert_eq!(without.code, Some(0), "{}", without.said);
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn what_ranks_read_back_is_held_against_what_was_asked_for() {
    let Some(cluster) = Cluster::of(2) else { return };
    let program = script(cluster.dir(), "touch measured");
    // Slurm sets this one anew for each task.
    let args = ["-n", "2", "--env", "SLURM_NODEID=7", "--env", "ASKED=1", "--program"];
    let refused = ended(&cluster, &[&args[..], &[program.to_str().unwrap()]].concat());
    assert_eq!(refused.code, Some(6), "{}", refused.said);
    refused.says(&["preflight: rank 1 on node1: SLURM_NODEID is `1`, and `7` was asked for"]);
    assert!(!refused.said.contains("ASKED is"), "{}", refused.said);
    assert!(!launches(&cluster.shared()).pop().unwrap().join("bundle/measured").exists());
    cluster.end();
}

#[test]
fn ranks_end_themselves_when_the_command_is_gone_without_a_word() {
    let Some(cluster) = Cluster::of(4) else { return };
    let mut at_work = AtWork::start(&cluster, &["--orphan-timeout", "5"]);
    let inner = only_child(at_work.child.id());
    assert!(Command::new("kill").args(["-KILL", &inner.to_string()]).status().unwrap().success());
    at_work.child.wait().unwrap();
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn both_sides_of_a_comparison_are_measured_in_turns_in_one_allocation() {
    let Some(cluster) = Cluster::of(2) else { return };
    let side = |name: &str, seconds: &str| {
        let variable = bench_of(&format!("sleep {seconds}"));
        let (variable, value) = variable.split_once('=').unwrap();
        let text = format!("export {variable}='{value}'\nexec {} \"$@\"", xtask());
        let folder = cluster.dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        script(&folder, &text)
    };
    let (base, same, slow) = (side("base", "0.02"), side("same", "0.02"), side("slow", "0.08"));
    let launched = |program: &Path| {
        let (program, base) = (program.to_str().unwrap(), base.to_str().unwrap());
        let args = ["-n", "2", "--program", program, "--versus", base];
        ended(&cluster, &[&args[..], &SHORT[..2], &SHORT[4..], &["--measurement-time", "0.05"]].concat())
    };
    let slower = launched(&slow);
    assert_eq!(slower.code, Some(3), "{}", slower.said);
    slower.says(&["rank 0: COMMAND/it: Regressed", "rank 1: COMMAND/it: Regressed"]);
    let alike = launched(&same);
    assert_ne!(alike.code, Some(3), "{}", alike.said);
    assert_eq!(cluster.said("squeue", &["--noheader", "--states=all", "--format=%i"]).lines().count(), 2);
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn what_is_missing_of_a_launch_that_was_broken_off_is_measured_and_nothing_else() {
    let Some(cluster) = Cluster::of(2) else { return };
    let go = cluster.dir().join("go");
    // Rank 1 waits within the run, and rank 0 for rank 1.
    let waits = format!(
        "echo x >> {0}-$WEIGHBRIDGE_RANK; test $WEIGHBRIDGE_RANK = 0 -o -e {0} || exec sleep 86399",
        go.display()
    );
    let mut command = launch(&cluster, &cluster.shared(), &["-n", "2", "--program", xtask()]);
    command.args(["--env", &bench_of(&waits)]).args(SHORT);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("both ranks measure", || ["go-0", "go-1"].iter().all(|of| cluster.dir().join(of).exists()));
    cluster.said("scancel", &[&cluster.jobs()[0].0]);
    let broken = LaunchEnded::of(child.wait_with_output().unwrap(), &cluster.shared());
    assert_eq!(broken.code, Some(6), "{}", broken.said);
    broken.says(&["go on with: launch --engine slurm --shared "]);
    // What is ended may take a moment to end, and holds its run as long.
    nothing_is_left(&cluster);
    std::fs::write(&go, "").unwrap();
    let id = broken.summary["launch"].as_str().unwrap().to_owned();
    let ended = ended(&cluster, &["--resume", &id]);
    assert_eq!((ended.code, &ended.summary["launch"]), (Some(0), &id.as_str().into()), "{}", ended.said);
    let launched = launches(&cluster.shared()).pop().unwrap();
    let runs = std::fs::read_dir(launched.join("data/full/rank-00000/runs")).unwrap();
    assert_eq!(runs.count(), 1, "it is the run that was broken off");
    for (args, told) in [
        (&["--resume", "20260101-000000-000000"][..], "there is no such launch"),
        (&["--resume", "../x"], "no id of a launch"),
        (&["--resume", &id], "programs are not as they travelled"),
    ] {
        let refused = crate::slurm::ended(&cluster, args);
        assert!(refused.code != Some(0) && refused.said.contains(told), "{}", refused.said);
    }
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn a_shared_folder_that_a_rank_fills_is_told_and_the_job_is_gone_all_the_same() {
    let Some(cluster) = Cluster::of(2) else { return };
    let small = cluster.dir().join("small");
    let program = script(cluster.dir(), "dd if=/dev/zero of=fill-$WEIGHBRIDGE_RANK bs=64k; exit 0");
    let mut command = launch(&cluster, &small, &["-n", "2", "--rank-patience", "10", "--program"]);
    let output = command.arg(program).output().unwrap();
    let ended = LaunchEnded::of(output, &small);
    assert!(matches!(ended.code, Some(1 | 6)), "{}", ended.said);
    ended.says(&["left no result", "No space left"]);
    nothing_is_left(&cluster);
    cluster.end();
}

#[test]
fn ranks_of_one_host_and_of_several_know_their_places() {
    let Some(cluster) = Cluster::of(2) else { return };
    let places = cluster.dir().join("places");
    let told = "$WEIGHBRIDGE_RANK/$WEIGHBRIDGE_RANKS $WEIGHBRIDGE_LOCAL_RANK $(hostname)";
    let line = format!("echo \"{told}\" >> {}; test -d \"$WEIGHBRIDGE_RENDEZVOUS\"", places.display());
    let program = script(cluster.dir(), &line);
    let ended = ended(&cluster, &["-N", "2", "-n", "4", "--program", program.to_str().unwrap()]);
    // The only thing that is wrong is that it is no bench program.
    assert_eq!(ended.summary["errors"], serde_json::json!(["full: rank 0 left no run"]), "{}", ended.said);
    let text = std::fs::read_to_string(places).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0/4 0 node0", "1/4 1 node0", "2/4 0 node1", "3/4 1 node1"]);
    cluster.end();
}
