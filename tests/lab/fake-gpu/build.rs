//! Gives the driver the name that others look for, inside of the file and not of it.

fn main() {
    // Who has opened the file by its path finds it again as `libcuda.so`; nobody else does.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    println!("cargo:rerun-if-changed=build.rs");
}
