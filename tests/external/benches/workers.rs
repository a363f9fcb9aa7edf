//! A contract whose systems run in processes of their own: a reference here, and a worker that may misbehave.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use weighbridge::prelude::*;
use weighbridge::worker::{Command, PipelineTask, Worker};
use weighbridge::{
    Availability, Dtype, ExpectedEpoch, Field, FieldKind, Item, ItemBytes, See, Source, WorkReport,
};

const ELEMENTS: usize = 650;
const BATCH: usize = 16;

/// A system that hands out two fields in batches of 16.
trait Feeder {
    fn feed(&mut self, bencher: &Bencher, data: &Data, fault: &str) -> Result<()>;

    /// The same with one field, all of whose bits are inverted.
    fn invert(&mut self, bencher: &Bencher, data: &Blocks, fault: &str) -> Result<()>;
}

/// Elements of the data that are inverted, and the bytes of one: an epoch of them is more than a worker has
/// for itself.
const BLOCKS: usize = 320;
const BLOCK: usize = 128 << 10;

/// Two fields as files: `pair`, two bytes that differ, and `number`.
struct Data {
    pairs: Vec<u8>,
    numbers: Vec<u8>,
    folder: PathBuf,
}

/// One field as a file.
struct Blocks {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl Blocks {
    fn make(bencher: &Bencher) -> Result<Self> {
        let path = bencher.scratch()?.join("block");
        let bytes: Vec<u8> = (0..BLOCKS as u64 * BLOCK as u64 / 8)
            .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
            .collect();
        fs::write(&path, &bytes)?;
        Ok(Self { bytes, path })
    }
}

impl Data {
    fn make(bencher: &Bencher) -> Result<Self> {
        let folder = bencher.scratch()?;
        let pairs: Vec<u8> = (0..ELEMENTS).flat_map(|at| [at as u8, (at >> 8) as u8 | 0x80]).collect();
        let numbers: Vec<u8> = (0..ELEMENTS as i64).flat_map(|at| (at * 7919).to_le_bytes()).collect();
        fs::write(folder.join("pair"), &pairs)?;
        fs::write(folder.join("number"), &numbers)?;
        Ok(Self { pairs, numbers, folder })
    }
}

fn report() -> WorkReport {
    WorkReport { input: Some("numbered".into()), ran_on: "cpu".into(), ..WorkReport::default() }
}

#[derive(Default)]
struct Here;

/// Slices of memory.
#[adapter(name = "Here", tier = 0)]
impl Feeder for Here {
    fn feed(&mut self, bencher: &Bencher, data: &Data, _fault: &str) -> Result<()> {
        bencher.work(report());
        bencher.stream(&mut Slices { data, at: 0, elements: 0 })
    }

    fn invert(&mut self, bencher: &Bencher, data: &Blocks, _fault: &str) -> Result<()> {
        bencher.work(WorkReport { transforms: vec![INVERT.into()], ..report() });
        bencher.stream(&mut InvertedSource { data, at: 0, batch: Vec::new() })
    }
}

/// The transform.
const INVERT: &str = "Invert";

struct InvertedSource<'a> {
    data: &'a Blocks,
    at: usize,
    batch: Vec<u8>,
}

impl Source for InvertedSource<'_> {
    fn rewind(&mut self) -> Result<()> {
        self.at = 0;
        Ok(())
    }

    fn next(&mut self) -> Result<bool> {
        let elements = BATCH.min(BLOCKS - self.at);
        let from = self.at * BLOCK;
        self.batch.clear();
        self.batch.extend(self.data.bytes[from..from + elements * BLOCK].iter().map(|byte| !byte));
        self.at += elements;
        Ok(elements > 0)
    }

    fn look(&mut self, see: &mut See<'_>) -> Result<()> {
        let kind = FieldKind { name: "block".into(), dtype: Dtype::U8, shape: vec![BLOCK] };
        let fields = [Field { kind: &kind, bytes: &self.batch }];
        see(&Item { elements: (self.batch.len() / BLOCK) as u64, bytes: ItemBytes::Here(&fields) });
        Ok(())
    }
}

struct Slices<'a> {
    data: &'a Data,
    at: usize,
    elements: usize,
}

impl Source for Slices<'_> {
    fn rewind(&mut self) -> Result<()> {
        (self.at, self.elements) = (0, 0);
        Ok(())
    }

    fn next(&mut self) -> Result<bool> {
        self.at += self.elements;
        self.elements = BATCH.min(ELEMENTS - self.at);
        Ok(self.elements > 0)
    }

    fn look(&mut self, see: &mut See<'_>) -> Result<()> {
        let (from, to) = (self.at, self.at + self.elements);
        let kind =
            |name: &str, dtype, shape: &[usize]| FieldKind { name: name.into(), dtype, shape: shape.into() };
        let (pair, number) = (kind("pair", Dtype::U8, &[2]), kind("number", Dtype::I64, &[]));
        let fields = [
            Field { kind: &pair, bytes: &self.data.pairs[from * 2..to * 2] },
            Field { kind: &number, bytes: &self.data.numbers[from * 8..to * 8] },
        ];
        see(&Item { elements: self.elements as u64, bytes: ItemBytes::Here(&fields) });
        Ok(())
    }
}

