//! Lies of a worker: of its clock, of its counters, of its words. `workers/liar.py` tells them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use weighbridge::worker::{Command, PipelineTask, Worker};
use weighbridge::{Availability, Error, FieldKind, Remote, Result, adapter};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

use crate::copied::BatchCopy;

/// A pipeline of a worker. All that is asked of it here is to time itself.
struct Far<'a> {
    worker: &'a mut Worker,
    executed: ExecutedWork,
    none: BatchCopy,
}

impl Epochs for Far<'_> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.worker.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        Err(Error::new("its batches are not to be had one by one"))
    }

    fn batch(&self) -> &dyn Batch {
        &self.none
    }

    fn executed(&self) -> ExecutedWork {
        self.executed.clone()
    }

    fn remote(&mut self) -> Result<Option<&mut dyn Remote>> {
        Ok(Some(&mut *self.worker))
    }
}

/// What a worker is told of a pipeline.
#[derive(Serialize)]
struct Parts {
    data: Data,
    pipeline: Pipeline,
}

#[derive(Serialize)]
struct Data {
    elements: usize,
    digest: String,
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
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
}

impl Parts {
    fn of(spec: &PipelineSpec, data: &DataSet) -> Self {
        let kinds = data.kinds().enumerate();
        let fields = kinds.map(|(at, kind)| Field { kind: kind.clone(), path: data.path(at).to_owned() });
        let data =
            Data { elements: data.elements(), digest: data.digest().to_owned(), fields: fields.collect() };
        let (elements, transforms) = (spec.elements(), spec.work());
        let (first, end, batch_size) = (elements.start, elements.end, spec.batch_size);
        Self { data, pipeline: Pipeline { first, end, batch_size, transforms, asks: Vec::new() } }
    }
}

/// Opens a pipeline in a worker that tells this lie.
fn open<'a>(
    worker: &'a mut Option<Worker>,
    lie: &str,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
) -> Result<Box<dyn Epochs + 'a>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers").join("liar.py");
    let worker = worker.insert(Worker::start(&Command::new("python3").arg(script).arg(lie))?);
    let task = PipelineTask {
        contract: "loader",
        converted: "liar",
        epoch: Some(spec.expected()?),
        on_device: false,
        works_on_device: false,
    };
    let said = worker.open(task, &Parts::of(spec, data))?.executed.clone();
    let executed = ExecutedWork {
        transforms: said.transforms,
        operators: said.operators,
        library: said.library,
        environment: said.environment,
        ran_on: said.ran_on,
        synchronised: said.synchronised,
        delivery: said.delivery,
        workers: said.workers,
    };
    Ok(Box::new(Far { worker, executed, none: BatchCopy::default() }))
}

fn python() -> Availability {
    match std::process::Command::new("python3").arg("--version").output() {
        Ok(said) if said.status.success() => Availability::Available { version: "1".into() },
        _ => Availability::Missing { reason: "no python3".into(), install: "apt-get install python3".into() },
    }
}

/// A loader whose worker tells the lie that it is called by.
macro_rules! worker {
    ($type:ident, $lie:literal, $what:literal) => {
        #[derive(Default)]
        struct $type(Option<Worker>);

        #[doc = $what]
        #[adapter(name = $lie, tier = 2, probe = python)]
        impl Loader for $type {
            fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
                open(&mut self.0, $lie, spec, data)
            }
        }
    };
}

worker!(SlowClock10, "slow-clock-10", "Its clock runs slow by a tenth.");
worker!(SlowClock50, "slow-clock-50", "Its clock runs slow by a half.");
worker!(Stood, "stood-21-seconds", "It measures one pass, and says that its clock stood for 21 seconds.");
worker!(HandsOverNothing, "hands-over-nothing", "It makes no batch, and hands over copies of no elements.");
worker!(HalfSamples, "half-samples", "Its samples are half as long as they were.");
worker!(EndlessSamples, "endless-samples", "Two of its samples add up to nothing in 64 bits.");
worker!(EndlessBytes, "endless-bytes", "It delivers as many bytes as a number can say.");
worker!(EndlessUsage, "endless-usage", "It uses as much processor time as a number can say.");
worker!(EndlessSetUp, "endless-set-up", "It is set up in as long as a number can say.");
worker!(ForgedReason, "forged-reason", "It declines, in words that would clear the screen and forge a line.");
worker!(NoFields, "no-fields", "Its batches hold very many elements and no field.");
worker!(TinyWorker, "tiny-worker", "The worker in plain Python, as it is.");
