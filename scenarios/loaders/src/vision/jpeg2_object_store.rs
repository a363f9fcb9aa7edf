//! JPEG-2: photographs from an object store over HTTP to batches.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use weighbridge::prelude::*;
use weighbridge::{Direction, Error, Unit};
use weighbridge_data::{ObjectStore, StoreCounts, StoreTerms, encoded};

use crate::contract::{cold_start, load_counted, open_data};
use crate::prelude::*;
use crate::vision::jpeg1_photographs::PhotographForms;
use crate::workload::StoreAddress;

/// JPEG-1's photographs from an object store behind a latency: decoded, cropped, mirrored, normalised.
///
/// How fast does a loader feed an image classifier when each photograph is an answer to a request? The store
/// is a server on this machine: ranges, connections that stay, `latency` milliseconds before each answer,
/// `bandwidth` megabytes a second for all connections together (0: no limit), and one request of `failing`
/// answered by 503 (0: none). Every system reads by its own client, with `in_flight` requests under way at
/// most. `files` has an object for each photograph, `tar` one of all, which is read in ranges or through.
///
/// Timed: the requests, decoding and all that JPEG-1 times. Not timed: making the photographs, starting the
/// store, opening the pipeline. `cold_start` is the time from opening a pipeline to its first batch, when no
/// connection is there; `epoch_start` tells what each later epoch begins with. `requests` and `read` are
/// counted at the store, for each photograph that was delivered. The store is served from the process that
/// measures: of a native loader, processor time has the store's in it.
///
/// The store must have sent at least the bytes of what was delivered, epoch after epoch: a system that reads
/// less keeps photographs, or reads them elsewhere, and fails. Work must be alike, as in JPEG-1.
#[scenario(id = "JPEG-2", category = "Computer vision", workload = workload)]
#[expect(clippy::too_many_arguments, reason = "axes of a sweep")]
fn photographs_over_http(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(default = PhotographForms(1_024), tiny = PhotographForms(128), large = PhotographForms(20_000))]
    variant: PhotographForms,
    #[sweep(StoredForm::Files, StoredForm::Tar)] form: StoredForm,
    #[sweep(1, 16, 64)] in_flight: usize,
    #[sweep(implied, 10, 1, 50)] latency: u64,
    #[sweep(implied, 0, 100, 10)] bandwidth: u64,
    #[sweep(implied, 0, 100)] failing: u64,
    #[sweep(implied, 0, 2)] workers: usize,
) -> Result<()> {
    let spec = workload(&variant, &form, &in_flight, &latency, &bandwidth, &failing, &workers);
    let (spec, data) = open_data(bencher, &spec)?;
    let terms = StoreTerms {
        latency: Duration::from_millis(latency),
        bandwidth: (bandwidth > 0).then_some(bandwidth * 1_000_000),
        failing,
    };
    measure(bencher, loader, &spec, &data, &ObjectStore::serve(&data, terms)?, in_flight)
}

/// Returns the pipeline of a point of the sweep.
fn workload(
    PhotographForms(elements): &PhotographForms,
    form: &StoredForm,
    in_flight: &usize,
    _latency: &u64,
    _bandwidth: &u64,
    _failing: &u64,
    workers: &usize,
) -> PipelineSpec {
    let access = match form {
        StoredForm::Files => Access::StoredFiles,
        StoredForm::Tar => Access::StoredTar,
    };
    // As in JPEG-1.
    let batch = (elements / 16).min(64);
    [DecodeResizedCrop, RandomFlip, Normalize, CastToFloat32]
        .into_iter()
        .fold(PipelineSpec::new(DataSpec::photographs(*elements), batch), PipelineSpec::map)
        .access(access)
        .in_store(StoreAddress { url: String::new(), in_flight: *in_flight })
        .workers(*workers)
        .operators(Operators::Own)
}

fn measure(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    store: &ObjectStore,
    in_flight: usize,
) -> Result<()> {
    let spec = spec.clone().in_store(StoreAddress { url: store.url(), in_flight });
    let delivered = load_counted(bencher, loader, &spec, data)?;
    let counts = store.counts();
    check_read(data, delivered, counts)?;
    let each = |count: u64| count as f64 / delivered.max(1) as f64;
    bencher.metric("requests", each(counts.requests), Unit::other("requests/photograph"), Direction::Lower);
    bencher.metric("read", each(counts.bytes), Unit::other("B/photograph"), Direction::Lower);
    if !bencher.is_smoke() {
        let cold = cold_start(loader, &spec, data, bencher.epoch())?;
        bencher.metric("cold_start", cold.as_secs_f64(), Unit::SECONDS, Direction::Lower);
    }
    Ok(())
}

