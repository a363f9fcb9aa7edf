//! The way of batches: staged, uploaded, computed, brought back, each on its own stream.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, LaunchConfig,
    PushKernelArg,
};
use weighbridge::{Delivery, FieldKind, Result, skip};
use weighbridge_data::{Batch, DataSet, Draws, Epochs, ExecutedWork};

use super::super::buffer::row_bytes;
use super::super::input::Input;
use super::super::place::CopyPlace;
use super::super::prefetch::Batches;
use super::slot::{Slot, SlotRoom};
use super::stages::StageKernels;
use crate::adapters::native::cuda::compiler;
use crate::adapters::native::cuda::kernel::{self, FUNCTIONS, Kernel, KernelSource};
use crate::contract::to_device::{failed, room, stop_tracking};
use crate::workload::{Destination, ExecutionMode, PipelineSpec};

/// Batches in flight: the consumer's, and two behind it.
const SLOTS: usize = 3;

/// Threads of a block.
const THREADS: u32 = 256;

/// The kernels of a field, loaded, with what they share. One stream runs all of them, one after the other, so
/// that one room for what lies between them is enough for all batches.
#[derive(Debug)]
struct Loaded {
    /// Once for each element, where something is drawn so.
    drawing: Option<PipelineStep>,
    steps: Vec<PipelineStep>,
    mean: CudaSlice<f32>,
    scale: CudaSlice<f32>,
    notes: CudaSlice<u8>,
    /// Memory that one kernel writes and the next one reads: two rooms, by turns.
    between: [CudaSlice<u8>; 2],
}

/// A kernel that is loaded.
#[derive(Debug)]
struct PipelineStep {
    function: CudaFunction,
    /// Of an element.
    threads: usize,
}

/// The parameter of every kernel: `Batch` in `kernels.cu`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct KernelBatch {
    from: u64,
    to: u64,
    threads: u64,
    element: u64,
    draws: u64,
    mean: u64,
    scale: u64,
    notes: u64,
}

#[expect(unsafe_code, reason = "the bindings cannot see what a kernel takes")]
// SAFETY: it has the form that C gives it, and no gaps.
unsafe impl DeviceRepr for KernelBatch {}

/// A cursor over batches that a device makes.
pub(super) struct PipelineCursor {
    /// Copies to the device, kernels, copies back: three streams that run side by side.
    up: Arc<CudaStream>,
    run: Arc<CudaStream>,
    down: Arc<CudaStream>,
    /// By delivered field.
    kernels: Vec<Option<Loaded>>,
    /// The fields of the data set that are uploaded.
    sources: Vec<usize>,
    slots: Vec<Slot>,
    input: Input,
    batches: Batches,
    epoch: u64,
    /// The batch that is handed out next, and the one that is issued next.
    next: usize,
    issued: usize,
    /// In which way its transforms run, where one was asked for.
    mode: Option<ExecutionMode>,
    spec: PipelineSpec,
}

