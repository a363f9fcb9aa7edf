//! The index as bytes: a first line with the form and a hash of what follows, and then numbers of a fixed width, which are read
//! in milliseconds. Texts stand once each, since runs share most of theirs.

use std::collections::HashMap;
use std::str;

use xxhash_rust::xxh3::xxh3_64;

use super::{Index, RunLine, SharedText};
use crate::record::RunStatus;
use crate::store::FileMark;

/// The first word of the file. Another version of the form has another one.
const FORM: &str = "weighbridge-index-2";

/// How long the text of a run's id is.
const ID: usize = 22;

/// The bytes of an index.
pub(super) fn write(index: &Index) -> Vec<u8> {
    let mut texts = Texts::default();
    let mut runs = Vec::new();
    for (mark, line) in &index.runs {
        let flags = match line.status {
            RunStatus::Running => 0,
            RunStatus::Complete => 1,
            RunStatus::Interrupted => 2,
        } | (u8::from(line.resumed) << 2)
            | (u8::from(line.imported) << 3);
        runs.extend(line.id.as_str().as_bytes());
        put_mark(&mut runs, *mark);
        runs.push(flags);
        runs.extend(line.started.to_le_bytes());
        runs.extend((line.cases as u64).to_le_bytes());
        for text in [&line.suite, &line.profile, &line.machine, &line.stand_in, &line.commit] {
            runs.extend(texts.number(text).to_le_bytes());
        }
    }
    let mut body = index.looked.to_le_bytes().to_vec();
    body.push(u8::from(index.folder.is_some()));
    put_mark(&mut body, index.folder.unwrap_or(FileMark { size: 0, inode: 0, written: 0, changed: 0 }));
    body.extend((texts.all.len() as u32).to_le_bytes());
    for text in &texts.all {
        body.extend((text.len() as u32).to_le_bytes());
        body.extend(text.as_bytes());
    }
    body.extend((index.runs.len() as u64).to_le_bytes());
    body.extend(runs);
    sealed(&body)
}

/// What the bytes say; `None` where they are broken, cut, or of another version.
pub(super) fn read(content: &[u8]) -> Option<Index> {
    let (head, body) = content.split_at_checked(head(&[]).len())?;
    if head != self::head(body).as_bytes() {
        return None;
    }
    let mut body = Body(body);
    let looked = i64::from_le_bytes(body.take()?);
    let [has_folder] = body.take()?;
    let folder = body.mark()?;
    let count = u32::from_le_bytes(body.take()?);
    // No room is made for a count that the file cannot hold.
    let mut texts: Vec<SharedText> = Vec::new();
    for _ in 0..count {
        let length = u32::from_le_bytes(body.take()?);
        texts.push(str::from_utf8(body.part(length as usize)?).ok()?.into());
    }
    let count = u64::from_le_bytes(body.take()?) as usize;
    let mut runs: Vec<(FileMark, RunLine)> = Vec::with_capacity(count.min(body.0.len() / ID));
    for _ in 0..count {
        let id = str::from_utf8(body.part(ID)?).ok()?.parse().ok()?;
        let mark = body.mark()?;
        let [flags] = body.take()?;
        let status = match flags & 3 {
            0 => RunStatus::Running,
            1 => RunStatus::Complete,
            2 => RunStatus::Interrupted,
            _ => return None,
        };
        let (resumed, imported) = (flags & 4 != 0, flags & 8 != 0);
        let started = u64::from_le_bytes(body.take()?);
        let cases = u64::from_le_bytes(body.take()?) as usize;
        let mut text = || texts.get(u32::from_le_bytes(body.take()?) as usize).cloned();
        let (suite, profile, machine, stand_in, commit) = (text()?, text()?, text()?, text()?, text()?);
        let line = RunLine {
            id,
            suite,
            profile,
            status,
            resumed,
            imported,
            started,
            cases,
            machine,
            stand_in,
            commit,
        };
        if runs.last().is_some_and(|(_, before)| before.id >= line.id) {
            return None;
        }
        runs.push((mark, line));
    }
    body.0.is_empty().then_some(Index { looked, folder: (has_folder == 1).then_some(folder), runs })
}

/// Bytes with their first line.
pub(super) fn sealed(body: &[u8]) -> Vec<u8> {
    [head(body).as_bytes(), body].concat()
}

/// The first line: the form, and a hash of what follows.
fn head(body: &[u8]) -> String {
    format!("{FORM} {:016x}\n", xxh3_64(body))
}

fn put_mark(to: &mut Vec<u8>, mark: FileMark) {
    to.extend(mark.size.to_le_bytes());
    to.extend(mark.inode.to_le_bytes());
    to.extend(mark.written.to_le_bytes());
    to.extend(mark.changed.to_le_bytes());
}

/// Texts and the numbers that stand for them.
#[derive(Default)]
struct Texts {
    all: Vec<SharedText>,
    numbers: HashMap<SharedText, u32>,
}

impl Texts {
    fn number(&mut self, text: &SharedText) -> u32 {
        *self.numbers.entry(text.clone()).or_insert_with(|| {
            self.all.push(text.clone());
            self.all.len() as u32 - 1
        })
    }
}

/// What is left to read.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn part(&mut self, length: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.part(N)?.try_into().ok()
    }

    fn mark(&mut self) -> Option<FileMark> {
        let [size, inode] = [u64::from_le_bytes(self.take()?), u64::from_le_bytes(self.take()?)];
        let [written, changed] = [i64::from_le_bytes(self.take()?), i64::from_le_bytes(self.take()?)];
        Some(FileMark { size, inode, written, changed })
    }
}
