//! What ranks of a launch do together: each its share, and all of it proven.

use std::path::Path;

use serde_json::Value;

use crate::cluster::Cluster;
use crate::launched::{RunEnded, line, on_ranks, run};

/// One tiny case of each family, of four workers.
const MESH: &[&str] =
    &["DIST-2", "--adapter", "Reference", "--param", "DIST-2.variant=mesh_1d", "--samples", "640"];
const TRAINING: &[&str] = &[
    "TRAIN-4",
    "--adapter",
    "Reference",
    "--param",
    "TRAIN-4.variant=tiny",
    "--param",
    "TRAIN-4.ranks=4",
    "--param",
    "TRAIN-4.mode=eager",
];
const CHECKPOINT: &[&str] = &[
    "CKPT-RANKS",
    "--adapter",
    "Reference (sharded)",
    "--param",
    "CKPT-RANKS.variant=tiny",
    "--param",
    "CKPT-RANKS.ranks=4",
    "--param",
    "CKPT-RANKS.operation=load",
];

/// What was delivered by all ranks together.
fn content(case: &Value) -> Value {
    case["work"]["content"]["digest"].clone()
}

#[track_caller]
fn is_measured(ended: &RunEnded) {
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.said.contains("measured=1 failed=0"), "{}", ended.said);
}

/// Runs on so many ranks of this machine, and returns the only case.
#[track_caller]
fn measured(ranks: &str, args: &[&str], name: &str, folder: &Path) -> Value {
    let ended = on_ranks(ranks, args, folder);
    is_measured(&ended);
    ended.case(name)
}

pub(crate) fn ranks_share_the_workers_of_a_mesh() {
    let folder = tempfile::tempdir().unwrap();
    let alone = measured("1", MESH, "dist_2", folder.path());
    for ranks in ["2", "4"] {
        let shared = measured(ranks, MESH, "dist_2", folder.path());
        assert_eq!(shared["work"]["report"]["workers"], 4, "of all ranks together");
        let input = |case: &Value| case["work"]["report"]["input"].clone();
        assert_eq!(input(&shared), input(&alone), "the same data");
        assert_eq!(shared["agreement"], alone["agreement"], "and the same work, by the hashes of all of it");
    }
}

pub(crate) fn ranks_train_one_model() {
    let folder = tempfile::tempdir().unwrap();
    for ranks in ["2", "4"] {
        let case = measured(ranks, TRAINING, "train_4", folder.path());
        assert_eq!(case["work"]["report"]["workers"], 4);
        for metric in ["rank/step_time", "rank/step/communication"] {
            assert_eq!(RunEnded::ranks_of(&case, metric), 4, "{metric} of every rank, wherever it is");
        }
    }
}

pub(crate) fn ranks_save_and_load_one_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let alone = measured("1", CHECKPOINT, "ckpt", folder.path());
    let shared = measured("2", CHECKPOINT, "ckpt", folder.path());
    assert_eq!(content(&shared), content(&alone), "the same state, whoever saved which part");
    assert_eq!(RunEnded::ranks_of(&shared, "rank/load"), 4);
}

pub(crate) fn what_ranks_cannot_share_is_a_skip() {
    let folder = tempfile::tempdir().unwrap();
    let ended = on_ranks("3", TRAINING, folder.path());
    assert!(ended.said.contains("measured=0 failed=0") && ended.said.contains("skipped=1"), "{}", ended.said);
    assert!(ended.said.contains("the 3 ranks of the launch do not share 4 workers evenly"), "{}", ended.said);
}

pub(crate) fn hosts_of_a_cluster_do_the_same() {
    let Some(cluster) = Cluster::of(4) else { return };
    for (args, name) in [(MESH, "dist_2"), (TRAINING, "train_4"), (CHECKPOINT, "ckpt")] {
        let mut command = cluster.command("srun");
        command.args(["-N4", "-n4"]).args(line(args));
        let ended = run(&mut command, cluster.dir());
        is_measured(&ended);
        assert!(ended.said.contains("4 ranks on 4 machines, by Slurm"), "{}", ended.said);
        let case = ended.case(name);
        assert_eq!(case["work"]["report"]["workers"], 4, "{}", ended.said);
    }
    cluster.end();
}
