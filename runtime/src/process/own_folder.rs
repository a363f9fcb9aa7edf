//! Folders for temporary files that nobody else can read or write: others use the same machine, and the
//! names of such folders can be foreseen.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use nix::unistd::geteuid;

/// The rights of a folder that is its owner's alone.
const ALONE: u32 = 0o700;
/// The rights that let others write.
const BY_OTHERS: u32 = 0o022;

/// Makes a folder that is this user's alone, with those above it that are not there. One that is there is
/// taken if it is this user's and nobody else may write there.
///
/// # Errors
/// That it cannot be made; that it is a link, another user's, or open to others, with what helps.
pub(crate) fn make_own_folder(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        DirBuilder::new().recursive(true).mode(ALONE).create(above)?;
    }
    match DirBuilder::new().mode(ALONE).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => take(folder),
        made => made,
    }
}

/// Takes a folder that is there.
fn take(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    if let Some(why) = refusal(folder, &found, geteuid().as_raw()) {
        return Err(io::Error::other(why));
    }
    if found.mode() & 0o777 != ALONE {
        fs::set_permissions(folder, Permissions::from_mode(ALONE))?;
    }
    Ok(())
}

/// The reason why a folder is not taken, with what helps.
fn refusal(folder: &Path, found: &Metadata, user: u32) -> Option<String> {
    let name = folder.display();
    let why = if !found.is_dir() {
        "is no folder".to_owned()
    } else if found.uid() != user {
        format!("belongs to another user ({})", found.uid())
    } else if found.mode() & BY_OTHERS != 0 {
        format!("may be written by others (mode {:o})", found.mode() & 0o777)
    } else {
        return None;
    };
    Some(format!(
        "`{name}` {why}, who could change what is measured: remove it, or name a folder of your own for \
         temporary files in TMPDIR"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_for_its_owner_alone_and_taken_again() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("above").join("wb-1");
        let mode = |folder: &Path| fs::metadata(folder).expect("there").mode() & 0o777;
        for _ in 0..2 {
            make_own_folder(&folder).expect("it is ours");
            assert_eq!((mode(&folder), mode(folder.parent().expect("it has one"))), (ALONE, ALONE));
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("ours");
        make_own_folder(&folder).expect("nobody else could write there");
        assert_eq!(mode(&folder), ALONE);
    }

    #[test]
    fn a_folder_that_another_could_have_made_is_refused_with_what_helps() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("wb-1");
        fs::create_dir(&folder).expect("made");
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("ours");
        let said = make_own_folder(&folder).expect_err("others may write").to_string();
        assert!(said.contains("may be written by others (mode 777)") && said.contains("TMPDIR"), "{said}");
        let found = fs::metadata(&folder).expect("there");
        let said = refusal(&folder, &found, found.uid() + 1).expect("another's");
        assert!(said.contains("belongs to another user"), "{said}");

        let link = place.path().join("wb-2");
        std::os::unix::fs::symlink(place.path(), &link).expect("made");
        let said = make_own_folder(&link).expect_err("a link").to_string();
        assert!(said.contains("is no folder"), "{said}");
    }
}
