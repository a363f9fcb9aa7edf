//! The `xtask` binary. A workspace of its own makes the same of these three lines.

fn main() -> std::process::ExitCode {
    weighbridge_xtask::main()
}
