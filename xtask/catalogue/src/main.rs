//! `cargo catalogue`.

fn main() -> std::process::ExitCode {
    weighbridge_catalogue::main()
}
