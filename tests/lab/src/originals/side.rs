//! One side of the comparison: a bench program, and the median that it reports for a body.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use weighbridge::data::names;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The harness whose style a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarnessStyle {
    Criterion,
    Divan,
}

impl HarnessStyle {
    pub(super) const ALL: [Self; 2] = [Self::Criterion, Self::Divan];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Criterion => "criterion",
            Self::Divan => "divan",
        }
    }

    /// The bench target of a side.
    pub(super) fn target(self, side: &str) -> String {
        format!("{}_{side}", self.name())
    }

    /// The bodies of its file, by the names that both sides have for them.
    pub(super) fn bodies(self) -> &'static [&'static str] {
        match self {
            Self::Criterion => &["fibonacci", "grouped/sum", "grouped/sort", "grouped/text"],
            Self::Divan => &["fibonacci", "grouped::sum", "grouped::sort", "grouped::text"],
        }
    }
}

/// A bench program that is started for one body at a time.
#[derive(Clone, Debug)]
pub(super) struct OriginalSide {
    program: PathBuf,
    /// Criterion or divan; `None`: what stands for them.
    original: Option<HarnessStyle>,
}

impl OriginalSide {
    pub(super) fn original(style: HarnessStyle, program: PathBuf) -> Self {
        Self { program, original: Some(style) }
    }

    pub(super) fn compatible(program: PathBuf) -> Self {
        Self { program, original: None }
    }

    /// What a fresh process reports as the median of a body, in seconds. All measure for about half a second.
    /// What it writes lies in this folder, which is emptied before.
    ///
    /// # Errors
    /// When it cannot be started, fails, or says something else.
    pub(super) fn median(&self, body: &str, folder: &Path) -> Result<f64> {
        drop(std::fs::remove_dir_all(folder));
        std::fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
        let median = match self.original {
            Some(HarnessStyle::Criterion) => {
                let line = ["--bench", "--exact", body, "--noplot", "--warm-up-time", "0.2"];
                let line = line.iter().chain(&["--measurement-time", "0.5", "--sample-size", "50"]);
                self.run(line.map(Into::into), folder)?;
                let file = folder.join(body).join("new/estimates.json");
                let median = number(&file, |estimates| estimates["median"]["point_estimate"].as_f64());
                median.map(|nanoseconds| nanoseconds * 1e-9)
            }
            Some(HarnessStyle::Divan) => {
                let name = format!("{}::{body}", HarnessStyle::Divan.target("original"));
                let line = [
                    "--bench",
                    "--exact",
                    &name,
                    "--min-time",
                    "0.5",
                    "--max-time",
                    "0.7",
                    "--color",
                    "never",
                ];
                divan_median(&self.run(line.iter().map(Into::into), folder)?, body)
            }
            None => {
                let line = [
                    "--bench",
                    "--exact",
                    body,
                    "--repeats",
                    "1",
                    "--min-time",
                    "0.5",
                    "--no-lock",
                    "--quiet",
                ];
                let data = [OsString::from("--data"), folder.into()];
                self.run(line.iter().map(Into::into).chain(data), folder)?;
                number(&only_case(folder)?, |case| {
                    let metrics = case["record"]["metrics"].as_array()?;
                    let wall = metrics.iter().find(|metric| metric["name"] == names::WALL_TIME)?;
                    wall["estimate"]["median"].as_f64()
                })
            }
        };
        let median = median.with_context(|| format!("`{}` of `{body}`", self.program.display()))?;
        ensure!(median > 0.0, "`{}` measured nothing of `{body}`", self.program.display());
        Ok(median)
    }

    /// Runs the program with what it keeps in this folder, and gives what it printed.
    fn run(&self, line: impl Iterator<Item = OsString>, folder: &Path) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.args(line).env("CRITERION_HOME", folder).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("WEIGHBRIDGE_") || name.starts_with("DIVAN_") {
                command.env_remove(name);
            }
        }
        let ended = command.output().with_context(|| format!("failed to start {command:?}"))?;
        if !ended.status.success() {
            bail!("{command:?} ended with {}: {}", ended.status, String::from_utf8_lossy(&ended.stderr));
        }
        Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
    }
}

/// The file of the only case of the only run in a data directory.
fn only_case(data: &Path) -> Result<PathBuf> {
    let one = |folder: PathBuf| -> Result<PathBuf> {
        let entries =
            std::fs::read_dir(&folder).with_context(|| format!("failed to read {}", folder.display()))?;
        let seen =
            |path: &PathBuf| !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(seen).collect();
        match &found[..] {
            [only] => Ok(only.clone()),
            _ => bail!("{} entries in {}, where one was to be", found.len(), folder.display()),
        }
    };
    one(one(data.join("runs"))?.join("cases"))
}

/// A number of a JSON file.
fn number(file: &Path, of: impl FnOnce(&Value) -> Option<f64>) -> Result<f64> {
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    let value = serde_json::from_str(&text).with_context(|| format!("{} is no JSON", file.display()))?;
    of(&value).with_context(|| format!("no median in {}", file.display()))
}

/// The median in divan's table: the third cell of the row that ends the path of the body.
fn divan_median(table: &str, body: &str) -> Result<f64> {
    let name = body.rsplit("::").next().unwrap_or(body);
    let after_name = |line: &str| {
        let (branch, rest) = line.split_once(name)?;
        (branch.ends_with("─ ") && rest.starts_with(' ')).then(|| rest.to_owned())
    };
    let row = table.lines().find_map(after_name).with_context(|| format!("no row of `{name}` in {table}"))?;
    let cell = row.split('│').nth(2).map(str::trim).unwrap_or_default();
    let seconds = cell.split_once(' ').and_then(|(number, unit)| {
        let scale = match unit {
            "ps" => 1e-12,
            "ns" => 1e-9,
            "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * scale)
    });
    seconds.with_context(|| format!("`{cell}` is no time: {row}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_divans_table_is_found_by_the_end_of_the_path() {
        let table = "\
divan_original  fastest       │ slowest       │ median        │ mean          │ samples │ iters
╰─ grouped                    │               │               │               │         │
   ├─ sort      7.6 µs        │ 9.1 µs        │ 7.812 µs      │ 7.9 µs        │ 100     │ 100
   ╰─ text      3 ns          │ 4 ns          │ 3.5 ns        │ 3.6 ns        │ 100     │ 100
";
        assert!((divan_median(table, "grouped::sort").unwrap() - 7.812e-6).abs() < 1e-12);
        assert!((divan_median(table, "grouped::text").unwrap() - 3.5e-9).abs() < 1e-15);
        let missing = divan_median(table, "grouped::sum").unwrap_err().to_string();
        assert!(missing.starts_with("no row of `sum`"), "{missing}");
    }

    #[test]
    fn only_one_case_is_taken_for_the_body_that_was_measured() {
        let data = tempfile::tempdir().unwrap();
        let cases = data.path().join("runs/1/cases");
        std::fs::create_dir_all(&cases).unwrap();
        std::fs::write(cases.join("a.json"), "{}").unwrap();
        assert_eq!(only_case(data.path()).unwrap(), cases.join("a.json"));
        std::fs::write(cases.join("b.json"), "{}").unwrap();
        assert!(only_case(data.path()).is_err());
    }
}
