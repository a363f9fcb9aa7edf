//! Tests that were skipped for want of something that the machine lacks. A test is green then, and says so in
//! a file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// A test that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SkippedTest {
    pub(crate) name: String,
    /// What is not there: the name of a [`needs::Need`].
    pub(crate) need: String,
    /// The same in words.
    pub(crate) why: String,
}

/// Makes the file, with nothing in it.
pub(crate) fn begin(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let made = fs::create_dir_all(folder).and_then(|()| fs::write(file, ""));
    made.with_context(|| format!("failed to write `{}`", file.display()))
}

/// The tests that the file names, each once: two steps may run the same one.
pub(crate) fn read(file: &Path) -> Result<Vec<SkippedTest>> {
    let text = fs::read_to_string(file).with_context(|| format!("failed to read `{}`", file.display()))?;
    let test = |line: &str| {
        let mut parts = line.splitn(3, '\t').map(str::to_owned);
        let (need, name, why) = (parts.next()?, parts.next()?, parts.next()?);
        Some(SkippedTest { name, need, why })
    };
    let tests: Option<BTreeSet<SkippedTest>> = text.lines().map(test).collect();
    let tests = tests.with_context(|| format!("`{}` is damaged", file.display()))?;
    Ok(tests.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_test_writes_is_read_and_no_test_is_named_twice() {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("ci/skipped");
        begin(&file).expect("made");
        assert_eq!(read(&file).expect("whole"), []);
        let why = "there is no `python3`";
        fs::write(&file, format!("python3\ta::b\t{why}\nnextest\ta::a\tc\td\npython3\ta::b\t{why}\n"))
            .expect("written");
        let tests = read(&file).expect("whole");
        assert_eq!(tests.iter().map(|test| &*test.name).collect::<Vec<_>>(), ["a::a", "a::b"]);
        assert_eq!((&*tests[1].need, &*tests[1].why), ("python3", why));
        fs::write(&file, "python3 without tabs\n").expect("written");
        assert!(read(&file).is_err());
    }

    #[test]
    fn without_python_a_test_is_skipped_and_says_so_where_it_is_told() {
        if std::env::var_os("PATH").is_some_and(|path| path == "/nowhere") {
            assert!(!needs::python3());
            return;
        }
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("skipped");
        let mut ourselves = Command::new(std::env::current_exe().expect("we run"));
        let own = "ci::skipped::tests::without_python_a_test_is_skipped_and_says_so_where_it_is_told";
        let ran = ourselves.args(["--exact", own]).env("PATH", "/nowhere").env(needs::FILE, &file).output();
        let ran = ran.expect("started");
        assert!(ran.status.success(), "{ran:?}");
        // Past the capture of libtest, which shows nothing of a test that passes.
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains("there is no `python3`\n") && said.starts_with("skipped: "), "{said}");
        let tests = read(&file).expect("whole");
        assert_eq!((tests.len(), &*tests[0].need), (1, "python3"));
        assert!(said.contains(&tests[0].name), "{said}");
    }
}
