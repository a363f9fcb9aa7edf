//! Batches of a pipeline on the host, copied to the device: through pinned memory, as whoever feeds a device
//! from the host does it, and waited for. Nothing is prepared ahead: what a pipeline does meanwhile is its
//! own.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DriverError, PinnedHostSlice};
use weighbridge::gpu::{DeviceError, find_device};
use weighbridge::{Delivery, Error, FieldKind, Platform, Result, skip};
use weighbridge_data::{Batch, Epochs, ExecutedWork};

use crate::workload::PipelineSpec;

/// Returns a function that makes the error of a failed attempt at the device: of some codes the process does
/// not recover, and must end.
pub(crate) fn failed(what: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| DeviceError::of_cuda(what, error.0 as i32, format!("{:?}", error.0)).into()
}

/// `CU_MEMHOSTALLOC_WRITECOMBINED`: quick for the device to read, and slow for the host, which only writes
/// it.
pub(crate) const WRITE_COMBINED: u32 = 4;

/// Bytes of the host that the device copies from and to at full speed. They are zero.
///
/// # Errors
/// What the driver says.
#[expect(unsafe_code, reason = "fresh pinned memory holds what nobody has written")]
pub(crate) fn pinned(ctx: &Arc<CudaContext>, bytes: usize, flags: u32) -> Result<PinnedHostSlice<u8>> {
    let bytes = bytes.max(1);
    let get = |ctx: &Arc<CudaContext>| {
        // SAFETY: it is written below before anybody can read it.
        let mut made: PinnedHostSlice<u8> = unsafe { ctx.alloc_pinned_with_flags(bytes, flags) }?;
        let start = made.as_mut_ptr()?;
        // SAFETY: so many bytes lie there, and nobody else has them yet.
        unsafe { start.write_bytes(0, bytes) };
        Ok(made)
    };
    get(ctx).map_err(failed("get pinned memory"))
}

/// Bytes of the device, in the order of the stream.
///
/// # Errors
/// What the driver says.
pub(crate) fn room(stream: &Arc<CudaStream>, bytes: usize) -> Result<CudaSlice<u8>> {
    stream.alloc_zeros(bytes.max(1)).map_err(failed("get memory of the device"))
}

/// Switches off the bindings' own events between streams, which would be work for each copy and each launch.
///
/// # Safety
/// Whoever calls this orders the streams that use a buffer one after the other, and frees no buffer that a
/// stream still uses.
#[expect(unsafe_code, reason = "who switches them off orders the streams")]
pub(crate) unsafe fn stop_tracking(ctx: &Arc<CudaContext>) {
    // SAFETY: as the caller promises.
    unsafe { ctx.disable_event_tracking() };
}

/// A pipeline whose batches are copied to the device.
pub(super) struct ToDevice<'a> {
    epochs: Box<dyn Epochs + 'a>,
    batch: CopiedFields,
}

/// The batch that was copied last.
struct CopiedFields {
    stream: Arc<CudaStream>,
    fields: Vec<DeviceField>,
    kinds: Vec<FieldKind>,
    elements: usize,
    /// It is on the device.
    ready: CudaEvent,
}

/// A field of a batch, with as much room as the largest so far.
struct DeviceField {
    staging: PinnedHostSlice<u8>,
    device: CudaSlice<u8>,
    /// Bytes of the batch.
    bytes: usize,
    /// A copy that verification asked for.
    back: OnceCell<Vec<u8>>,
}

impl<'a> ToDevice<'a> {
    /// Opens the device, with room for a batch of this pipeline.
    ///
    /// # Errors
    /// A skip where there is none; what is impossible in the pipeline; what the driver says.
    #[expect(unsafe_code, reason = "the streams are ordered here")]
    pub(super) fn new(epochs: Box<dyn Epochs + 'a>, spec: &PipelineSpec) -> Result<Self> {
        // The bindings panic where there is no driver: it is looked for first.
        find_device(Platform::Gpu).map_err(|why| skip(why.to_string()))?;
        let ctx = CudaContext::new(0).map_err(failed("open the device"))?;
        // SAFETY: there is one stream, and a buffer is used again when its batch was waited for.
        unsafe { stop_tracking(&ctx) };
        let stream = ctx.new_stream().map_err(failed("make a stream"))?;
        let ready = ctx.new_event(None).map_err(failed("make an event"))?;
        let kinds = spec.output()?;
        let elements = spec.structure.rebatch.unwrap_or(spec.batch_size).min(spec.elements().len());
        let field = |kind: &FieldKind| {
            let row = kind.shape.iter().product::<usize>() * kind.dtype.size();
            DeviceField::new(&stream, elements * row)
        };
        let fields = kinds.iter().map(field).collect::<Result<_>>()?;
        stream.synchronize().map_err(failed("get memory of the device"))?;
        Ok(Self { epochs, batch: CopiedFields { stream, fields, kinds, elements: 0, ready } })
    }
}

