//! Lists what an installed program carries with it, where the feature `embedded` asks for it: the worker's
//! package, the scripts that it is held against, and the files of requirements.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FOLDERS: [&str; 3] = ["weighbridge_worker", "by_hand", "requirements"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_EMBEDDED").is_none() {
        return; // so that an edit of a worker builds nothing anew
    }
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root).expect("it lies below").display().to_string();
        writeln!(list, "    ({name:?}, include_str!({:?})),", file.display().to_string()).expect("a String");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("embedded.rs");
    fs::write(out, list).expect("cargo's folder can be written");
}

/// The files of text below a folder: nothing that Python has compiled.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("it is packaged").flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "__pycache__") {
                collect(&path, files);
            }
        } else if path
            .extension()
            .is_some_and(|extension| ["py", "txt", "in"].iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
}
