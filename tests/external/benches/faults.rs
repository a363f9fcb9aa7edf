//! A scenario that misbehaves on request, in any phase of its life, beside one that behaves.

#![deny(unsafe_code)]

use std::io::Write;
use std::process::{Command, Stdio, abort, exit};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weighbridge::prelude::*;
use weighbridge::{Dtype, Field, FieldKind, Item, ItemBytes, See, Source, WorkReport};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Panic,
    Abort,
    Exit,
    Loop,
    Allocate,
    Flood,
    Kill,
    Fork,
}

/// Where it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    SetUp,
    WarmUp,
    Timed,
    TearDown,
}

impl Fault {
    fn happen(self) {
        eprintln!("about to {self:?}");
        match self {
            Self::Panic => panic!("planted panic"),
            Self::Abort => abort(),
            Self::Exit => exit(0),
            Self::Loop => loop {
                std::hint::spin_loop();
            },
            Self::Allocate => {
                let mut held: Vec<Vec<u8>> = Vec::new();
                loop {
                    held.push(vec![1; 16 << 20]);
                    std::hint::black_box(&held);
                }
            }
            Self::Flood => {
                let line = [b'x'; 1 << 16];
                for _ in 0..256 {
                    std::io::stdout().write_all(&line).expect("stdout is drained");
                }
                panic!("flooded");
            }
            Self::Kill => {
                let me = std::process::id().to_string();
                Command::new("kill").args(["-9", &me]).status().expect("kill runs");
                std::thread::sleep(Duration::from_secs(60));
            }
            Self::Fork => {
                // A grandchild that would outlive us, found by its odd argument.
                Command::new("sleep")
                    .arg("777.25")
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .spawn()
                    .expect("sleep starts");
                panic!("left a child behind");
            }
        }
    }
}

/// What the scenario asks of a subject.
trait Subject {
    fn step(&mut self);
    fn last(&mut self, fault: Fault);
}

#[derive(Default)]
struct Steady(Option<Fault>);

/// Does nothing, and may misbehave when it is dropped.
#[adapter(name = "steady")]
impl Subject for Steady {
    fn step(&mut self) {
        std::hint::black_box(0);
    }

    fn last(&mut self, fault: Fault) {
        self.0 = Some(fault);
    }
}

impl Drop for Steady {
    fn drop(&mut self) {
        if let Some(fault) = self.0.take() {
            fault.happen();
        }
    }
}

/// Misbehaves as asked.
#[scenario(id = "FAULT-1", equivalence = none)]
fn faulty(
    bencher: &mut Bencher,
    subject: &mut dyn Subject,
    #[sweep(panic = Fault::Panic, abort = Fault::Abort, exit = Fault::Exit, spin = Fault::Loop,
            allocate = Fault::Allocate, flood = Fault::Flood, kill = Fault::Kill, fork = Fault::Fork)]
    fault: Fault,
    #[sweep(set_up = Place::SetUp, warm_up = Place::WarmUp, timed = Place::Timed,
            tear_down = Place::TearDown)]
    place: Place,
) {
    match place {
        Place::SetUp => fault.happen(),
        Place::TearDown => subject.last(fault),
        Place::WarmUp | Place::Timed => {}
    }
    let mut calls = 0u64;
    bencher.iter_custom(|iterations| {
        calls += 1;
        // The first call is the first iteration; calibration and warm-up follow; by the hundredth it is being
        // timed.
        if (place == Place::WarmUp && calls == 1) || (place == Place::Timed && calls == 100) {
            fault.happen();
        }
        subject.step();
        Duration::from_millis(1) * iterations as u32
    });
}