impl PipelineCursor {
    #[expect(unsafe_code, reason = "the streams are ordered here")]
    pub(super) fn open(
        spec: &PipelineSpec,
        data: &Arc<DataSet>,
        mode: Option<ExecutionMode>,
    ) -> Result<Self> {
        data.check_is(&spec.source)?;
        let kernels = match mode {
            None | Some(ExecutionMode::Compiled) => StageKernels::Fused,
            Some(ExecutionMode::Vectorised) => StageKernels::OneEach,
            Some(other) => {
                return Err(skip(format!(
                    "on the device a list of transforms runs in `mode` compiled or vectorised, not in {other}"
                )));
            }
        };
        let (written, kinds) = write(spec, data, kernels)?;
        let batches = Batches { all: spec.elements(), size: spec.batch_size };
        let input = Input::open(spec, data)?;
        let ctx = CudaContext::new(0).map_err(failed("open the device"))?;
        // SAFETY: events order the streams. A buffer is used again when its batch was let go, and so was
        // waited for; of a batch that was skipped nobody reads what a race leaves.
        unsafe { stop_tracking(&ctx) };
        let stream = || ctx.new_stream().map_err(failed("make a stream"));
        let (up, run, down) = (stream()?, stream()?, stream()?);
        let elements = batches.size.min(batches.all.len());
        let kernels = load(&ctx, &run, &written, elements)?;
        let mut sources: Vec<usize> = written.iter().map(|(source, _)| *source).collect();
        sources.sort_unstable();
        sources.dedup();
        let rows: Vec<usize> =
            sources.iter().map(|field| row_bytes(&spec.source.fields[*field].kind)).collect();
        let rooms: Vec<SlotRoom> = written
            .iter()
            .zip(kinds.iter())
            .map(|((source, kernel), kind)| SlotRoom {
                upload: sources.iter().position(|field| field == source).expect("it is one of them"),
                row: row_bytes(kind),
                is_computed: kernel.is_some(),
            })
            .collect();
        let slot = |_| Slot::new(&ctx, &run, elements, &rows, &rooms, &kinds, spec.destination);
        let slots = (0..SLOTS).map(slot).collect::<Result<_>>()?;
        // Memory of the streams' order is there for other streams when its own has reached it.
        run.synchronize().map_err(failed("get memory of the device"))?;
        Ok(Self {
            up,
            run,
            down,
            kernels,
            sources,
            slots,
            input,
            batches,
            epoch: 0,
            next: 0,
            issued: 0,
            mode,
            spec: spec.clone(),
        })
    }

    /// Sends a batch on its way. Its slot is the consumer's no more.
    fn issue(&mut self, batch: usize) -> Result<()> {
        let elements = self.batches.elements(batch);
        let slot = &mut self.slots[batch % SLOTS];
        slot.renew(elements.len());
        upload(&self.up, slot, &mut self.input, &self.sources, &elements)?;
        self.run.wait(&slot.uploaded).map_err(failed("order the streams"))?;
        let draws = Draws::new(self.spec.seed, self.epoch).key();
        for (field, kernel) in self.kernels.iter().enumerate() {
            let Some(kernel) = kernel else { continue };
            let of = &mut slot.delivered[field];
            let to = of.device.as_mut().expect("a computed field has a buffer");
            compute(&self.run, kernel, &slot.uploads[of.upload].device, to, &elements, draws)?;
        }
        slot.computed.record(&self.run).map_err(failed("record an event"))?;
        if self.spec.destination == Destination::Device {
            return slot.ready.record(&self.run).map_err(failed("record an event"));
        }
        self.down.wait(&slot.computed).map_err(failed("order the streams"))?;
        for of in &mut slot.delivered {
            let bytes = elements.len() * of.row;
            let device = of.device.as_ref().unwrap_or(&slot.uploads[of.upload].device);
            let host = of.host.as_mut().expect("a batch for the host has room there");
            self.down
                .memcpy_dtoh(&device.slice(..bytes), host)
                .map_err(failed("copy a batch to the host"))?;
        }
        slot.ready.record(&self.down).map_err(failed("record an event"))
    }

    /// Waits for all that is under way.
    fn drain(&self) -> Result<()> {
        for stream in [&self.up, &self.run, &self.down] {
            stream.synchronize().map_err(failed("wait for the device"))?;
        }
        Ok(())
    }

    fn current(&self) -> &Slot {
        &self.slots[self.next.saturating_sub(1) % SLOTS]
    }
}

/// The kernels of all delivered fields with their source fields.
type Fields = Vec<(usize, Option<KernelSource>)>;

