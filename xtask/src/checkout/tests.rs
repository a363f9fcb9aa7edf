use std::os::unix::fs::symlink;

use super::*;
use crate::fixtures::{Home, home};

/// Runs git as somebody who may commit.
fn commit_all(folder: &Path) {
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    git(folder, &["add", "--all"]).expect("added");
    git(folder, &[&who[..], &["commit", "--quiet", "--message", "all"]].concat()).expect("committed");
}

/// A workspace in a repository with these files.
fn repository(files: &[(&str, &str)]) -> (Home, Repository) {
    let home = home();
    write(&home.place.root, files);
    git(&home.place.root, &["init", "--quiet"]).expect("a repository");
    commit_all(&home.place.root);
    let repository = Repository::find(&home.place.root).expect("found");
    (home, repository)
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
        fs::write(file, text).expect("writable");
    }
}

fn checkout(home: &Home, repository: &Repository) -> Result<Checkout> {
    Checkout::of(repository, &repository.commit("HEAD")?, &home.place)
}

#[test]
fn a_checkout_that_is_not_whole_is_made_again_and_one_that_is_stays_as_it_is() {
    let (home, repository) = repository(&[
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("Cargo.lock", ""),
        ("src/lib.rs", "// a\n"),
    ]);
    let first = checkout(&home, &repository).expect("checked out");
    let source = first.root.join("src/lib.rs");
    let built = first.root.join("src/generated.txt");
    fs::write(&built, "").expect("writable");
    fs::write(first.root.join("Cargo.lock"), "# cargo brought it up to date\n").expect("writable");
    let again = checkout(&home, &repository).expect("checked out");
    assert!(!built.exists(), "it is not of the commit");
    assert!(again.notes[0].ends_with("`src/generated.txt`"), "{:?}", again.notes);
    let inode = |file: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(file).expect("there"));
    let before = inode(&source);
    let again = checkout(&home, &repository).expect("checked out");
    assert!(before == inode(&source) && again.notes.is_empty(), "a whole one is used as it is");

    // A cache that lost a file, and somebody who changed one.
    for change in [None, Some("// b\n")] {
        match change {
            None => fs::remove_file(&source).expect("there"),
            Some(text) => fs::write(&source, text).expect("writable"),
        }
        let again = checkout(&home, &repository).expect("checked out");
        assert_eq!(fs::read_to_string(&source).expect("there"), "// a\n");
        assert!(again.notes[0].ends_with("and is made anew"), "{:?}", again.notes);
    }

    // The folder of a repository that is no more: a clone was made anew, and a cache kept the folder.
    fs::write(again.top.join(".git"), "gitdir: /nowhere\n").expect("writable");
    assert_eq!(checkout(&home, &repository).expect("checked out").notes.len(), 1);

    // Killed before the last file was there.
    fs::remove_file(&source).expect("there");
    fs::remove_file(first.folder.join("whole")).expect("there");
    assert!(checkout(&home, &repository).expect("checked out").notes.is_empty());
    assert!(source.exists());
}

#[test]
fn a_commit_that_is_not_the_work_trees_is_kept_as_well() {
    let (home, repository) = repository(&[("Cargo.toml", "[workspace]\n"), ("src/lib.rs", "// a\n")]);
    write(&home.place.root, &[("src/lib.rs", "// b\n"), ("src/more.rs", "")]);
    fs::remove_file(home.place.root.join("Cargo.toml")).expect("there");
    commit_all(&home.place.root);
    let before = repository.commit("HEAD~1").expect("there");
    for _ in 0..3 {
        let made = Checkout::of(&repository, &before, &home.place).expect("checked out");
        assert!(made.notes.is_empty(), "{:?}", made.notes);
        assert_eq!(fs::read_to_string(made.root.join("src/lib.rs")).expect("there"), "// a\n");
        assert!(made.root.join("Cargo.toml").exists() && !made.root.join("src/more.rs").exists());
    }
}

#[test]
fn what_somebody_left_in_a_checkout_is_found_whatever_its_own_git_says() {
    let (home, repository) = repository(&[
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        (".gitignore", ".cargo/\n*.log\n"),
        ("Cargo.lock", ""),
        ("src/lib.rs", "// a\n"),
    ]);
    let made = checkout(&home, &repository).expect("checked out");
    let source = made.root.join("src/lib.rs");
    let is_the_commits = || fs::read_to_string(&source).expect("there") == "// a\n";

    // Git is told not to look.
    git(&made.top, &["update-index", "--assume-unchanged", "src/lib.rs"]).expect("told");
    fs::write(&source, "// b\n").expect("writable");
    assert_eq!(git(&made.top, &["status", "--porcelain"]).expect("asked"), "");
    let again = checkout(&home, &repository).expect("checked out");
    assert!(is_the_commits() && again.notes[0].ends_with("is made anew"), "{:?}", again.notes);

    // Another commit of whoever wrote there, which is its `HEAD`.
    fs::write(&source, "// b\n").expect("writable");
    commit_all(&made.top);
    assert_eq!(checkout(&home, &repository).expect("checked out").notes.len(), 1);
    assert!(is_the_commits());

    // A repository of its own in the place of the user's.
    fs::remove_file(made.top.join(".git")).expect("there");
    git(&made.top, &["init", "--quiet"]).expect("a repository");
    assert_eq!(checkout(&home, &repository).expect("checked out").notes.len(), 1);
    assert!(made.top.join(".git").is_file());

    // Files that git passes over, and cargo reads.
    let hidden = made.root.join(".cargo/config.toml");
    write(&made.root, &[(".cargo/config.toml", "[build]\nrustflags = [\"-C\", \"opt-level=0\"]\n")]);
    let again = checkout(&home, &repository).expect("checked out");
    assert!(!hidden.exists() && again.notes[0].contains("`.cargo"), "{:?}", again.notes);
    fs::write(made.root.join("Cargo.lock"), "# others\n").expect("writable");
    assert!(checkout(&home, &repository).expect("checked out").notes.is_empty());
    assert_eq!(fs::read_to_string(made.root.join("Cargo.lock")).expect("there"), "");
}