/// Leaves a process behind, and ends when it is told to: when there is a file `go` in the folder that
/// `LEFT_FOLDER` names.
#[scenario(id = "WAITED-1")]
fn leaving(bencher: &mut Bencher) -> Result<()> {
    let mut sleeper = Command::new("setsid");
    sleeper.args(["sleep", "777.25"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _left = sleeper.spawn()?;
    bencher.iter(|| std::hint::black_box(1));
    let Some(folder) = std::env::var_os("LEFT_FOLDER").map(std::path::PathBuf::from) else { return Ok(()) };
    std::fs::write(folder.join("left"), "")?;
    while !folder.join("go").exists() {
        std::thread::yield_now();
    }
    Ok(())
}

/// Claims more time than passed.
#[scenario(id = "CLOCK-1")]
fn lying(bencher: &mut Bencher) {
    bencher.iter_custom(|iterations| Duration::from_secs(100) * iterations as u32);
}

/// Hands in a value of its own by the name of a built-in metric.
#[scenario(id = "NAME-1")]
fn named(bencher: &mut Bencher) {
    bencher.iter(|| 17);
    bencher.metric("wall_time", 1.0, Unit::SECONDS, Direction::Lower);
}

/// Leaves something in its process: how often one has been here.
#[scenario(id = "STATE-1")]
fn state(bencher: &mut Bencher, #[sweep(1, 2)] which: usize) {
    static TIMES: AtomicU32 = AtomicU32::new(0);
    bencher.iter(|| which);
    let times = TIMES.fetch_add(1, Ordering::Relaxed) + 1;
    bencher.metric("times_here", f64::from(times), Unit::COUNT, Direction::Lower);
}

/// Leaves a file in shared memory.
#[scenario(id = "SHARED-1")]
fn shared(bencher: &mut Bencher) {
    let name = format!("/dev/shm/weighbridge-test-{}", std::process::id());
    std::fs::write(name, "left").expect("shared memory can be written");
    bencher.iter(|| 17);
}

/// Leaves a process.
#[scenario(id = "LEFT-1")]
fn left(bencher: &mut Bencher) {
    bencher.iter(|| 17);
    Command::new("sleep")
        .arg("778.25")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("sleep starts");
}

/// What a terminal and a build server would obey.
const HOSTILE: &str =
    "\u{1b}[2K\r\u{202e}no##[stop-commands]\n::error::forged\nweighbridge: run=forged exit=0";

/// Ends with such words.
#[scenario(id = "HOSTILE-1")]
fn hostile(bencher: &mut Bencher, #[sweep(skip = 0, error = 1, panic = 2)] how: u8) -> Result<()> {
    bencher.iter(|| 17);
    match how {
        0 => Err(skip(HOSTILE)),
        1 => Err(Error::new(HOSTILE)),
        _ => panic!("{HOSTILE}"),
    }
}

/// A thread of it panics, and it goes on.
#[scenario(id = "THREAD-1")]
fn thread(bencher: &mut Bencher) {
    let ended = std::thread::spawn(|| panic!("nobody looks")).join();
    bencher.iter(|| ended.is_err());
}

/// Is there twice from its beginning on.
#[scenario(id = "COPY-1")]
#[expect(unsafe_code, reason = "nothing safe copies a process")]
fn copied(bencher: &mut Bencher) {
    unsafe extern "C" {
        safe fn fork() -> i32;
    }
    fork();
    bencher.iter(|| 17);
}

/// Runs for odd numbers.
fn is_odd(number: &u8) -> std::result::Result<(), String> {
    if number % 2 == 1 { Ok(()) } else { Err(format!("{number} is even")) }
}

/// Is left out by its own filter at one of two points.
#[scenario(id = "FILTERED-1", filter = is_odd)]
fn filtered(bencher: &mut Bencher, #[sweep(1, 2)] number: u8) {
    bencher.iter(|| number.wrapping_mul(3));
}

/// More threads than a small machine has.
#[scenario(id = "THREADS-1")]
fn threads(bencher: &mut Bencher) {
    bencher.iter_threads(4, |_| || 17);
}

/// Writes more than a small disk has room for.
#[scenario(id = "DISK-1")]
fn disk(bencher: &mut Bencher) -> weighbridge::Result<()> {
    std::fs::write(bencher.scratch()?.join("large"), vec![7; 32 << 20])?;
    bencher.iter(|| 17);
    Ok(())
}

/// Behaves.
#[scenario(id = "GOOD-1")]
fn good(bencher: &mut Bencher) {
    let numbers: Vec<u64> = (0..1000).collect();
    bencher.elements(numbers.len()).iter(|| numbers.iter().sum::<u64>());
}

/// Blocks within blocks, a value of the author's own, and one of each of two ranks.
#[scenario(id = "BLOCKS-1")]
fn blocks(bencher: &mut Bencher) {
    bencher.iter(|| bencher.measure("save", || bencher.measure("encode", || 17)));
    bencher.metric("size", 17.0, Unit::BYTES, Direction::Information);
    bencher.rank_metric("part", &[Some(8.0), Some(9.0)], Unit::BYTES, Direction::Lower);
}

/// Numbers in batches of a hundred, ten of them.
struct Batches(u64);

impl Source for Batches {
    fn rewind(&mut self) -> weighbridge::Result<()> {
        self.0 = 0;
        Ok(())
    }

    fn next(&mut self) -> weighbridge::Result<bool> {
        self.0 += 1;
        std::hint::black_box((0..20_000 + self.0).sum::<u64>());
        Ok(self.0 <= 10)
    }

    fn look(&mut self, see: &mut See<'_>) -> weighbridge::Result<()> {
        let bytes: Vec<u8> = (0..100 * self.0).rev().take(100).flat_map(u64::to_le_bytes).collect();
        let kind = FieldKind { name: "number".into(), dtype: Dtype::I64, shape: vec![] };
        see(&Item { elements: 100, bytes: ItemBytes::Here(&[Field { kind: &kind, bytes: &bytes }]) });
        Ok(())
    }
}

/// A stream: it has items and no iterations.
#[scenario(id = "STREAM-1")]
fn batches(bencher: &mut Bencher) -> weighbridge::Result<()> {
    bencher.work(WorkReport { ran_on: "cpu".into(), ..WorkReport::default() });
    bencher.stream(&mut Batches(0))
}

weighbridge::main!();
