//! An open pipeline: batches of one epoch after another, and what it really does.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use weighbridge::{
    Count, Delivery, Error, FieldCopy, FieldKind, ItemCopy, Operator, Platform, Remote, ResourceUse, Result,
    WorkReport, skip,
};

use crate::DataSet;

/// An open pipeline: a cursor over the batches of one epoch after another.
pub trait Epochs {
    /// Goes to before the first batch of an epoch. Never timed; work on batches starts with the first
    /// [`Epochs::advance`], so that its cost falls into the time of the first batch.
    ///
    /// # Errors
    /// What the system says; the repeat fails with it.
    fn begin(&mut self, epoch: u64) -> Result<()>;

    /// Moves to the next batch; `false` at the end of the epoch.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn advance(&mut self) -> Result<bool>;

    /// Returns when the bytes of the current batch are where they were promised.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn ready(&mut self) -> Result<()> {
        Ok(())
    }

    /// The current batch. The consumer lets it go by asking for the next one.
    fn batch(&self) -> &dyn Batch;

    /// Returns whether the pipeline runs a whole pass in one call, and so has no latency of a batch.
    fn whole_pass(&self) -> bool {
        false
    }

    /// Goes through up to `batches` batches in one call and hands each to `each`. Returns how many there
    /// were: fewer at the end of the epoch.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn pass(&mut self, batches: u64, each: &mut dyn FnMut(&dyn Batch)) -> Result<u64> {
        let mut done = 0;
        while done < batches && self.advance()? {
            self.ready()?;
            each(self.batch());
            done += 1;
        }
        Ok(done)
    }

    /// The place in the epoch, as bytes that [`Epochs::restore`] of another pipeline with the same
    /// specification understands, in another process too: how many batches were handed out, and what else the
    /// rest depends on.
    ///
    /// # Errors
    /// A skip where the system has no such thing, which is what happens unless it says otherwise.
    fn save(&mut self) -> Result<Vec<u8>> {
        Err(skip("it cannot save its place in an epoch"))
    }

    /// Goes to the place that was saved: the next [`Epochs::advance`] gives the batch after it.
    ///
    /// # Errors
    /// A failure where the bytes are damaged or of another pipeline; a skip as for [`Epochs::save`].
    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let _ = saved;
        Err(skip("it cannot restore its place in an epoch"))
    }

    /// Returns whether batches come in the order of the epoch. Where they do not, nothing may be compared
    /// place by place.
    fn in_order(&self) -> bool {
        true
    }

    /// Returns the work that the pipeline really does, for the work report.
    fn executed(&self) -> ExecutedWork;

    /// Names what hands out the batches, where it comes from, and its version: for a system that is not the
    /// adapter itself.
    fn entry_point(&self) -> Option<String> {
        None
    }

    /// The pipeline as a stream that is timed where it runs, if that is another process: no clock here can
    /// time it.
    ///
    /// # Errors
    /// A skip where the pipeline runs elsewhere and cannot be timed there as it is.
    fn remote(&mut self) -> Result<Option<&mut dyn Remote>> {
        Ok(None)
    }

    /// The pipeline as one of several that move in step, if it runs in another process: there a batch is made
    /// and stays where it is, so that nothing of its way here is timed.
    fn rank(&mut self) -> Option<&mut dyn Rank> {
        None
    }

    /// Returns the time of a whole epoch by the clock of the process that it runs in, from the first request
    /// to its end; `None` where that is this one.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn time(&mut self, epoch: u64) -> Result<Option<Duration>> {
        let _ = epoch;
        Ok(None)
    }

    /// The number of compilations of the system in its process so far; `None` where it compiles nothing, or
    /// does not tell.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn compilations(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Lets everything go that the pipeline has elsewhere. How long that took by the clock there; `None`
    /// where the pipeline is here, and is just dropped.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn close(&mut self) -> Result<Option<Duration>> {
        Ok(None)
    }
}

/// Returns the time of a whole epoch, from the first request to its end; by its own clock where it runs in
/// another process.
///
/// # Errors
/// What the pipeline says.
pub fn time_epoch(epochs: &mut dyn Epochs, epoch: u64) -> Result<Duration> {
    if let Some(took) = epochs.time(epoch)? {
        return Ok(took);
    }
    epochs.begin(epoch)?;
    let start = Instant::now();
    let mut next = |batch: &dyn Batch| {
        black_box(batch.elements());
    };
    if epochs.whole_pass() {
        epochs.pass(u64::MAX, &mut next)?;
    } else {
        while epochs.advance()? {
            epochs.ready()?;
            next(epochs.batch());
        }
    }
    Ok(start.elapsed())
}

/// A pipeline in a process of its own, driven in step with others.
pub trait Rank {
    /// The id of the process.
    fn process(&self) -> u32;

    /// Makes the next batch, complete, and cuts the `index`-th of `of` equal runs of bytes out of each field
    /// of its elements; what those hold. `None` at the end of the epoch.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn step(&mut self, index: usize, of: usize) -> Result<Option<Count>>;

    /// Hands over the whole of the batch that was made last: it is the pipeline's [`Epochs::batch`] then.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn fetch(&mut self) -> Result<()>;