fn write(spec: &PipelineSpec, data: &DataSet, kernels: StageKernels) -> Result<(Fields, Arc<[FieldKind]>)> {
    let declined = |what: &str| skip(format!("its kernels on the device do not have {what}"));
    let structure = &spec.structure;
    let whole = !structure.mixture.is_empty()
        || structure.mixing.is_some()
        || structure.cache
        || structure.rebatch.is_some();
    if whole {
        return Err(declined(&structure.capabilities().join(", ")));
    }
    if spec.workers > 0 {
        return Err(skip("it stages rows on the consumer's thread: workers are not for it".to_owned()));
    }
    let routes = spec.routes()?;
    let write = |(number, route): (usize, &crate::workload::Route)| {
        let name = format!("weighbridge_field_{number}");
        let kernel = kernel::write(route, data, &name, kernels).map_err(|what| declined(&what))?;
        let numbers: usize = route.output.shape.iter().product();
        if u32::try_from(numbers * spec.batch_size.min(spec.elements().len())).is_err() {
            return Err(declined("a batch of more than 2^32 numbers"));
        }
        Ok((route.source, kernel))
    };
    let written = routes.iter().enumerate().map(write).collect::<Result<_>>()?;
    Ok((written, routes.iter().map(|route| route.output.clone()).collect()))
}

/// Loads the kernels of a pipeline as one module, with what they read and the room that batches of `elements`
/// need.
fn load(
    ctx: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
    written: &[(usize, Option<KernelSource>)],
    elements: usize,
) -> Result<Vec<Option<Loaded>>> {
    let fields = || written.iter().filter_map(|(_, written)| written.as_ref());
    let texts: String = fields()
        .flat_map(|field| field.drawing.iter().chain(&field.kernels))
        .map(|kernel| kernel.text.as_str())
        .collect();
    if texts.is_empty() {
        return Ok(written.iter().map(|_| None).collect());
    }
    let compiled = compiler::compile(&(FUNCTIONS.to_owned() + &texts))?;
    let module = ctx.load_module(compiled).map_err(failed("load the kernels of the pipeline"))?;
    let step = |kernel: &Kernel| {
        let function = module.load_function(&kernel.name).map_err(failed("find a kernel of the pipeline"))?;
        Ok(PipelineStep { function, threads: kernel.threads })
    };
    let copy = |column: &[f32]| stream.clone_htod(column).map_err(failed("copy constants to the device"));
    let room = |bytes: usize| room(stream, elements * bytes);
    let load = |(_, written): &(usize, Option<KernelSource>)| {
        let Some(written) = written else { return Ok(None) };
        let (mean, scale) = match &written.constants {
            Some(constants) => (&constants.mean[..], &constants.scale[..]),
            None => (&[0.0][..], &[0.0][..]),
        };
        // The last one writes what is delivered.
        let (_, inner) = written.kernels.split_last().expect("a field that is computed has a kernel");
        let between =
            |first| inner.iter().skip(first).step_by(2).map(|kernel| kernel.writes).max().unwrap_or(0);
        Ok(Some(Loaded {
            drawing: written.drawing.as_ref().map(step).transpose()?,
            steps: written.kernels.iter().map(step).collect::<Result<_>>()?,
            mean: copy(mean)?,
            scale: copy(scale)?,
            notes: room(written.notes)?,
            between: [room(between(0))?, room(between(1))?],
        }))
    };
    written.iter().map(load).collect()
}

/// Stages the rows of a batch and enqueues their copies.
fn upload(
    up: &Arc<CudaStream>,
    slot: &mut Slot,
    input: &mut Input,
    sources: &[usize],
    elements: &Range<usize>,
) -> Result<()> {
    for (field, of) in sources.iter().zip(&mut slot.uploads) {
        let rows = input.rows(*field, elements.clone())?;
        // The copy before from the same memory is that of a batch which was waited for; see `stop_tracking`.
        let staging = of.staging.as_mut_slice().map_err(failed("stage rows"))?;
        let staged = &mut staging[..rows.len()]; // the last batch may be short
        staged.copy_from_slice(rows);
        up.memcpy_htod(staged, &mut of.device).map_err(failed("copy rows to the device"))?;
    }
    slot.uploaded.record(up).map_err(failed("record an event"))
}

