//! `cargo weighbridge`: what `cargo xtask` is in a workspace that has no package for it.

fn main() -> std::process::ExitCode {
    weighbridge_xtask::main()
}
