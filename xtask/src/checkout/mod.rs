//! Revisions that are checked out to be built, each in a folder that is kept: a second comparison with it
//! builds nothing.
//!
//! What is built must be what the revision was. Cargo and rustup look for their files in all folders above
//! the one that they are called in, so a checkout lies in none of the work tree's ([`folder`]); what it needs
//! of the folders around the repository is linked into their image ([`around`]).

mod around;
mod build_note;
mod folder;
mod large_files;
mod submodules;
mod verified;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use weighbridge::data::visible_in_line;

use crate::build_options::BuildOptions;
use crate::git::git;
use crate::place::Place;
use crate::programs::{self, BuiltProgram};
use crate::repository::{Repository, short};
use crate::toolchain::Toolchain;
use around::Around;
use build_note::BuildNote;
pub(crate) use folder::{is_checkout, last_used, rebuilds};

/// A revision, checked out.
pub(crate) struct Checkout {
    /// Its folder: files that belong to it lie here, beside its files.
    pub(crate) folder: PathBuf,
    /// The top of its files.
    pub(crate) top: PathBuf,
    /// The workspace in it.
    pub(crate) root: PathBuf,
    /// The toolchain that builds it.
    pub(crate) toolchain: Toolchain,
    /// Things to know of it.
    pub(crate) notes: Vec<String>,
    /// True if its build is one that was kept, and is as it was left.
    is_kept: bool,
    note: Option<BuildNote>,
    target: PathBuf,
    missing: Vec<PathBuf>,
}

impl Checkout {
    /// Checks a commit out, or takes the checkout that is kept of it if every file of it is the commit's. A
    /// build that is kept is taken if it is as it was left.
    ///
    /// # Errors
    /// Where it cannot be checked out whole: files that git keeps elsewhere are not to be had.
    pub(crate) fn of(repository: &Repository, commit: &str, place: &Place) -> Result<Self> {
        let lock = place.root.join("Cargo.lock");
        let committed = repository.file(commit, Path::new("Cargo.lock"));
        let lock_text = committed.clone().map_or_else(|| fs::read(&lock).unwrap_or_default(), String::into);
        let all = rebuilds(place)?;
        let folder = all.join(folder::name(commit, &lock_text));
        folder::refuse_above(&folder)?;
        let around = folder.join("around");
        let top = around::image(&around, repository.top());
        around::clear(&around, &top)?;
        let root = top.join(repository.workspace());
        let mut notes = Vec::new();
        let found = verified::look(repository.top(), commit, &top)?;
        if !(found.is_whole && folder::was_whole(&folder)) {
            if folder::was_whole(&folder) {
                notes.push(format!(
                    "what was kept of {} was not whole, or not as the commit has it, and is made anew",
                    short(commit)
                ));
            }
            check_out(repository, commit, &folder, &top)?;
            folder::mark_whole(&folder)?;
        } else if let Some(first) = found.others.first() {
            for other in &found.others {
                verified::remove(other)?;
            }
            let first = first.strip_prefix(&top).unwrap_or(first).display().to_string();
            let more = and_more(found.others.len());
            notes.push(format!(
                "removed from what was kept of {}, since the commit does not have it: `{}`{more}",
                short(commit),
                visible_in_line(&first)
            ));
        }
        if committed.is_none() && lock.exists() {
            // The same dependencies on both sides, where the repository does not keep them.
            fs::copy(&lock, root.join("Cargo.lock")).context("failed to copy Cargo.lock")?;
        }
        let Around { packages, missing } = around::link(repository.top(), &top, &around)?;
        if let Some(first) = packages.first() {
            let first = first.display().to_string();
            let more = and_more(packages.len());
            notes.push(format!(
                "built as it lies outside the repository now: `{}`{more}",
                visible_in_line(&first)
            ));
        }
        let target = folder.join("target");
        let noted = |folder: &Path| BuildNote::of(folder, place.layout.data());
        let is_as_left = |folder: &Path| noted(folder).is_some_and(|note| note.fits(&folder.join("target")));
        let note = noted(&folder);
        let is_kept = target.exists() && is_as_left(&folder);
        if target.exists() && !is_kept {
            notes.push(match &note {
                Some(_) => {
                    "what was kept of its build is not as it was left here, and is built anew".to_owned()
                }
                None => "the user has no folder for a note of its build, which is built anew".to_owned(),
            });
            verified::remove(&target)?;
        }
        if !target.exists() {
            folder::take_over(&all, &target, is_as_left);
        }
        folder::mark_used(&folder)?;
        let toolchain = Toolchain::of_revision(&place.root, &root);
        Ok(Self { folder, top, root, toolchain, notes, is_kept, note, target, missing })
    }

