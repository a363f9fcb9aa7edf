//! A fake for NVRTC, where there is a C++ compiler: the kernels that it makes run on the host.

use std::path::Path;
use std::process::Command;

/// The host's compiler.
const COMPILER: &str = "c++";

/// Makes the library at a path, which the command `c++` compiles. Whoever has opened it there finds it again
/// as `libnvrtc.so`.
///
/// # Errors
///
/// When it cannot be compiled.
pub fn make_compiler(library: &Path) -> std::io::Result<()> {
    let source = library.with_extension("cpp");
    let (text, device) = (include_str!("nvrtc/library.cpp"), include_str!("nvrtc/device.h"));
    let device = format!("const char DEVICE[] = R\"device({device})device\";");
    std::fs::write(&source, format!("#define COMPILER \"{COMPILER}\"\n{device}\n{text}"))?;
    let mut compiler = Command::new(COMPILER);
    compiler.args(["-std=c++17", "-O1", "-shared", "-fPIC", "-Wl,-soname,libnvrtc.so", "-o"]);
    let made = compiler.arg(library).arg(&source).status()?;
    std::fs::remove_file(source)?;
    if made.success() { Ok(()) } else { Err(std::io::Error::other("the C++ compiler failed")) }
}
