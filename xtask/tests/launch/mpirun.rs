//! `launch --engine mpirun` on this machine, by the real one.

use crate::{LaunchEnded, SHORT, bench_of, launch, script, xtask};

#[test]
fn ranks_that_mpirun_starts_know_their_places_and_one_that_fails_ends_all() {
    if !needs::command(needs::Need::Mpirun) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("shared");
    let launched = |args: &[&str]| {
        let mut command =
            launch(folder.path(), &["--engine", "mpirun", "-n", "3", "--extra", "--oversubscribe"]);
        // A container's only user may be root.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        LaunchEnded::of(command.args(args).output().unwrap(), &shared)
    };
    let env = bench_of("true");
    let well = launched(&[&["--program", xtask(), "--env", &env][..], &SHORT].concat());
    assert_eq!(well.code, Some(0), "{}", well.said);
    well.says(&["full: ok, 3 ranks", "rank 2 on "]);
    let program = script(folder.path(), "test $WEIGHBRIDGE_RANK = 1 && exit 7; exit 0");
    let badly = launched(&["--program", program.to_str().unwrap()]);
    assert_eq!(badly.code, Some(6), "{}", badly.said);
    badly.says(&["full: rank 1 on ", "exit code 7"]);
}