impl CopiedFields {
    /// Sends a batch to the device, on the stream.
    fn send(&mut self, batch: &dyn Batch) -> Result<()> {
        self.elements = batch.elements();
        if self.kinds != batch.kinds() {
            self.kinds = batch.kinds().to_vec();
        }
        for position in 0..self.kinds.len() {
            let bytes = batch.bytes(position);
            if self.fields.get(position).is_none_or(|field| field.device.len() < bytes.len()) {
                self.make_room(position, bytes.len())?;
            }
            let field = &mut self.fields[position];
            (field.bytes, field.back) = (bytes.len(), OnceCell::new());
            // The batch before was waited for, or nobody reads what becomes of it.
            let staging = field.staging.as_mut_slice().map_err(failed("stage a batch"))?;
            let staged = &mut staging[..bytes.len()];
            staged.copy_from_slice(bytes);
            self.stream
                .memcpy_htod(staged, &mut field.device)
                .map_err(failed("copy a batch to the device"))?;
        }
        self.ready.record(&self.stream).map_err(failed("record an event"))
    }

    /// Waits until it is there.
    fn wait(&self) -> Result<()> {
        self.ready.synchronize().map_err(failed("wait for a batch"))
    }

    /// More room for a field: rows that are padded may be longer than was planned.
    fn make_room(&mut self, position: usize, bytes: usize) -> Result<()> {
        // What is let go may still be copied from.
        self.stream.synchronize().map_err(failed("wait for the device"))?;
        let field = DeviceField::new(&self.stream, bytes)?;
        if position < self.fields.len() {
            self.fields[position] = field;
        } else {
            self.fields.push(field);
        }
        Ok(())
    }
}

impl DeviceField {
    fn new(stream: &Arc<CudaStream>, bytes: usize) -> Result<Self> {
        let staging = pinned(stream.context(), bytes, WRITE_COMBINED)?;
        Ok(Self { staging, device: room(stream, bytes)?, bytes, back: OnceCell::new() })
    }
}

impl Batch for CopiedFields {
    fn elements(&self) -> usize {
        self.elements
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    /// Copied back from the device; bytes that cannot be are none, which no verification takes for right.
    fn bytes(&self, field: usize) -> &[u8] {
        let of = &self.fields[field];
        of.back.get_or_init(|| copy_back(&self.stream, &self.ready, &of.device, of.bytes))
    }

    fn length(&self, field: usize) -> usize {
        self.fields[field].bytes
    }
}

/// Returns the bytes that the device has when the event has passed; none where they cannot be copied.
pub(crate) fn copy_back(
    stream: &Arc<CudaStream>,
    ready: &CudaEvent,
    device: &CudaSlice<u8>,
    bytes: usize,
) -> Vec<u8> {
    let mut copy = vec![0; bytes];
    let copied = stream.wait(ready).and_then(|()| {
        stream.memcpy_dtoh(&device.slice(..bytes), &mut copy)?;
        stream.synchronize()
    });
    if copied.is_ok() { copy } else { Vec::new() }
}

impl Epochs for ToDevice<'_> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.batch.stream.synchronize().map_err(failed("wait for the device"))?;
        self.epochs.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        if !self.epochs.advance()? {
            return Ok(false);
        }
        self.epochs.ready()?;
        self.batch.send(self.epochs.batch())?;
        Ok(true)
    }

    fn ready(&mut self) -> Result<()> {
        self.batch.wait()
    }

    fn batch(&self) -> &dyn Batch {
        &self.batch
    }

    fn whole_pass(&self) -> bool {
        self.epochs.whole_pass()
    }

    fn pass(&mut self, batches: u64, each: &mut dyn FnMut(&dyn Batch)) -> Result<u64> {
        let copied = &mut self.batch;
        let mut sent = Ok(());
        let done = self.epochs.pass(batches, &mut |batch| {
            if sent.is_ok() {
                sent = copied.send(batch).and_then(|()| copied.wait());
            }
            if sent.is_ok() {
                each(&*copied);
            }
        })?;
        sent.map(|()| done)
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        self.epochs.save()
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        self.epochs.restore(saved)
    }

    fn in_order(&self) -> bool {
        self.epochs.in_order()
    }

    fn executed(&self) -> ExecutedWork {
        let executed = self.epochs.executed();
        ExecutedWork {
            ran_on: format!("{}, delivered to cuda:0", executed.ran_on),
            synchronised: format!("{}; an event behind the copy to the device", executed.synchronised),
            delivery: Delivery::Device,
            ..executed
        }
    }

    fn entry_point(&self) -> Option<String> {
        self.epochs.entry_point()
    }

    fn close(&mut self) -> Result<Option<Duration>> {
        self.epochs.close()
    }
}

impl Drop for ToDevice<'_> {
    fn drop(&mut self) {
        // Buffers go back when nothing uses them; an error here was told to whoever waited for a batch.
        let _ = self.batch.stream.synchronize();
    }
}
