//! Records that are damaged: whatever a reader finds, it names the file or goes on without it, and never
//! believes it.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use weighbridge::data::{RunId, RunRecord, SCHEMA};

use super::draw::StormDraws;
use super::lab::{ARGS, FaultTrial, Lab, last, names};
use super::toll::{Harm, Toll};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    BitFlip,
    Truncation,
    Empty,
    /// The content of another file of its folder.
    Swap,
    /// Another digit in a figure.
    Digit,
    OlderSchema,
    NewerSchema,
    NoDigest,
    Garbage,
    /// A text that is nested deeply.
    Nest,
    Pipe,
    Folder,
    /// A link to a file without an end.
    Endless,
    Missing,
}

const DAMAGES: [Damage; 14] = [
    Damage::BitFlip,
    Damage::Truncation,
    Damage::Swap,
    Damage::Digit,
    Damage::BitFlip,
    Damage::OlderSchema,
    Damage::NewerSchema,
    Damage::NoDigest,
    Damage::Garbage,
    Damage::Nest,
    Damage::Pipe,
    Damage::Folder,
    Damage::Endless,
    Damage::Missing,
];

/// Commands of the tool that read a run.
const READERS: &[&[&str]] = &[
    &["runs", "list"],
    &["runs", "show", "RUN"],
    &["runs", "judge", "RUN"],
    &["baseline", "list"],
    &["export", "jsonl", "RUN"],
];

/// Tries so many damages.
pub(super) fn storm(lab: &Lab, draw: &mut StormDraws, faults: usize) -> Result<Toll> {
    let mut toll = Toll::new("records");
    let sound = Sound::make(lab)?;
    for number in 0..faults {
        let trial = lab.trial(&format!("record-{number}"))?;
        sound.copy_to(&trial)?;
        let damage = if number % DAMAGES.len() == 0 && number % 4 == 2 {
            Damage::Empty
        } else {
            DAMAGES[number % DAMAGES.len()]
        };
        let files = files(&trial.data());
        let file = draw.one(&files);
        let name = file.strip_prefix(trial.data()).unwrap_or(file).display().to_string();
        let fault = format!("{number}: {damage:?} of {name}");
        eprintln!("records: {fault}");
        spoil(file, damage, draw)?;
        let mut harm = Harm::default();
        for run in [&sound.whole, &sound.broken_off] {
            sound.expect_not_believed(&trial, run, damage, &mut harm);
        }
        for reader in READERS {
            let run = if name.contains(sound.broken_off.id()) { &sound.broken_off } else { &sound.whole };
            let words: Vec<&str> =
                reader.iter().map(|word| if *word == "RUN" { run.id() } else { word }).collect();
            let ended = trial.finish(&mut lab.xtask(&trial, &words))?;
            trial.expect_an_end(&ended, &words.join(" "), &mut harm);
        }
        sound.expect_a_refusal_or_a_resume(lab, &trial, &name, &mut harm)?;
        trial.expect_no_process(&mut harm);
        trial.clear();
        toll.add(&fault, &harm);
    }
    Ok(toll)
}

/// A data directory without damage: a whole run, one that was broken off, and a baseline.
struct Sound {
    trial: FaultTrial,
    whole: StoredRun,
    broken_off: StoredRun,
}

struct StoredRun {
    id: RunId,
    record: RunRecord,
}

impl StoredRun {
    fn of(trial: &FaultTrial, name: &str) -> Result<Self> {
        let id: RunId = name.parse().ok().context("a run has another name")?;
        Ok(Self { record: trial.store().load_whole(&id)?, id })
    }

    fn id(&self) -> &str {
        self.id.as_str()
    }
}

impl Sound {
    fn make(lab: &Lab) -> Result<Self> {
        let trial = lab.trial("records")?;
        for more in [&["--save-baseline", "main"][..], &["--budget", "0.1"]] {
            let ended = trial.finish(&mut lab.bench(&trial, &[ARGS, more].concat()))?;
            if !matches!(ended.code, Some(0 | 5)) {
                bail!("a run fails before any damage: {}", last(&ended.said));
            }
        }
        let runs = trial.runs();
        let [whole, broken_off] = &runs[..] else { bail!("there are {} runs and not two", runs.len()) };
        let (whole, broken_off) = (StoredRun::of(&trial, whole)?, StoredRun::of(&trial, broken_off)?);
        Ok(Self { trial, whole, broken_off })
    }

    fn copy_to(&self, trial: &FaultTrial) -> Result<()> {
        fs::remove_dir_all(trial.data())?;
        let copied = Command::new("cp").arg("-a").args([self.trial.data(), trial.data()]).status();
        if !copied.context("there is no `cp`")?.success() {
            bail!("failed to copy the records to `{}`", trial.data().display());
        }
        Ok(())
    }

    /// A run is what it was, or it is refused.
    #[expect(clippy::unused_self, reason = "as the other expectation is asked")]
    fn expect_not_believed(&self, trial: &FaultTrial, run: &StoredRun, damage: Damage, harm: &mut Harm) {
        let read = catch_unwind(AssertUnwindSafe(|| trial.store().load_whole(&run.id)));
        match read {
            Err(_) => harm.panicked.push(format!("reading run {} panicked", run.id)),
            // What nobody can know of is not missed.
            Ok(Ok(record)) if record != run.record && damage != Damage::Missing => {
                harm.lost.push(format!("run {} is another one, and is believed", run.id));
            }
            Ok(_) => {}
        }
    }

