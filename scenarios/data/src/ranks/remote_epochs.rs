//! A pipeline of another process of the launch, as rank 0 drives it.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::{Deserialize, Serialize};
use weighbridge::{Count, Dtype, Error, FieldCopy, FieldKind, ItemCopy, ResourceUse, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::line::{LineMessage, RankLine};
use crate::{Batch, Epochs, ExecutedWork, Rank};

/// The pipeline at the other end of a line.
#[derive(Debug)]
pub struct RemoteEpochs {
    /// The line. What a contract asks of its own goes over it as well.
    pub line: RankLine,
    facts: EpochsFacts,
    batch: CopiedBatch,
}

/// The facts of a pipeline that are asked for once.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct EpochsFacts {
    /// The number of whoever makes its batches, which nothing else of the launch has.
    process: u32,
    executed: ExecutedWork,
    entry_point: Option<String>,
    in_order: bool,
}

/// A batch that has come over a line.
#[derive(Debug, Default)]
struct CopiedBatch {
    kinds: Vec<FieldKind>,
    copy: ItemCopy,
}

impl Batch for CopiedBatch {
    fn elements(&self) -> usize {
        self.copy.elements
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, field: usize) -> &[u8] {
        &self.copy.fields[field].bytes
    }
}

impl RemoteEpochs {
    /// Takes over a pipeline that was opened, from the answer to what it is.
    ///
    /// # Errors
    /// An answer that is none.
    pub fn new(line: RankLine, opened: &LineMessage) -> Result<Self> {
        Ok(Self { line, facts: opened.read()?, batch: CopiedBatch::default() })
    }
}

impl Drop for RemoteEpochs {
    fn drop(&mut self) {
        self.line.close();
    }
}

impl Epochs for RemoteEpochs {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.line.ask("begin", epoch, &[]).map(drop)
    }

    fn advance(&mut self) -> Result<bool> {
        Ok(self.step(0, 1)?.is_some())
    }

    fn batch(&self) -> &dyn Batch {
        &self.batch
    }

    fn in_order(&self) -> bool {
        self.facts.in_order
    }

    fn executed(&self) -> ExecutedWork {
        self.facts.executed.clone()
    }

    fn entry_point(&self) -> Option<String> {
        self.facts.entry_point.clone()
    }

    fn rank(&mut self) -> Option<&mut dyn Rank> {
        Some(self)
    }
}

impl Rank for RemoteEpochs {
    fn process(&self) -> u32 {
        self.facts.process
    }

    fn step(&mut self, index: usize, of: usize) -> Result<Option<Count>> {
        let part: Option<(u64, u64)> = self.line.ask("step", (index, of), &[])?.read()?;
        Ok(part.map(|(elements, bytes)| Count { elements, bytes }))
    }

    fn fetch(&mut self) -> Result<()> {
        let copy = item(&self.line.ask("fetch", (), &[])?)?;
        let kind = |field: &FieldCopy| FieldKind {
            name: field.name.clone(),
            dtype: field.dtype,
            shape: field.shape.clone(),
        };
        self.batch = CopiedBatch { kinds: copy.fields.iter().map(kind).collect(), copy };
        Ok(())
    }

    fn used(&mut self) -> Result<ResourceUse> {
        self.line.ask("used", (), &[])?.read()
    }
}

/// The place of a pipeline that another rank answers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerPlace {
    /// The rank, which tells processes of several machines apart.
    pub rank: usize,
    /// The number of the pipeline among those of the rank.
    pub index: usize,
}

impl AnswerPlace {
    /// A number for what makes the batches: processes of two machines may have the same one there, and
    /// threads of one process have one each.
    fn number(self, process: u32, thread: usize) -> u32 {
        let all = [u64::from(process), self.rank as u64, thread as u64].map(u64::to_le_bytes);
        xxh3_64(all.as_flattened()) as u32
    }
}

