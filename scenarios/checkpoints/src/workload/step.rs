//! Stubs of training steps: each is bound by one thing, and has nothing to do with the state that is saved
//! beside it.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use weighbridge::{Result, skip};
use xxhash_rust::xxh3::xxh3_64;

/// The resource that bounds a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// One processor, in native code that leaves the lock of an interpreter to others.
    Processor,
    /// The way to memory, in native code likewise.
    Memory,
    /// The lock of an interpreter: a loop in its language.
    Interpreter,
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Processor => "processor",
            Self::Memory => "memory",
            Self::Interpreter => "interpreter",
        })
    }
}

/// The least time of a step with nothing beside it: the work is doubled until it takes that long.
const STEP: Duration = Duration::from_millis(5);

/// Bytes that a step bound by memory copies at a time: more than a cache has.
const COPIED: usize = 32 << 20;

/// Bytes that a step bound by a processor hashes at a time: less than a cache has.
const HASHED: usize = 16 << 10;

/// A step in this process.
#[derive(Debug)]
pub struct Stub {
    kind: StepKind,
    from: Vec<u8>,
    to: Vec<u8>,
    times: u32,
}

impl Stub {
    /// A step of at least 5 ms.
    ///
    /// # Errors
    /// A skip for a step that needs an interpreter: there is none here.
    pub fn new(kind: StepKind) -> Result<Self> {
        let bytes = match kind {
            StepKind::Processor => HASHED,
            StepKind::Memory => COPIED,
            StepKind::Interpreter => return Err(skip("steps in an interpreter: this process has none")),
        };
        let mut stub = Self { kind, from: vec![1; bytes], to: vec![0; bytes], times: 1 };
        // The least of three, since a disturbed one would make all steps too short.
        while (0..3).map(|_| stub.time()).min() < Some(STEP) {
            stub.times *= 2;
        }
        Ok(stub)
    }

    /// Runs it once.
    pub fn run(&mut self) {
        for _ in 0..self.times {
            match self.kind {
                StepKind::Memory => self.to.copy_from_slice(black_box(&self.from)),
                StepKind::Processor | StepKind::Interpreter => {
                    black_box(xxh3_64(black_box(&self.from)));
                }
            }
        }
        black_box(&mut self.to);
    }

    /// Runs it once, and returns the time that it took.
    pub fn time(&mut self) -> Duration {
        let begun = Instant::now();
        self.run();
        begun.elapsed()
    }
}
