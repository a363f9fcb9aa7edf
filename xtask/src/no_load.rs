//! `load` in a build without the load client: what to type to get it.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::command_output::CommandOutput;
use crate::stop;

/// Arguments that this build cannot read.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct NoLoad {
    /// Any.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: &NoLoad, _: Option<PathBuf>) -> Result<CommandOutput> {
    let typed: Vec<_> = args.args.iter().map(|arg| arg.to_string_lossy()).collect();
    Err(stop::usage(format!(
        "this build has no load client: install it by `cargo install --path xtask --bin cargo-weighbridge \
         --features load`, or run `cargo run --package weighbridge-xtask --bin xtask --features load -- load \
         {}`",
        typed.join(" ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_to_get_the_load_client() {
        let error = run(&NoLoad { args: vec!["--help".into()] }, None).unwrap_err().to_string();
        assert!(error.contains("--features load"), "{error}");
    }
}
