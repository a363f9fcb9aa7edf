//! `calibrate`: how often a duel is wrong on this machine, and what it finds. The same program is measured in
//! turns with itself, as it is and with slowdowns planted into one side.

mod trial;

pub(crate) mod stored_calibration;

use anyhow::{Context, Result};
use clap::Args;
use std::fs;
use std::path::PathBuf;

use crate::command_output::{CommandOutput, say};
use crate::place::Place;
use crate::programs::{self, BuiltProgram};
use crate::stop;
use crate::table::Table;
use stored_calibration::{CaseCalibration, StoredCalibration};
use trial::Trial;
use weighbridge::data::{Exit, quantity};

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// Calibrate this suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Number of times that each comparison is tried.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tries: u32,
    /// Arguments for the bench targets: filters, `--profile quick`.
    #[arg(last = true, value_name = "BENCH ARGS")]
    pub(crate) bench_args: Vec<String>,
}

/// The slowdowns that are planted.
const SHARES: [f64; 4] = [0.01, 0.02, 0.05, 0.10];

pub(crate) fn run(args: &Calibrate, place: &Place) -> Result<CommandOutput> {
    let programs = programs::build(&place.root)?;
    let meant = |program: &&BuiltProgram| args.suite.as_ref().is_none_or(|suite| *suite == program.suite);
    let mut said = CommandOutput::fine("");
    for program in programs.iter().filter(meant) {
        let copy = copy(program, place)?;
        let mut trials = Vec::new();
        for number in 0..args.tries {
            for share in [0.0].into_iter().chain(SHARES) {
                say(&format!("{}: try {} of {}, {}", program.suite, number + 1, args.tries, planted(share)));
                let flags = args.bench_args.clone();
                trials.push(Trial::take(program, &copy, place, share, &flags)?);
            }
        }
        let left_out = stored_calibration::left_out(&trials);
        let Some(calibration) = StoredCalibration::of(&program.suite, &trials) else {
            said.remarks.push(format!("{}: nothing to calibrate by", program.suite));
            said.remarks.extend(left_out);
            continue;
        };
        let file = stored_calibration::write(place, &calibration)?;
        said.text.push_str(&format!("{}\n\n{}", program.suite, table(&calibration).text()));
        said.text.push_str(&format!("\n{}\n", calibration.error_rate()));
        for line in left_out {
            said.text.push_str(&format!("{line}\n"));
        }
        said.text.push('\n');
        said.remarks.push(format!("files: {}", file.display()));
    }
    if said.text.is_empty() {
        let mut why = said.remarks;
        let tool = weighbridge::tool();
        why.push(format!("no suite was calibrated: `{tool} calibrate --suite PACKAGE/TARGET`"));
        return Err(stop::nothing(why.join("\n")));
    }
    said.exit = Exit::Fine;
    Ok(said)
}

/// The same program under another name: both sides of a duel are files of their own, as they would be.
fn copy(program: &BuiltProgram, place: &Place) -> Result<BuiltProgram> {
    let folder = place.layout.calibrations();
    fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    let path: PathBuf = folder.join(format!(".copy-{}", program.suite.replace('/', "-")));
    fs::copy(&program.path, &path).with_context(|| format!("failed to copy to `{}`", path.display()))?;
    Ok(BuiltProgram { path, ..program.clone() })
}

/// A planted slowdown in words.
fn planted(share: f64) -> String {
    if share == 0.0 { "as it is".to_owned() } else { format!("{} % planted", share * 100.0) }
}

fn table(calibration: &StoredCalibration) -> Table {
    let mut titles = vec!["case", "false alarms>"];
    titles.extend(["+1 %>", "+2 %>", "+5 %>", "+10 %>"]);
    titles.extend(["between>", "within>", "rounds>", "detects>", "seconds>"]);
    let mut table = Table::new(titles);
    for case in &calibration.cases {
        let mut cells = vec![case.case.clone(), format!("{} of {}", case.false_alarms, case.tries)];
        for share in SHARES {
            cells.push(found(case, share));
        }
        cells.push(quantity::change(case.between).trim_start_matches('+').to_owned());
        cells.push(quantity::change(case.within).trim_start_matches('+').to_owned());
        cells.push(case.rounds.map_or_else(|| "> 24".to_owned(), |rounds| rounds.to_string()));
        cells.push(quantity::change(case.detectable));
        cells.push(format!("{:.1}", case.seconds));
        table.row(cells);
    }
    table
}

fn found(case: &CaseCalibration, share: f64) -> String {
    let power = case.power.iter().find(|power| (power.share - share).abs() < 1e-9);
    power.map_or_else(|| "-".to_owned(), |power| format!("{}/{}", power.found, power.tries))
}
