//! The buffers of one batch, and how far it has come.

use std::cell::OnceCell;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, PinnedHostSlice};
use weighbridge::{FieldKind, Result};
use weighbridge_data::Batch;

use crate::contract::to_device::{WRITE_COMBINED, copy_back, failed, pinned, room};
use crate::workload::Destination;

/// A field of the data set, on its way to the device.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) staging: PinnedHostSlice<u8>,
    pub(super) device: CudaSlice<u8>,
}

/// A field of the batch.
#[derive(Debug)]
pub(super) struct Delivered {
    /// Memory that its kernel writes; `None` where the field is delivered as it came.
    pub(super) device: Option<CudaSlice<u8>>,
    /// Memory of the host that it goes to, if it goes there.
    pub(super) host: Option<PinnedHostSlice<u8>>,
    /// The position of its upload, and bytes of an element.
    pub(super) upload: usize,
    pub(super) row: usize,
    /// A copy that verification asked for.
    copied: OnceCell<Vec<u8>>,
}

/// Room for one batch.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) uploads: Vec<Upload>,
    pub(super) delivered: Vec<Delivered>,
    /// The uploads are on the device.
    pub(super) uploaded: CudaEvent,
    /// The kernels are done.
    pub(super) computed: CudaEvent,
    /// The batch is where it was promised.
    pub(super) ready: CudaEvent,
    pub(super) elements: usize,
    kinds: Arc<[FieldKind]>,
    stream: Arc<CudaStream>,
}

/// A field of a slot, as it is to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotRoom {
    pub(super) upload: usize,
    pub(super) row: usize,
    pub(super) is_computed: bool,
}

impl Slot {
    /// Room for `elements`; `uploads` are the rows of the data set's fields in bytes.
    pub(super) fn new(
        ctx: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        elements: usize,
        uploads: &[usize],
        rooms: &[SlotRoom],
        kinds: &Arc<[FieldKind]>,
        destination: Destination,
    ) -> Result<Self> {
        let upload = |row: &usize| {
            Ok(Upload {
                staging: pinned(ctx, elements * row, WRITE_COMBINED)?,
                device: room(stream, elements * row)?,
            })
        };
        let deliver = |field: &SlotRoom| {
            let bytes = elements * field.row;
            Ok(Delivered {
                device: if field.is_computed { Some(room(stream, bytes)?) } else { None },
                host: if destination == Destination::Host { Some(pinned(ctx, bytes, 0)?) } else { None },
                upload: field.upload,
                row: field.row,
                copied: OnceCell::new(),
            })
        };
        let event = || ctx.new_event(None).map_err(failed("make an event"));
        Ok(Self {
            uploads: uploads.iter().map(upload).collect::<Result<_>>()?,
            delivered: rooms.iter().map(deliver).collect::<Result<_>>()?,
            uploaded: event()?,
            computed: event()?,
            ready: event()?,
            elements: 0,
            kinds: kinds.clone(),
            stream: stream.clone(),
        })
    }

    /// Forgets what verification copied of the batch before.
    pub(super) fn renew(&mut self, elements: usize) {
        self.elements = elements;
        for field in &mut self.delivered {
            field.copied = OnceCell::new();
        }
    }
}

impl Batch for Slot {
    fn elements(&self) -> usize {
        self.elements
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    /// Bytes that lie on the device are copied; those that cannot be are none, which no verification takes
    /// for right.
    fn bytes(&self, field: usize) -> &[u8] {
        let of = &self.delivered[field];
        let bytes = self.elements * of.row;
        if let Some(host) = &of.host {
            return host.as_slice().map_or(&[], |all| &all[..bytes]);
        }
        of.copied.get_or_init(|| {
            let device = of.device.as_ref().unwrap_or(&self.uploads[of.upload].device);
            copy_back(&self.stream, &self.ready, device, bytes)
        })
    }

    fn length(&self, field: usize) -> usize {
        self.elements * self.delivered[field].row
    }
}