/// The worker stays for all cases of a round.
#[derive(Default)]
struct Far(Option<Worker>);

fn python() -> Availability {
    match std::process::Command::new("python3").arg("--version").output() {
        Ok(said) if said.status.success() => Availability::Available { version: "1".into() },
        _ => Availability::Missing { reason: "no python3".into(), install: "apt-get install python3".into() },
    }
}

#[derive(Serialize)]
struct Parts {
    data: Files,
    pipeline: Pipeline,
}

#[derive(Serialize)]
struct Files {
    elements: usize,
    digest: &'static str,
    fields: Vec<File>,
}

#[derive(Serialize)]
struct File {
    #[serde(flatten)]
    kind: FieldKind,
    path: PathBuf,
}

#[derive(Serialize)]
struct Pipeline {
    first: usize,
    end: usize,
    batch_size: usize,
    transforms: Vec<String>,
    asks: Vec<String>,
    fault: String,
    name: u32,
}

/// A worker in plain Python.
#[adapter(name = "Far", resident = true, probe = python)]
impl Feeder for Far {
    fn feed(&mut self, bencher: &Bencher, data: &Data, fault: &str) -> Result<()> {
        let worker = self.worker(fault)?;
        let file = |name: &str, dtype, shape: &[usize]| File {
            kind: FieldKind { name: name.into(), dtype, shape: shape.into() },
            path: data.folder.join(name),
        };
        let fields = vec![file("pair", Dtype::U8, &[2]), file("number", Dtype::I64, &[])];
        let parts = Parts {
            data: Files { elements: ELEMENTS, digest: "numbered", fields },
            pipeline: Pipeline {
                first: 0,
                end: ELEMENTS,
                batch_size: BATCH,
                transforms: Vec::new(),
                asks: Vec::new(),
                fault: fault.into(),
                name: std::process::id(),
            },
        };
        let task = PipelineTask {
            contract: "feeder",
            converted: "far",
            epoch: None,
            on_device: false,
            works_on_device: false,
        };
        worker.open(task, &parts)?;
        bencher.work(report());
        bencher.stream_remote(worker, 0)?;
        worker.close().map(drop)
    }

    fn invert(&mut self, bencher: &Bencher, data: &Blocks, fault: &str) -> Result<()> {
        let worker = self.worker(fault)?;
        let kind = FieldKind { name: "block".into(), dtype: Dtype::U8, shape: vec![BLOCK] };
        let parts = Parts {
            data: Files {
                elements: BLOCKS,
                digest: "blocks",
                fields: vec![File { kind, path: data.path.clone() }],
            },
            pipeline: Pipeline {
                first: 0,
                end: BLOCKS,
                batch_size: BATCH,
                transforms: vec![INVERT.into()],
                asks: Vec::new(),
                fault: fault.into(),
                name: std::process::id(),
            },
        };
        let bytes = data.bytes.len() as u64;
        let (elements, batch) = (BLOCKS as u64, BATCH as u64);
        let epoch = Some(ExpectedEpoch {
            elements,
            batch,
            bytes,
            source: bytes,
            transforms: true,
            in_order: true,
            in_memory: true,
            makers: 1,
            keeps: false,
            renewed: false,
        });
        let task = PipelineTask {
            contract: "feeder",
            converted: "far",
            epoch,
            on_device: false,
            works_on_device: false,
        };
        let opened = worker.open(task, &parts)?;
        bencher.work(WorkReport { transforms: opened.executed.transforms.clone(), ..report() });
        bencher.stream_remote(worker, 0)?;
        worker.close().map(drop)
    }
}

impl Far {
    /// The worker, started if none is there that can go on.
    fn worker(&mut self, fault: &str) -> Result<&mut Worker> {
        if !self.0.as_mut().is_some_and(Worker::is_ready) {
            self.0 = None;
            self.0 = Some(Worker::start(&command(fault))?);
        }
        self.0.as_mut().ok_or("it was started above").map_err(weighbridge::Error::new)
    }
}

fn command(fault: &str) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workers");
    match fault {
        "is-not-there" => Command::new("/no/such/program"),
        "is-a-shell" => Command::new("sh").arg("-c").arg("echo what is this; printf 'no frame at all' >&0"),
        "honest" => Command::new("python3").arg(folder.join("tiny.py")),
        fault => Command::new("python3").arg(folder.join("misbehaving.py")).arg(fault),
    }
}

/// Feeds.
#[scenario(id = "FEED-1", category = "Feeding", equivalence = exact)]
fn feed(
    bencher: &mut Bencher,
    feeder: &mut dyn Feeder,
    #[sweep("honest", "again")] fault: &'static str,
) -> Result<()> {
    let data = Data::make(bencher)?;
    feeder.feed(bencher, &data, fault)
}

/// Feeds much, inverted.
#[scenario(id = "FEED-2", category = "Feeding", equivalence = exact)]
fn feed_inverted(
    bencher: &mut Bencher,
    feeder: &mut dyn Feeder,
    #[sweep("inverts")] fault: &'static str,
) -> Result<()> {
    let data = Blocks::make(bencher)?;
    feeder.invert(bencher, &data, fault)
}

weighbridge::main!();