/// Enqueues the kernels of a field.
fn compute(
    run: &Arc<CudaStream>,
    field: &Loaded,
    from: &CudaSlice<u8>,
    to: &mut CudaSlice<u8>,
    elements: &Range<usize>,
    draws: u64,
) -> Result<()> {
    let (mut from, _from) = from.device_ptr(run);
    let (to, _to) = to.device_ptr_mut(run);
    let between = field.between.each_ref().map(|room| room.device_ptr(run).0);
    if let Some(drawing) = &field.drawing {
        launch(run, field, drawing, [from, to], elements, draws)?;
    }
    for (number, step) in field.steps.iter().enumerate() {
        let to = if number + 1 == field.steps.len() { to } else { between[number % 2] };
        launch(run, field, step, [from, to], elements, draws)?;
        from = to;
    }
    Ok(())
}

#[expect(unsafe_code, reason = "what a kernel reads and writes is known to its text alone")]
fn launch(
    run: &Arc<CudaStream>,
    field: &Loaded,
    step: &PipelineStep,
    [from, to]: [u64; 2],
    elements: &Range<usize>,
    draws: u64,
) -> Result<()> {
    let threads = (elements.len() * step.threads) as u32;
    if threads == 0 {
        return Ok(());
    }
    let (mean, _mean) = field.mean.device_ptr(run);
    let (scale, _scale) = field.scale.device_ptr(run);
    let (notes, _notes) = field.notes.device_ptr(run);
    let element = elements.start as u64;
    let batch = KernelBatch { from, to, threads: threads.into(), element, draws, mean, scale, notes };
    let mut launch = run.launch_builder(&step.function);
    launch.arg(&batch);
    let blocks = threads.div_ceil(THREADS);
    let shape = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the parameter is the one that every kernel of ours declares; it touches the numbers of so many
    // threads in `from` and `to`, which have room for a batch, its notes, and a column of constants.
    unsafe { launch.launch(shape) }.map(drop).map_err(failed("launch a kernel of the pipeline"))
}

impl Epochs for PipelineCursor {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.drain()?;
        (self.epoch, self.next, self.issued) = (epoch, 0, 0);
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        if self.next >= self.batches.count() {
            return Ok(false);
        }
        // The slot of the batch that was just let go takes the one that lies farthest ahead.
        while self.issued < (self.next + SLOTS).min(self.batches.count()) {
            self.issue(self.issued)?;
            self.issued += 1;
        }
        self.next += 1;
        Ok(true)
    }

    fn ready(&mut self) -> Result<()> {
        self.current().ready.synchronize().map_err(failed("wait for a batch"))
    }

    fn batch(&self) -> &dyn Batch {
        self.current()
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(CopyPlace { epoch: self.epoch, next: self.next as u64 }.save(&self.spec))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let saved = CopyPlace::restore(saved, &self.spec)?;
        self.begin(saved.epoch)?;
        (self.next, self.issued) = (saved.next as usize, saved.next as usize);
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        // A slot's buffers, the consumer's until it asks for the next one.
        let (synchronised, ran_on, delivery) = match self.spec.destination {
            Destination::Host => {
                ("an event behind the copy to the host", "cuda:0, delivered to cpu", Delivery::Owned)
            }
            Destination::Device => {
                ("an event behind the kernels; the batch stays on the device", "cuda:0", Delivery::Device)
            }
        };
        let mut transforms = self.spec.work();
        transforms.extend(self.mode.map(|mode| format!("mode {mode}")));
        ExecutedWork {
            ran_on: ran_on.into(),
            synchronised: synchronised.into(),
            ..ExecutedWork::ours(transforms, delivery, 0)
        }
    }
}

impl Drop for PipelineCursor {
    fn drop(&mut self) {
        // Buffers go back when nothing uses them; an error here was told to whoever waited for a batch.
        let _ = self.drain();
    }
}
