//! IO-2: files streamed or read whole, at three sizes.

use weighbridge::prelude::*;

use crate::prelude::*;

/// Float images from a file, streamed or read whole, at three sizes of the data set.
///
/// When does it pay to read a data set into memory? `streaming` reads batch by batch, `eager` reads
/// everything with the first request and then slices memory. The metric `planned_memory` says what each
/// needs; `peak_memory` what it took. (Both have the map by which the data were checked; `eager` has a copy
/// beside it.)
///
/// Timed: reading (as above), the transform, putting the batch together. Not timed: making and checking the
/// data, opening the files. The file lies in the page cache, so what is seen is the price of reading through
/// the system. The work report must show the same input digest and `Normalize` for both.
///
/// In the suite that this one follows nothing was streamed: three sizes were read from memory.
#[scenario(id = "IO-2", category = "Input and output", sets = ["canonical"], equivalence = exact,
    workload = workload)]
fn streaming_or_eager(
    bencher: &mut Bencher,
    loader: &mut dyn Loader,
    #[sweep(
        "10k" = Images::floats(10_000, 64, 64),
        tiny = Images::floats(384, 64, 64),
        "50k" = Images::floats(50_000, 64, 64),
        "200k" = Images::floats(200_000, 64, 64)
    )]
    variant: Images,
    #[sweep(all, streaming = Access::FileStreaming, eager = Access::FileEager)] access: Access,
    #[sweep(0)] workers: usize,
    #[sweep(implied, Destination::Host, Destination::Device)] delivery: Destination,
) -> Result<()> {
    let spec = workload(&variant, &access, &workers, &delivery);
    bencher.load(loader, &spec)?;
    bencher.metric("planned_memory", spec.needs().memory as f64, Unit::BYTES, Direction::Information);
    Ok(())
}

/// Returns the pipeline of a point of the sweep.
fn workload(variant: &Images, access: &Access, workers: &usize, delivery: &Destination) -> PipelineSpec {
    pipeline(variant, *access).workers(*workers).deliver(*delivery)
}

fn pipeline(variant: &Images, access: Access) -> PipelineSpec {
    PipelineSpec::images(variant).access(access).map(Normalize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::native::Reference;
    use crate::contract::changed_loader::{bencher, metrics};

    #[test]
    fn eager_access_plans_memory_for_the_whole_data_set_and_streaming_for_its_batches() {
        let planned = |access| {
            let mut bencher = bencher();
            streaming_or_eager(
                &mut bencher,
                &mut Reference,
                Images::floats(200, 8, 64),
                access,
                0,
                Destination::Host,
            )
            .unwrap();
            let told = metrics(bencher).unwrap();
            assert_eq!(told[0].0, "planned_memory");
            told[0].1
        };
        // Bytes: whole numbers, which a float holds without rounding.
        let whole = 200 * 8 * 8 * 3 * 4;
        assert_eq!((planned(Access::FileEager) - planned(Access::FileStreaming)) as u64, whole);
    }

    #[test]
    fn the_three_sizes_differ_in_memory_by_access() {
        for elements in [10_000, 50_000, 200_000] {
            let variant = Images::floats(elements, 64, 64);
            let memory = |access| workload(&variant, &access, &0, &Destination::Host).needs().memory;
            let whole = elements as u64 * 64 * 64 * 3 * 4;
            assert_eq!(memory(Access::FileEager) - memory(Access::FileStreaming), whole, "{elements}");
        }
    }
}