/// Refuses a system that read less than it has delivered.
fn check_read(data: &DataSet, delivered: u64, counts: StoreCounts) -> Result<()> {
    let least = least_bytes(data, delivered);
    if counts.bytes >= least {
        return Ok(());
    }
    Err(Error::new(format!(
        "the store sent {} bytes, and {delivered} photographs were delivered, which have {least} at least: \
         it keeps photographs, or reads them elsewhere",
        counts.bytes
    )))
}

/// The bytes that so many photographs have at least, epoch after epoch.
fn least_bytes(data: &DataSet, photographs: u64) -> u64 {
    let mut sizes: Vec<u64> = (0..data.elements()).map(|at| encoded(data, at).len() as u64).collect();
    sizes.sort_unstable();
    let (epochs, rest) = (photographs / sizes.len() as u64, photographs % sizes.len() as u64);
    epochs * sizes.iter().sum::<u64>() + sizes[..rest as usize].iter().sum::<u64>()
}

/// The form of the photographs in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredForm {
    /// An object for each.
    Files,
    /// One tar file of all.
    Tar,
}

impl fmt::Display for StoredForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "files",
            Self::Tar => "tar",
        })
    }
}

impl FromStr for StoredForm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = [Self::Files, Self::Tar].into_iter().find(|form| form.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is none of `files`, `tar`"))
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::Cache;

    use super::*;
    use crate::adapters::native::Reference;
    use crate::contract::changed_loader::{ChangedLoader, bencher};

    /// Measures a loader on some photographs, and tells what the store has counted.
    fn run(loader: &mut dyn Loader, form: StoredForm, in_flight: usize) -> (Result<()>, StoreCounts) {
        let place = tempfile::tempdir().unwrap();
        let spec = workload(&PhotographForms(32), &form, &in_flight, &0, &0, &0, &0);
        let data = Arc::new(Cache::at(place.path()).open(&spec.source).unwrap());
        let store = ObjectStore::serve(&data, StoreTerms::default()).unwrap();
        (measure(&bencher(), loader, &spec, &data, &store, in_flight), store.counts())
    }

    #[test]
    fn the_reference_reads_what_it_delivers_in_either_form_and_with_any_number_of_requests() {
        for form in [StoredForm::Files, StoredForm::Tar] {
            for in_flight in [1, 2, 64] {
                let (said, counts) = run(&mut Reference, form, in_flight);
                said.unwrap();
                assert!(counts.requests > 0 && counts.connections <= 2 * in_flight as u64, "{counts:?}");
            }
        }
    }

    #[test]
    fn who_reads_elsewhere_is_refused_with_what_the_store_has_sent() {
        let mut elsewhere = ChangedLoader::new(|spec| spec.access = Access::Memory);
        let (said, _) = run(&mut elsewhere, StoredForm::Files, 1);
        let said = said.unwrap_err();
        assert!(!said.is_skip() && said.to_string().contains("the store sent 0 bytes"), "{said}");
    }

    #[test]
    fn so_many_photographs_have_at_least_the_bytes_of_whole_epochs_and_of_the_smallest() {
        let place = tempfile::tempdir().unwrap();
        let data = Cache::at(place.path()).open(&DataSpec::photographs(3)).unwrap();
        let sizes: Vec<u64> = (0..3).map(|at| encoded(&data, at).len() as u64).collect();
        let (all, least) = (sizes.iter().sum::<u64>(), *sizes.iter().min().unwrap());
        assert_eq!([0, 1, 3, 7].map(|count| least_bytes(&data, count)), [0, least, all, 2 * all + least]);
        let sent = |bytes| StoreCounts { bytes, ..StoreCounts::default() };
        check_read(&data, 7, sent(2 * all + least)).unwrap();
        check_read(&data, 7, sent(2 * all + least - 1)).unwrap_err();
    }
}