    /// The run that was broken off is finished, or it is said which file is in the way.
    fn expect_a_refusal_or_a_resume(
        &self,
        lab: &Lab,
        trial: &FaultTrial,
        name: &str,
        harm: &mut Harm,
    ) -> Result<()> {
        if !name.contains(self.broken_off.id()) {
            return Ok(());
        }
        let ended = trial.finish(&mut lab.bench(trial, &["--resume", self.broken_off.id()]))?;
        trial.expect_an_end(&ended, "--resume", harm);
        let is_named = name.rsplit('/').next().is_some_and(|file| ended.said.contains(file));
        let is_missed = ended.said.contains("there is no run");
        // Of two that changed places, either may be the one that is met first.
        let is_swapped = ended.said.contains("was it renamed or copied by hand?");
        if ended.code != Some(0) && !is_named && !is_missed && !is_swapped {
            harm.lost.push(format!("--resume does not say which file is in the way: {}", last(&ended.said)));
        }
        Ok(())
    }
}

/// All records below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in names(folder) {
        let path = folder.join(name);
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Does the damage.
fn spoil(file: &Path, damage: Damage, draw: &mut StormDraws) -> Result<()> {
    let content = fs::read(file).with_context(|| format!("failed to read `{}`", file.display()))?;
    let schema = |with: u64| {
        let text = String::from_utf8_lossy(&content).into_owned();
        text.replacen(&format!("\"schema\":{SCHEMA}"), &format!("\"schema\":{with}"), 1)
            .replacen(&format!("\"schema\": {SCHEMA}"), &format!("\"schema\": {with}"), 1)
            .into_bytes()
    };
    let spoilt = match damage {
        Damage::BitFlip => flipped(&content, draw),
        Damage::Truncation => content[..draw.below(content.len().max(1))].to_vec(),
        Damage::Empty => Vec::new(),
        Damage::Swap => swapped(file, &content, draw)?,
        Damage::Digit => other_digit(&content, draw),
        Damage::OlderSchema => schema(SCHEMA - 1),
        Damage::NewerSchema => schema(SCHEMA + 1),
        Damage::NoDigest => without_digest(&content),
        Damage::Garbage => (0..content.len()).map(|_| draw.below(256) as u8).collect(),
        Damage::Nest => "[".repeat(1 << 20).into_bytes(),
        Damage::Pipe | Damage::Folder | Damage::Endless | Damage::Missing => return replaced(file, damage),
    };
    fs::write(file, spoilt).with_context(|| format!("failed to write `{}`", file.display()))
}

/// Something in the place of a file that is none.
fn replaced(file: &Path, damage: Damage) -> Result<()> {
    fs::remove_file(file)?;
    match damage {
        Damage::Pipe => {
            let made = Command::new("mkfifo").arg(file).status().context("there is no `mkfifo`")?;
            if !made.success() {
                bail!("failed to make a pipe: {made}");
            }
        }
        Damage::Folder => fs::create_dir(file)?,
        Damage::Endless => symlink("/dev/zero", file)?,
        _ => {}
    }
    Ok(())
}

fn flipped(content: &[u8], draw: &mut StormDraws) -> Vec<u8> {
    let mut spoilt = content.to_vec();
    if !spoilt.is_empty() {
        let at = draw.below(spoilt.len());
        spoilt[at] ^= 1 << draw.below(8);
    }
    spoilt
}

/// One digit of one figure is another one.
fn other_digit(content: &[u8], draw: &mut StormDraws) -> Vec<u8> {
    let digits: Vec<usize> = (0..content.len()).filter(|at| content[*at].is_ascii_digit()).collect();
    let mut spoilt = content.to_vec();
    if !digits.is_empty() {
        let at = *draw.one(&digits);
        spoilt[at] = b'0' + (spoilt[at] - b'0' + 1 + draw.below(9) as u8) % 10;
    }
    spoilt
}

/// The file has the content of another one of its folder, which gets its.
fn swapped(file: &Path, content: &[u8], draw: &mut StormDraws) -> Result<Vec<u8>> {
    let folder = file.parent().context("a file lies in a folder")?;
    let others: Vec<PathBuf> = names(folder)
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path != file && path.is_file())
        .collect();
    if others.is_empty() {
        return Ok(flipped(content, draw));
    }
    let other = draw.one(&others);
    let theirs = fs::read(other)?;
    fs::write(other, content)?;
    Ok(theirs)
}

/// The text without the member that has the digest.
fn without_digest(content: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(content);
    let Some((before, rest)) = text.split_once("\"digest\"") else { return content[1..].to_vec() };
    let after = rest.split_once(',').map_or("", |(_, after)| after);
    format!("{before}{after}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damage_leaves_another_file_behind() {
        let content = format!("{{\"schema\":{SCHEMA},\"digest\":\"0af\",\"value\":1234}}");
        for damage in DAMAGES.into_iter().chain([Damage::Empty]) {
            let home = tempfile::tempdir().expect("a temporary directory");
            let file = home.path().join("case.json");
            fs::write(&file, &content).expect("writable");
            fs::write(home.path().join("other.json"), "{}").expect("writable");
            spoil(&file, damage, &mut StormDraws::new(7)).expect("writable");
            let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
            assert!(!is_file || fs::read(&file).expect("readable") != content.as_bytes(), "{damage:?}");
        }
    }

    #[test]
    fn a_digit_stays_a_digit_and_is_another_one() {
        for seed in 0..50 {
            let spoilt = other_digit(b"{\"a\":15}", &mut StormDraws::new(seed));
            let text = String::from_utf8(spoilt).expect("text");
            assert!(text != "{\"a\":15}" && text.chars().filter(char::is_ascii_digit).count() == 2, "{text}");
        }
    }
}
