//! A comparison on one rank: this process is the parent of both programs, and neither of them judges.

use std::path::Path;

use weighbridge::data::{DuelOrder, DuelProgram, Exit, judge_duel};

use super::names::DUEL;
use crate::folder::{LaunchFolder, write_json};
use crate::spec::LaunchSpec;

/// Measures both programs of the bundle in turns and writes the comparison; its exit code. `words` are the
/// launch's folder, the stage, the place among the ranks of this host, and the file.
pub(super) fn judge(words: &[String]) -> Result<u8, String> {
    let bad = || format!("{DUEL}: `{}` is no folder, stage, rank and file", words.join(" "));
    let [folder, name, local, comparison] = words else { return Err(bad()) };
    let folder = LaunchFolder::at(folder.into());
    let spec = LaunchSpec::read(&folder.spec()).map_err(|error| error.to_string())?;
    let stage = spec.stages.iter().find(|stage| stage.name == *name).ok_or_else(bad)?;
    let duel = spec.duel.as_ref().ok_or_else(bad)?;
    let data = std::env::var_os("WEIGHBRIDGE_DATA").ok_or("WEIGHBRIDGE_DATA is not set")?;
    let mut flags = stage.args.clone();
    if local != "0" {
        flags.push("--no-lock".to_owned());
    }
    let bundle = folder.bundle();
    let (baseline, program) = (folder.baseline(), folder.program());
    let programs = [&baseline, &program].map(|path| DuelProgram { path, directory: &bundle });
    let order = DuelOrder {
        suite: &duel.suite,
        programs,
        name: duel.name.clone(),
        flags: &flags,
        data: Path::new(&data),
        policy: &duel.policy,
        changes: &[],
        notes: Vec::new(),
        // Programs travel built to the hosts of a launch: nothing is linked there.
        relink: None,
    };
    match judge_duel(order) {
        Ok(judged) => {
            write_json(Path::new(comparison), &judged).map_err(|error| error.to_string())?;
            Ok(Exit::from(judged.outcome(&duel.policy)).code())
        }
        Err(unjudged) => {
            eprintln!("weighbridge launch: {unjudged}");
            Ok(unjudged.exit.code())
        }
    }
}