#[test]
fn nothing_lies_above_a_checkout_but_what_lies_above_the_repository() {
    let (home, repository) = repository(&[("Cargo.toml", "[workspace]\n")]);
    let made = checkout(&home, &repository).expect("checked out");
    let above = made.top.parent().expect("a folder");
    write(above, &[("Cargo.toml", "[workspace]\n"), (".cargo/config.toml", "[build]\n")]);
    checkout(&home, &repository).expect("checked out");
    assert!(!above.join("Cargo.toml").exists() && !above.join(".cargo").exists());
    // A link on the way down is none, and where it leads to stays.
    let elsewhere = home.directory.path().join("elsewhere");
    write(&elsewhere, &[("kept", "")]);
    fs::remove_dir_all(above).expect("there");
    symlink(&elsewhere, above).expect("writable");
    checkout(&home, &repository).expect("checked out");
    assert!(elsewhere.join("kept").exists() && above.is_dir());
    for folder in [&made.folder, &home.place.layout.rebuilds(), home.place.layout.data()] {
        write(folder, &[("rust-toolchain", "nightly\n")]);
        let error = checkout(&home, &repository).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("lies above the revisions that are rebuilt"), "{error}");
        fs::remove_file(folder.join("rust-toolchain")).expect("there");
    }
}

#[test]
fn a_submodule_is_there_at_the_commit_of_the_revision() {
    let (home, repository) = repository(&[("Cargo.toml", "[workspace]\n")]);
    let (theirs, root) = (home.directory.path().join("theirs"), &home.place.root);
    write(&theirs, &[("src/lib.rs", "// old\n")]);
    git(&theirs, &["init", "--quiet"]).expect("a repository");
    commit_all(&theirs);
    let url = theirs.display().to_string();
    git(root, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "vendored/dep"])
        .expect("added");
    commit_all(root);
    // The work tree has a newer one, which is not committed.
    let here = root.join("vendored/dep");
    write(&here, &[("src/lib.rs", "// new\n")]);
    commit_all(&here);

    let made = checkout(&home, &repository).expect("checked out");
    let read = || fs::read_to_string(made.root.join("vendored/dep/src/lib.rs")).expect("there");
    assert_eq!(read(), "// old\n");
    let again = checkout(&home, &repository).expect("checked out");
    assert!(again.notes.is_empty(), "it is whole: {:?}", again.notes);

    // Nowhere to be had.
    fs::remove_dir_all(&here).expect("there");
    fs::remove_dir_all(root.join(".git/modules")).expect("there");
    fs::remove_dir_all(&theirs).expect("there");
    fs::remove_dir_all(&made.folder).expect("there");
    let error = checkout(&home, &repository).err().map(|error| format!("{error:#}")).unwrap_or_default();
    assert!(error.contains("the submodule `vendored/dep` is not to be had at "), "{error}");
}

#[test]
fn a_pointer_of_git_lfs_is_refused_by_name() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n";
    let (home, repository) = repository(&[
        ("Cargo.toml", "[workspace]\n"),
        (".gitattributes", "*.bin filter=lfs -text\n"),
        ("data/big.bin", pointer),
        ("docs/lfs.txt", pointer),
    ]);
    for _ in 0..2 {
        let error = checkout(&home, &repository).err().map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(
            error.starts_with("`data/big.bin` of ") && error.contains("is a pointer of Git LFS"),
            "{error}"
        );
        assert!(error.contains("`git lfs fetch origin "), "{error}");
    }
}