    /// Returns the resources that the process and all below it have used since some moment.
    ///
    /// # Errors
    /// As [`Epochs::begin`].
    fn used(&mut self) -> Result<ResourceUse>;
}

/// Some elements, field by field.
pub trait Batch {
    /// The number of elements: real ones, never padding.
    fn elements(&self) -> usize;

    /// Name, type and element shape of every field.
    fn kinds(&self) -> &[FieldKind];

    /// The numbers of a field, given by its position: all elements in order, little-endian.
    fn bytes(&self, field: usize) -> &[u8];

    /// The size of a field in bytes, where a batch is delivered on a device and its bytes would have to be
    /// copied from there. Of a batch on the host nobody asks.
    fn length(&self, field: usize) -> usize {
        self.bytes(field).len()
    }
}

/// Methods that no adapter can override.
impl dyn Batch + '_ {
    /// Bytes in all fields together.
    pub fn size(&self) -> u64 {
        (0..self.kinds().len()).map(|field| self.length(field) as u64).sum()
    }

    /// A copy, for verification.
    pub fn keep(&self) -> ItemCopy {
        let copy = |(position, FieldKind { name, dtype, shape }): (usize, &FieldKind)| FieldCopy {
            name: name.clone(),
            dtype: *dtype,
            shape: shape.clone(),
            bytes: self.bytes(position).to_vec(),
        };
        ItemCopy { elements: self.elements(), fields: self.kinds().iter().enumerate().map(copy).collect() }
    }
}

/// The work that a pipeline really does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutedWork {
    /// The transforms that run, in order, by name.
    pub transforms: Vec<String>,
    /// Whose operator does each of them.
    pub operators: Vec<Operator>,
    /// The library that the operators are of, where that is not the system itself.
    pub library: Option<String>,
    /// Facts of its process that may differ between systems though their work is equal: versions, threads.
    pub environment: BTreeMap<String, String>,
    /// The device that they run on: `cpu`, `cuda:0`.
    pub ran_on: String,
    /// The way in which a batch is waited for.
    pub synchronised: String,
    /// The form in which the consumer gets a batch.
    pub delivery: Delivery,
    /// Worker threads or processes that there really are.
    pub workers: u64,
}

/// Refuses a system that works elsewhere than the run was asked for: it would be ranked beside those that
/// work there.
///
/// # Errors
/// On a device a skip for a system that works on the host. On the host that it works on a device all the
/// same.
pub fn check_backend(ran_on: &str, asked: Platform) -> Result<()> {
    match (asked, ran_on.starts_with(Platform::Cpu.name())) {
        (Platform::Cpu, false) => {
            Err(Error::new(format!("platform cpu was asked for, and it works on {ran_on}")))
        }
        (Platform::Gpu | Platform::Tpu, true) => {
            Err(skip(format!("platform {asked}: it has no device path here, it works on the host")))
        }
        _ => Ok(()),
    }
}

impl ExecutedWork {
    /// The work report: this over a data set, done by what `entry_point` names where that is not the adapter
    /// itself.
    pub fn report(self, data: &DataSet, entry_point: Option<String>) -> WorkReport {
        WorkReport { input: Some(data.digest().to_owned()), ..self.untied(entry_point) }
    }

    /// The same over what is no data set.
    pub fn untied(self, entry_point: Option<String>) -> WorkReport {
        let Self { transforms, operators, library, environment, ran_on, synchronised, delivery, workers } =
            self;
        WorkReport {
            input: None,
            transforms,
            operators,
            library,
            environment,
            ran_on,
            synchronised,
            delivery,
            workers,
            entry_point,
            unequal: None,
            unverified: None,
        }
    }

    /// Refuses work that is done elsewhere than the run was asked for.
    ///
    /// # Errors
    /// As of `check_backend`: a skip on a device, an error on the host.
    pub fn check_platform(&self, asked: Platform) -> Result<()> {
        check_backend(&self.ran_on, asked)
    }

    /// The work of a system of this crate itself, on the processor: complete when a call returns.
    pub fn ours(transforms: Vec<String>, delivery: Delivery, workers: u64) -> Self {
        Self {
            operators: vec![Operator::Ours; transforms.len()],
            library: None,
            environment: BTreeMap::new(),
            transforms,
            ran_on: "cpu".into(),
            synchronised: "returns when ready".into(),
            delivery,
            workers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_works_elsewhere_than_the_run_was_asked_for_is_refused_on_the_host_and_left_out_on_a_device() {
        for (ran_on, asked) in [("cpu", Platform::Cpu), ("cpu (flex)", Platform::Cpu), ("gpu", Platform::Gpu)]
        {
            check_backend(ran_on, asked).unwrap();
        }
        let refused = check_backend("gpu", Platform::Cpu).unwrap_err();
        assert!(!refused.is_skip() && refused.to_string().contains("it works on gpu"), "{refused}");
        let left_out = check_backend("cpu", Platform::Gpu).unwrap_err();
        assert!(left_out.is_skip() && left_out.to_string().contains("no device path"), "{left_out}");
    }
}