/// Answers for a pipeline, as another rank does; `None` where something else is asked for.
///
/// # Errors
/// What the pipeline says.
pub fn answer_epochs(
    epochs: &mut (dyn Epochs + '_),
    place: AnswerPlace,
    asked: &LineMessage,
) -> Result<Option<LineMessage>> {
    Ok(Some(match &*asked.word {
        "opened" => {
            let process = match epochs.rank() {
                Some(rank) => place.number(rank.process(), 0),
                None => place.number(std::process::id(), 1 + place.index),
            };
            LineMessage::of(EpochsFacts {
                process,
                executed: epochs.executed(),
                entry_point: epochs.entry_point(),
                in_order: epochs.in_order(),
            })?
        }
        "begin" => LineMessage::of(epochs.begin(asked.read()?)?)?,
        "step" => {
            let (index, of) = asked.read()?;
            LineMessage::of(step(epochs, index, of)?.map(|Count { elements, bytes }| (elements, bytes)))?
        }
        "fetch" => {
            if let Some(rank) = epochs.rank() {
                rank.fetch()?;
            }
            of_item(&epochs.batch().keep())?
        }
        "used" => LineMessage::of(match epochs.rank() {
            Some(rank) => rank.used()?,
            None if place.index == 0 => own_use(),
            None => ResourceUse { cpu: Some(0), ..ResourceUse::default() },
        })?,
        _ => return Ok(None),
    }))
}

fn step(epochs: &mut (dyn Epochs + '_), index: usize, of: usize) -> Result<Option<Count>> {
    if let Some(rank) = epochs.rank() {
        return rank.step(index, of);
    }
    if !epochs.advance()? {
        return Ok(None);
    }
    epochs.ready()?;
    let batch = epochs.batch();
    Ok(Some(Count { elements: batch.elements() as u64, bytes: batch.size() / of as u64 }))
}

/// The use of this process, all its threads together. For how long they waited is not known.
fn own_use() -> ResourceUse {
    let Ok(used) = getrusage(UsageWho::RUSAGE_SELF) else { return ResourceUse::default() };
    let nanoseconds = |time: TimeVal| time.num_microseconds() as u64 * 1_000;
    ResourceUse {
        cpu: Some(nanoseconds(used.user_time()) + nanoseconds(used.system_time())),
        wait: None,
        minor_faults: used.minor_page_faults() as u64,
        major_faults: used.major_page_faults() as u64,
        voluntary_switches: used.voluntary_context_switches() as u64,
        involuntary_switches: used.involuntary_context_switches() as u64,
    }
}

/// The kinds of an item, and how many of its bytes belong to each.
#[derive(Serialize, Deserialize)]
struct ItemHead {
    elements: usize,
    fields: Vec<(String, Dtype, Vec<usize>, usize)>,
}

/// An item as it goes over a line.
///
/// # Errors
/// What cannot be written.
pub fn of_item(item: &ItemCopy) -> Result<LineMessage> {
    let field = |field: &FieldCopy| {
        let FieldCopy { name, dtype, shape, bytes } = field;
        (name.clone(), *dtype, shape.clone(), bytes.len())
    };
    let head = ItemHead { elements: item.elements, fields: item.fields.iter().map(field).collect() };
    let bytes: Vec<&[u8]> = item.fields.iter().map(|field| &*field.bytes).collect();
    Ok(LineMessage::of(head)?.and(bytes.concat()))
}

/// An item that has come over a line.
///
/// # Errors
/// What is none.
pub fn item(message: &LineMessage) -> Result<ItemCopy> {
    let ItemHead { elements, fields } = message.read()?;
    let mut rest = &message.bytes[..];
    let mut copies = Vec::with_capacity(fields.len());
    for (name, dtype, shape, length) in fields {
        let (bytes, more) = rest.split_at_checked(length).ok_or_else(|| Error::new("bytes are missing"))?;
        copies.push(FieldCopy { name, dtype, shape, bytes: bytes.to_vec() });
        rest = more;
    }
    Ok(ItemCopy { elements, fields: copies })
}