#[test]
fn packages_and_configuration_around_the_repository_lie_around_a_checkout_too() {
    let helper = "[dependencies]\ndeep = { path = \"../../elsewhere/deep\" }\n";
    let (mut home, repository) = repository(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"app\"]\n"),
        ("app/Cargo.toml", "[dev-dependencies]\nhelper = { path = \"../../others/helper\" }\n"),
        ("app/fixture/Cargo.toml", "[patch.crates-io]\nno-such = { path = \"../../../no-such\" }\n"),
    ]);
    let elsewhere = tempfile::tempdir().expect("a folder");
    home.place.layout = weighbridge::data::Layout::new(elsewhere.path().to_owned());
    let around = home.directory.path();
    write(
        around,
        &[
            ("others/helper/Cargo.toml", helper),
            ("elsewhere/deep/Cargo.toml", ""),
            (".cargo/config.toml", "[build]\n"),
            ("workspace/.cargo/config.toml", "[profile.bench]\nopt-level = 0\n"),
        ],
    );
    for _ in 0..2 {
        let made = checkout(&home, &repository).expect("checked out");
        let above = made.root.parent().expect("a folder");
        assert!(above.join("others/helper/Cargo.toml").exists());
        assert!(above.join("others/helper/../../elsewhere/deep/Cargo.toml").exists());
        assert!(above.join(".cargo/config.toml").exists());
        assert!(!made.root.ancestors().any(|folder| {
            fs::read_to_string(folder.join(".cargo/config.toml")).is_ok_and(|text| text.contains("opt-level"))
        }));
        assert_eq!(made.missing, [around.join("no-such")]);
        let told =
            format!("outside the repository now: `{}` and 1 more", around.join("elsewhere/deep").display());
        assert!(made.notes[0].ends_with(&told), "{:?}", made.notes);
    }
    let place = checkout(&home, &repository).expect("checked out").root.join("../others");
    fs::remove_file(&place).expect("a link");
    fs::create_dir(&place).expect("writable");
    checkout(&home, &repository).expect("checked out");
    assert!(place.join("helper/Cargo.toml").exists(), "what lay in the place of the link is gone");
}

#[test]
fn a_data_directory_in_the_repository_keeps_no_checkout() {
    let (home, _) = repository(&[("Cargo.toml", "")]);
    let (root, cache) = (&home.place.root, home.directory.path().join("cache"));
    let of = |data: &Path, cache: &Path| folder::outside(data, root, Some(cache.to_owned()));
    let elsewhere = home.directory.path().join("data/rebuilds");
    assert_eq!(of(&elsewhere, &cache).expect("a place"), elsewhere);
    let inside = root.join("target/weighbridge/rebuilds");
    let made = of(&inside, &cache).expect("a place");
    assert!(made.starts_with(cache.join("weighbridge/rebuilds")), "{}", made.display());
    assert_ne!(made, of(&root.join("data/rebuilds"), &cache).expect("a place"));
    let link = home.directory.path().join("link");
    symlink(root, &link).expect("writable");
    assert_eq!(of(&link.join("target/weighbridge/rebuilds"), &cache).expect("a place"), made);
    let error = of(&inside, &root.join("cache")).expect_err("in the repository").to_string();
    assert!(error.contains("--data"), "{error}");
}

#[test]
fn a_branch_that_a_clone_has_left_out_is_told_with_what_brings_it() {
    let (home, repository) = repository(&[("Cargo.toml", "")]);
    let root = &home.place.root;
    let own = git(root, &["symbolic-ref", "--short", "HEAD"]).expect("a branch");
    git(root, &["checkout", "--quiet", "-b", "feature"]).expect("made");
    write(root, &[("Cargo.toml", "# more")]);
    commit_all(root);
    let told = |repository: &Repository, revision: &str| {
        repository.commit(revision).expect_err("it is not there").to_string()
    };
    let nothing = "there is no revision `mian` in this repository";
    assert_eq!(told(&repository, "mian"), nothing, "of no remote there is nothing to fetch");

    let clone = |name: &str, more: &[&str]| {
        let place = home.directory.path().join(name);
        let (from, to) = (format!("file://{}", root.display()), place.display().to_string());
        git(root, &[&["clone", "--quiet", "--branch", "feature"][..], more, &[&from, &to]].concat())
            .expect("cloned");
        Repository::find(&place).expect("found")
    };
    let whole = clone("whole", &[]);
    assert!(told(&whole, &own).ends_with(&format!("`origin/{own}` is there")));
    assert!(told(&whole, "mian").ends_with("`git fetch origin mian` brings it, as `FETCH_HEAD`"));
    let shallow = clone("shallow", &["--depth", "1"]);
    for revision in ["HEAD~1", &own] {
        let told = told(&shallow, revision);
        assert!(told.contains("this clone is shallow: `git fetch --unshallow"), "{told}");
        assert!(told.contains("`fetch-depth: 0`"), "{told}");
    }
}

#[test]
fn a_revision_is_built_by_its_own_toolchain_where_its_files_name_another() {
    let (home, repository) = repository(&[("Cargo.toml", ""), ("rust-toolchain.toml", "[toolchain]\n")]);
    let root = &home.place.root;
    let same = checkout(&home, &repository).expect("checked out").toolchain;
    assert_eq!(same, Toolchain::default());
    write(root, &[("rust-toolchain", "nightly\n")]);
    assert_ne!(checkout(&home, &repository).expect("checked out").toolchain, same);
    // Rustup takes this one for a revision in a folder that names none.
    fs::remove_file(root.join("rust-toolchain")).expect("there");
    fs::remove_file(root.join("rust-toolchain.toml")).expect("there");
    assert_ne!(checkout(&home, &repository).expect("checked out").toolchain, same);
}