    /// Builds its bench programs with these options.
    ///
    /// # Errors
    /// When they do not build, also from nothing.
    pub(crate) fn build(&mut self, options: &BuildOptions) -> Result<Vec<BuiltProgram>> {
        let first = programs::build_by(self.cargo(), &self.root, options);
        let built = match first {
            // A folder of which a cache restored a part: it was built once, so it can be built.
            Err(_) if folder::was_built(&self.folder) => {
                self.notes.push("what was kept of its build does not build, and is built anew".to_owned());
                fs::remove_dir_all(&self.target)
                    .with_context(|| format!("failed to remove `{}`", self.target.display()))?;
                programs::build_by(self.cargo(), &self.root, options)
            }
            first => first,
        };
        let built = built.map_err(|error| match self.missing.first() {
            Some(missing) => error.context(format!(
                "it depends on `{}`, where no package lies: put it there, or compare with a program that \
                 was built elsewhere by --program PATH",
                missing.display()
            )),
            None => error,
        })?;
        folder::mark_built(&self.folder)?;
        if let Some(note) = &self.note {
            note.make(&self.target)?;
        }
        Ok(built)
    }

    /// Has somebody build in it once more, if nobody has written into its build since it was built, and takes
    /// what that leaves for its build.
    ///
    /// # Errors
    /// When its build is not as it was left, and what the caller fails with.
    pub(crate) fn build_more<T>(&self, more: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(note) = &self.note else {
            bail!("the user has no folder for a note of the baseline's build")
        };
        if !note.fits(&self.target) {
            bail!("the baseline's build is not as it was left");
        }
        let made = more();
        note.make(&self.target)?;
        made
    }

    /// The state of its files and of its build, in words.
    pub(crate) fn state(&self) -> &'static str {
        if self.is_kept {
            "its files are the commit's, its build is as it was left"
        } else {
            "its files are the commit's, and it was built now"
        }
    }

    /// Cargo in its workspace.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = self.toolchain.cargo(&self.root);
        cargo.env("CARGO_TARGET_DIR", &self.target);
        cargo
    }
}

/// Makes the files of a commit, with those that git keeps elsewhere.
fn check_out(repository: &Repository, commit: &str, folder: &Path, top: &Path) -> Result<()> {
    if top.exists() {
        fs::remove_dir_all(top).with_context(|| format!("failed to remove `{}`", top.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    // A folder that was removed by hand is still on git's list.
    drop(git(repository.top(), &["worktree", "prune"]));
    let path = top.display().to_string();
    git(repository.top(), &["worktree", "add", "--force", "--detach", &path, commit])
        .context("failed to check the revision out")?;
    submodules::check_out(repository.top(), top)?;
    let pointers = large_files::pointers(top)?;
    if let Some(first) = pointers.first() {
        bail!(
            "`{}`{} of {} is a pointer of Git LFS and not the file: install git-lfs, and fetch what the \
             revision has by `git lfs fetch origin {}`",
            visible_in_line(first),
            and_more(pointers.len()),
            short(commit),
            short(commit)
        );
    }
    Ok(())
}

/// The words for all but the first of so many.
fn and_more(all: usize) -> String {
    if all > 1 { format!(" and {} more", all - 1) } else { String::new() }
}

#[cfg(test)]
mod tests;
