//! The command line of `doctor`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `doctor`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: doctor -- python train.py --epochs 1")]
pub struct DoctorArgs {
    /// Look, and change nothing: the script runs once, whole, and writes its own files.
    #[arg(long)]
    pub(crate) only_look: bool,
    /// Look at this many steps, and end the script then [default: as many as --seconds allows].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: Option<u64>,
    /// Seconds to look at, from the first batch on [default: 20]. Experiments take up to six times as long.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<Duration>,
    /// Turns of each experiment. Intervals need eight.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(8..65))]
    pub(crate) rounds: u64,
    /// Seconds to wait for the first batch.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds)]
    pub(crate) patience: Duration,
    /// Gigabytes that the script may write in a run that is ended early.
    #[arg(long, value_name = "GB", default_value_t = 4.0, value_parser = gigabytes)]
    pub(crate) most_written: f64,
    /// Let the script write its own files in every run, where no layer can be laid over them.
    #[arg(long, conflicts_with = "only_look")]
    pub(crate) write_through: bool,
    /// Write the answer as JSON to this file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the page as HTML to this file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// The program and its arguments, as they are typed without the doctor.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) script: Vec<OsString>,
}

impl DoctorArgs {
    /// The script as it was typed.
    pub(crate) fn typed(&self) -> String {
        self.script.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

/// Reads a number of seconds: `20`, `0.5` or `20s`.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 =
        text.trim_end_matches('s').parse().map_err(|_| "it is no number of seconds".to_owned())?;
    let is_fine = number > 0.0 && number <= 86_400.0;
    is_fine
        .then(|| Duration::from_secs_f64(number))
        .ok_or_else(|| "it is not above 0 and up to 86400".to_owned())
}

fn gigabytes(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    (number > 0.0 && number < 1e6).then_some(number).ok_or_else(|| "it is not above 0".to_owned())
}
