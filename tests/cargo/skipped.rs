//! A test that cannot run says so where everybody sees it, and in the file that is named.

use std::process::Command;

use crate::external::clean;

#[test]
fn where_python_nextest_and_mounting_are_absent_every_test_that_needs_them_says_so() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("skipped");
    let mut ourselves = Command::new(std::env::current_exe().unwrap());
    ourselves.args(["workers::", "nextest::nextest_itself", "store::a_full_disk", "--test-threads", "2"]);
    clean(&mut ourselves);
    let ran = ourselves.env("PATH", "/nowhere").env(needs::FILE, &file).output().unwrap();
    let [stdout, stderr] = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(ran.status.success(), "{stdout}\n{stderr}");
    let green = stdout.lines().filter(|line| line.ends_with(" ... ok")).count();
    let written = std::fs::read_to_string(&file).unwrap();
    let mut counts = [0; needs::Need::ALL.len()];
    for line in written.lines() {
        let [need, test, why] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        counts[needs::Need::ALL.iter().position(|known| known.name() == need).unwrap()] += 1;
        assert!(stdout.contains(&format!("test {test} ... ok\n")), "{line}: {stdout}");
        assert!(stderr.contains(&format!("skipped: {test}: {why}\n")), "{line}: {stderr}");
    }
    // Each of them, and each once.
    assert_eq!(counts[..3], [green - 2, 1, 1], "{stdout}\n{written}");
    assert!(green > 10, "{stdout}");
}
