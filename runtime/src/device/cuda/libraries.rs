//! Libraries of NVIDIA that no driver brings: by the loader's path, else in packages of an environment of
//! Python.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use libloading::os::unix::Library;

use super::probe;

/// Makes something of the first of these libraries that allows it; else tells why not, library by library:
/// nothing where there is none. What is opened stays open.
pub(super) fn first<T>(
    names: &[&str],
    fake: bool,
    make: impl Fn(&Library) -> Result<T, String>,
) -> Result<T, Vec<String>> {
    // A fake is one library for all, and another one would not know its device.
    if fake {
        return probe::open().and_then(|library| make(&library)).map_err(|why| vec![why]);
    }
    let folders: Vec<PathBuf> = environments().iter().flat_map(|place| folders(place)).collect();
    let mut failed = Vec::new();
    for file in candidates(names, &folders) {
        // SAFETY: its initialisers are those that any program that uses it runs.
        match unsafe { Library::new(&file) } {
            Ok(library) => {
                let made = make(&library);
                // It has threads and memory of its own, and is not made to be closed.
                std::mem::forget(library);
                match made {
                    Ok(made) => return Ok(made),
                    Err(why) => failed.push(format!("{}: {why}", file.display())),
                }
            }
            // Of a name the loader says no more than that there is none; a file is there.
            Err(error) if file.is_absolute() => failed.push(error.to_string()),
            Err(_) => {}
        }
    }
    Err(failed)
}

/// The places at which one of them may be, in the order in which they are tried: by name, then in folders of
/// Python packages.
fn candidates(names: &[&str], folders: &[PathBuf]) -> Vec<PathBuf> {
    let named = |name: &&str| {
        let inside = folders.iter().map(|folder| folder.join(name)).filter(|file| file.is_file());
        std::iter::once(PathBuf::from(name)).chain(inside).collect::<Vec<_>>()
    };
    names.iter().flat_map(named).collect()
}

/// The environments of Python that were named: that of `--python`, and the one that is active.
fn environments() -> Vec<PathBuf> {
    let path = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    // An interpreter lies at `<environment>/bin/python`.
    let of_interpreter = |python: PathBuf| Some(python.parent()?.parent()?.to_owned());
    path("WEIGHBRIDGE_PYTHON").and_then(of_interpreter).into_iter().chain(path("VIRTUAL_ENV")).collect()
}

/// The folders of libraries that packages of NVIDIA have in a virtual environment:
/// `lib/python*/site-packages/nvidia/*/lib`.
fn folders(venv: &Path) -> Vec<PathBuf> {
    let inner = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut inner: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        inner.sort();
        inner
    };
    let is_python = |folder: &PathBuf| {
        folder.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("python"))
    };
    let packages = |python: PathBuf| inner(&python.join("site-packages/nvidia"));
    let pythons = inner(&venv.join("lib")).into_iter().filter(is_python);
    pythons.flat_map(packages).map(|package| package.join("lib")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_library_of_which_it_can_be_made_is_used_and_others_say_why_not() {
        type Size = extern "C" fn(i32) -> i32;
        // SAFETY: the signature is that of C, whose library stays open.
        let size = |library: &Library| {
            unsafe { probe::symbol::<Size>(library, "abs") }.ok_or("it has no abs".to_owned())
        };
        let found = first(&["libnosuch.so.1", "libc.so.6"], false, size).unwrap();
        assert_eq!(found(-9), 9);
        assert_eq!(first(&["libnosuch.so.1"], false, size).map(drop), Err(vec![]));
        let none = |_: &Library| Err::<(), _>("it is too old".to_owned());
        assert_eq!(first(&["libc.so.6"], false, none), Err(vec!["libc.so.6: it is too old".to_owned()]));
    }

    #[test]
    fn a_library_is_looked_for_by_name_and_then_in_packages_of_the_environment() {
        let venv = tempfile::tempdir().unwrap();
        let packages = venv.path().join("lib/python3.12/site-packages/nvidia");
        for folder in ["cublas/lib", "cu13/lib"] {
            std::fs::create_dir_all(packages.join(folder)).unwrap();
        }
        let file = packages.join("cublas/lib/libcublas.so.12");
        std::fs::write(&file, "").unwrap();
        let found = candidates(&["libcublas.so.13", "libcublas.so.12"], &folders(venv.path()));
        assert_eq!(found, [Path::new("libcublas.so.13"), Path::new("libcublas.so.12"), &file]);
        assert!(folders(&venv.path().join("nowhere")).is_empty());
    }
}
