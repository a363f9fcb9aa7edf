//! The runs that came back: each is read whole before it is stored, as a run that lies here is.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weighbridge::data::{Exit, Layout, RunId, RunStatus, Runs, fake_device, visible_in_line};
use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;
use weighbridge_xtask::stop;

use super::results::Results;

const FITS: &str = "a String takes all that is written";

/// Stores the runs, and says how the steps ended.
///
/// # Errors
/// That the folder is none of results, or that this machine's data directory cannot be written.
pub(super) fn unpack(folder: &Path, place: &Place) -> Result<CommandOutput> {
    let results = Results::of(folder)?;
    let steps = results.steps()?;
    let mut said = CommandOutput::fine(String::new());
    for data in results.data() {
        let from = Runs::new(Layout::new(&data));
        for entry in fs::read_dir(data.join("runs")).context("failed to list the runs")? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            match take(&from, &name, place) {
                Ok(line) => writeln!(said.text, "{line}").expect(FITS),
                Err(why) => {
                    let why = visible_in_line(&stop::told(&why));
                    said.remarks.push(format!("error: {} was not stored: {why}", visible_in_line(&name)));
                    said.exit = Exit::Failed;
                }
            }
        }
    }
    for step in &steps {
        writeln!(said.text, "step {}: {}, {} s", step.name, step.state, step.seconds).expect(FITS);
    }
    let wrong: Vec<&str> =
        steps.iter().filter(|step| !step.is_well()).map(|step| step.name.as_str()).collect();
    if !wrong.is_empty() {
        let again = wrong.iter().map(|name| format!(" {name}")).collect::<String>();
        said.remarks.push(format!(
            "{} of {} steps did not end well; what each printed is in {}; on the device: ./run.sh \
             again{again}",
            wrong.len(),
            steps.len(),
            folder.display()
        ));
        said.exit = Exit::Failed;
    }
    Ok(said)
}

/// Stores one run; the answer says that it is there.
fn take(from: &Runs, name: &str, place: &Place) -> Result<String> {
    let Ok(id) = name.parse::<RunId>() else { bail!("this is no id of a run") };
    let whole = from.load_whole(&id)?;
    let manifest = &whole.manifest;
    let device = match fake_device(&manifest.environment) {
        Some(_) => ", FAKE DEVICE",
        None => "",
    };
    // A step over its limit leaves one: what it had measured is worth keeping.
    let broken = if manifest.status == RunStatus::Complete { "" } else { ", broken off" };
    let told = format!(
        "run {id}: {}, {} cases, platform {} on {}{device}{broken}",
        visible_in_line(&manifest.suite),
        whole.cases.len(),
        visible_in_line(&manifest.requested_platform),
        visible_in_line(&manifest.active_backend),
    );
    let to = place.layout.run(&id);
    if to.exists() {
        return Ok(format!("{told}; it is here already"));
    }
    // It gets its name when it is whole.
    let part = place.layout.runs().join(format!(".new-{id}"));
    let copied = copy(&from.layout().run(&id), &part)
        .and_then(|()| fs::rename(&part, &to).with_context(|| format!("failed to make {}", to.display())));
    copied.inspect_err(|_| drop(fs::remove_dir_all(&part)))?;
    Ok(format!("{told}; stored"))
}

/// Copies a folder of plain files and folders: all that there is in results that were looked at.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("failed to make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("failed to read {}", from.display()))? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).with_context(|| format!("failed to copy {}", source.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::hostile::is_plain;
    use crate::fixtures::{Home, around, case, home, run};

    /// A folder of results with this run in it.
    fn results(from: &Home, steps: &str) -> std::path::PathBuf {
        let folder = from.directory.path().join("results");
        copy(from.place.layout.data(), &folder.join("data")).unwrap();
        fs::write(folder.join("steps.tsv"), format!("step\tstate\tseconds\tlimit\n{steps}")).unwrap();
        folder
    }

    #[test]
    fn a_run_that_came_back_is_stored_once_and_is_the_run_that_it_was() {
        let (there, here) = (home(), home());
        let record = run(1_000, vec![case("CV-1", "ours", &around(1e6))]);
        let id = there.store(&record);
        let folder = results(&there, "03-modes\tok\t9\t60\n");
        let said = unpack(&folder, &here.place).unwrap();
        assert!(said.exit == Exit::Fine && said.text.contains("; stored"), "{said:?}");
        assert!(said.text.contains("step 03-modes: ok, 9 s"), "{}", said.text);
        assert_eq!(here.place.runs().load_whole(&id).unwrap(), there.place.runs().load_whole(&id).unwrap());
        let again = unpack(&folder, &here.place).unwrap();
        assert!(again.text.contains("it is here already"), "{}", again.text);
    }

    #[test]
    fn a_run_that_was_changed_on_its_way_is_refused_and_the_others_are_stored() {
        let (there, here) = (home(), home());
        let record = run(1_000, vec![case("CV-1", "ours", &around(1e6))]);
        let id = there.store(&record);
        let folder = results(&there, "03-modes\tok\t9\t60\n04\u{1b}[2J\tfailed: exit 1\t1\t60\n");
        let file = folder.join("data/runs").join(id.to_string()).join("run.json");
        let text = fs::read_to_string(&file).unwrap();
        let changed = text.replacen("\"cpu\"", "\"gpu\"", 1);
        assert_ne!(changed, text);
        fs::write(&file, changed).unwrap();
        let said = unpack(&folder, &here.place).unwrap();
        assert_eq!(said.exit, Exit::Failed);
        assert!(said.remarks[0].contains("was not stored"), "{:?}", said.remarks);
        assert!(!here.place.layout.run(&id).exists());
        is_plain(&said.printed(), "unpack");
        is_plain(&said.printed_remarks(), "unpack");
    }
}
