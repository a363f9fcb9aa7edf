//! What every loader in the catalogue must do, over toy pipelines; and that the checks would notice if it did not.

use std::any::TypeId;
use std::sync::Arc;

use tempfile::TempDir;
use weighbridge::__private::{AdapterEntry, Registry};
use weighbridge::{Bencher, Content, Delivery, Dtype, FieldKind, Kept, Limits, Purpose, Result, Settings};
use weighbridge_scenarios::adapters::native::Reference;
use weighbridge_scenarios::contract::{Batch, Epochs, Executed, Loader, for_each_batch};
use weighbridge_scenarios::data::{Cache, DataSet, DataSpec, FieldSpec, Values};
use weighbridge_scenarios::workload::{Access, Draws, PipelineSpec, Shard, Transform};

type Named = (&'static str, Box<dyn Loader>);

/// Every loader that is registered.
fn loaders() -> Vec<Named> {
    let registry = Registry::collect().unwrap();
    let adapters =
        registry.adapters().iter().filter(|entry| (entry.contract.id)() == TypeId::of::<dyn Loader>());
    let make =
        |entry: &&AdapterEntry| (entry.name, *(entry.make)().unwrap().downcast::<Box<dyn Loader>>().unwrap());
    adapters.map(make).collect()
}

fn data(spec: &PipelineSpec) -> (TempDir, Arc<DataSet>) {
    let place = tempfile::tempdir().unwrap();
    let data = Cache::at(place.path()).open(&spec.source).unwrap();
    (place, Arc::new(data))
}

/// The batches of one epoch, copied.
fn epoch(epochs: &mut dyn Epochs, number: u64) -> Vec<Kept> {
    let mut batches = Vec::new();
    for_each_batch(epochs, number, &mut |batch| batches.push(batch.keep())).unwrap();
    batches
}

fn batches(loader: &mut dyn Loader, spec: &PipelineSpec, data: &Arc<DataSet>) -> Vec<Kept> {
    epoch(&mut *loader.open(spec, data).unwrap(), 0)
}

/// All rows of a field, put together again.
fn rows(batches: &[Kept], field: usize) -> Vec<u8> {
    batches.iter().flat_map(|batch| batch.fields[field].bytes.iter().copied()).collect()
}

fn content(batches: &[Kept]) -> Content {
    let mut content = Content::default();
    for batch in batches {
        content.add(batch, &mut |_| {});
    }
    content
}

fn toy() -> PipelineSpec {
    PipelineSpec::new(DataSpec::images(23, 8, 3), 5)
}

#[test]
fn the_reference_loaders_are_registered() {
    let names: Vec<&str> = loaders().iter().map(|(name, _)| *name).collect();
    assert!(names.contains(&"Reference") && names.contains(&"Reference (fused)"), "{names:?}");
}

#[test]
fn the_first_batch_without_transforms_is_the_first_rows_of_the_source() {
    for (name, mut loader) in loaders() {
        for access in [Access::Memory, Access::FileEager, Access::FileStreaming] {
            for workers in [0, 1, 3] {
                let spec = toy().access(access).workers(workers);
                let (_place, data) = data(&spec);
                let batches = batches(&mut *loader, &spec, &data);
                assert_eq!(batches[0].fields[0].bytes, data.rows(0, 0..5), "{name} {access:?} {workers}");
                assert_eq!(rows(&batches, 0), data.rows(0, 0..23), "{name} {access:?} {workers}");
            }
        }
    }
}

#[test]
fn only_real_elements_are_counted_and_the_last_batch_may_be_short() {
    for (name, mut loader) in loaders() {
        for (batch_size, expected) in
            [(5, vec![5, 5, 5, 5, 3]), (23, vec![23]), (100, vec![23]), (1, vec![1; 23])]
        {
            let spec = PipelineSpec { batch_size, ..toy() };
            let (_place, data) = data(&spec);
            let found: Vec<usize> =
                batches(&mut *loader, &spec, &data).iter().map(|batch| batch.elements).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}

#[test]
fn an_epoch_ends_stays_ended_and_is_the_same_after_going_back() {
    for (name, mut loader) in loaders() {
        for workers in [0, 2] {
            let spec = toy().map(Transform::RandomCrop).map(Transform::RandomFlip).workers(workers);
            let (_place, data) = data(&spec);
            let mut epochs = loader.open(&spec, &data).unwrap();
            let whole = epoch(&mut *epochs, 0);
            assert!(!epochs.advance().unwrap(), "{name}");
            epochs.begin(0).unwrap();
            assert!(epochs.advance().unwrap());
            assert_eq!(epochs.batch().keep(), whole[0], "{name}");
            assert_eq!(epoch(&mut *epochs, 0), whole, "going back from the middle: {name}");
            assert_ne!(epoch(&mut *epochs, 1), whole, "another epoch has other draws: {name}");
            assert_eq!(epoch(&mut *epochs, 0), whole, "{name}");
        }
    }
}

#[test]
fn neither_workers_nor_batches_nor_shards_change_the_rows() {
    let random = toy().map(Transform::RandomCrop).map(Transform::RandomFlip).map(Transform::Normalize);
    let (_place, data) = data(&random);
    for (name, mut loader) in loaders() {
        let expected = rows(&batches(&mut *loader, &random, &data), 0);
        for workers in [1, 2, 7] {
            let found = batches(&mut *loader, &random.clone().workers(workers), &data);
            assert_eq!(rows(&found, 0), expected, "{name}, {workers} workers");
        }
        for batch_size in [1, 7, 64] {
            let found = batches(&mut *loader, &PipelineSpec { batch_size, ..random.clone() }, &data);
            assert_eq!(rows(&found, 0), expected, "{name}, batches of {batch_size}");
        }
        let shards = (0..3)
            .flat_map(|index| batches(&mut *loader, &random.clone().shard(Shard { index, count: 3 }), &data));
        assert_eq!(rows(&shards.collect::<Vec<_>>(), 0), expected, "{name}, shards");
    }
}

#[test]
fn the_ticket_says_what_was_executed() {
    for (name, mut loader) in loaders() {
        let spec = toy().map(Transform::Normalize).map(Transform::CastToFloat32).workers(2);
        let (_place, data) = data(&spec);
        let executed = loader.open(&spec, &data).unwrap().executed();
        assert_eq!(executed.transforms, ["Normalize", "CastToFloat32"], "{name}");
        assert_eq!((&*executed.ran_on, executed.workers), ("cpu", 2), "{name}");
    }
}

#[test]
fn an_impossible_pipeline_is_an_error_and_no_panic() {
    for (_, mut loader) in loaders() {
        let (_place, data) = data(&toy());
        assert!(loader.open(&PipelineSpec { batch_size: 0, ..toy() }, &data).is_err());
        assert!(loader.open(&toy().map(Transform::Scale), &data).is_err());
        assert!(loader.open(&PipelineSpec::new(DataSpec::tokens(3, 3), 1), &data).is_err());
    }
}

/// Draws small numbers for random pipelines.
struct Dice {
    draws: Draws,
    thrown: u64,
}

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.thrown += 1;
        self.draws.at(self.thrown, 0).below(0, bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn field(&mut self, number: usize) -> FieldSpec {
        let shapes: [&[usize]; 7] = [&[], &[13], &[100], &[6, 5], &[8, 8, 3], &[9, 7, 1], &[40, 33, 4]];
        let (dtype, values) = self.pick(&[
            (Dtype::U8, Values::Below(256)),
            (Dtype::F32, Values::Normal),
            (Dtype::I32, Values::Below(32_000)),
            (Dtype::I64, Values::Below(5)),
        ]);
        let kind = FieldKind { name: format!("field{number}"), dtype, shape: self.pick(&shapes).to_vec() };
        FieldSpec { kind, values }
    }

    /// A pipeline that can be: chains that cannot are thrown again.
    fn pipeline(&mut self) -> PipelineSpec {
        loop {
            let fields = (0..=self.below(3)).map(|number| self.field(number)).collect();
            let elements = 1 + self.below(20);
            let mut spec = PipelineSpec::new(DataSpec::synthetic(elements, fields), 1 + self.below(12));
            for _ in 0..self.below(12) {
                spec = spec.map(self.pick(&Transform::ALL));
            }
            spec = spec.seed(self.below(1_000) as u64).workers(self.pick(&[0, 0, 0, 2]));
            spec = spec.access(self.pick(&[Access::Memory, Access::FileEager, Access::FileStreaming]));
            if spec.check().is_ok() {
                return spec;
            }
        }
    }
}

#[test]
fn two_hundred_random_chains_have_the_bits_of_the_reference_and_of_their_definitions() {
    let mut dice = Dice { draws: Draws::new(7, 7), thrown: 0 };
    let mut kinds_of_step = std::collections::BTreeSet::new();
    for round in 0..200 {
        let spec = dice.pipeline();
        kinds_of_step.extend(spec.transforms.iter().map(|transform| transform.name()));
        let (_place, data) = data(&spec);
        let number = dice.below(3) as u64;
        let reference = epoch(&mut *Reference.open(&spec, &data).unwrap(), number);
        for (name, mut loader) in loaders() {
            let found = epoch(&mut *loader.open(&spec, &data).unwrap(), number);
            assert!(found == reference, "round {round}, {name}: {spec:?}");
        }
        let output = spec.output().unwrap();
        for (field, kind) in output.iter().enumerate() {
            assert!(reference.iter().all(|batch| {
                let delivered = &batch.fields[field];
                (&delivered.name, delivered.dtype, &delivered.shape) == (&kind.name, kind.dtype, &kind.shape)
            }));
            let rows = rows(&reference, field);
            let per_element = rows.len() / data.elements();
            for element in 0..data.elements() {
                let expected = oracle(&spec, &data, field, element, number);
                assert!(rows[element * per_element..][..per_element] == expected, "round {round}: {spec:?}");
            }
        }
    }
    assert_eq!(kinds_of_step.len(), Transform::ALL.len());
}

/// One element, number by number, as the definitions read: slow, obvious, and sharing nothing with the loaders.
fn oracle(spec: &PipelineSpec, data: &DataSet, field: usize, element: usize, epoch: u64) -> Vec<u8> {
    let kind = &spec.source.fields[field].kind;
    let mut dtype = kind.dtype;
    let mut numbers: Vec<f64> = data
        .rows(field, element..element + 1)
        .chunks(dtype.size())
        .map(|bytes| match dtype {
            Dtype::U8 => f64::from(bytes[0]),
            Dtype::I32 => f64::from(i32::from_le_bytes(bytes.try_into().unwrap())),
            Dtype::I64 => i64::from_le_bytes(bytes.try_into().unwrap()) as f64, // small ones here
            Dtype::F32 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
            Dtype::F64 => unreachable!("there are no synthetic f64 fields"),
        })
        .collect();
    let single = |x: f64| x as f32;
    for (position, transform) in spec.transforms.iter().enumerate() {
        let draw = Draws::new(spec.seed, epoch).at(element as u64, position as u64);
        let last = kind.shape.last().copied().unwrap_or(1);
        match transform {
            Transform::Normalize if kind.dtype == Dtype::U8 => {
                dtype = Dtype::F32;
                numbers.iter_mut().for_each(|x| *x = f64::from(single(*x) / 255.0));
            }
            Transform::Normalize if kind.dtype == Dtype::F32 => {
                let constants = data.normalisation(field).unwrap();
                for (index, x) in numbers.iter_mut().enumerate() {
                    let difference = single(*x) - constants.mean[index % last];
                    *x = f64::from(difference * constants.scale[index % last]);
                }
            }
            Transform::CastToFloat32 => dtype = Dtype::F32, // the numbers here are small: exact in f32
            Transform::Scale if dtype == Dtype::F32 => {
                numbers.iter_mut().for_each(|x| *x = f64::from(single(*x) * 2.0))
            }
            Transform::Clip if dtype == Dtype::F32 => {
                for x in &mut numbers {
                    if *x < 0.0 {
                        *x = 0.0;
                    } else if *x > 1.0 {
                        *x = 1.0;
                    }
                }
            }
            Transform::Add if dtype == Dtype::F32 => {
                numbers.iter_mut().for_each(|x| *x = f64::from(single(*x) + 0.1))
            }
            Transform::Multiply if dtype == Dtype::F32 => {
                numbers.iter_mut().for_each(|x| *x = f64::from(single(*x) * 0.9));
            }
            Transform::RandomCrop | Transform::RandomFlip if kind.shape.len() == 3 => {
                let [h, w, c] = kind.shape[..] else { unreachable!() };
                let before = numbers.clone();
                let at = |y: usize, x: usize, k: usize| before[(y * w + x) * c + k];
                let (crop_h, crop_w) = (7 * h / 8, 7 * w / 8);
                let top = draw.below(0, (h - crop_h + 1) as u64) as usize;
                let left = draw.below(1, (w - crop_w + 1) as u64) as usize;
                for (index, number) in numbers.iter_mut().enumerate() {
                    let (y, x, k) = (index / (w * c), index / c % w, index % c);
                    *number = if *transform == Transform::RandomCrop {
                        if y < crop_h && x < crop_w { at(top + y, left + x, k) } else { 0.0 }
                    } else if draw.coin(0) {
                        at(y, w - 1 - x, k)
                    } else {
                        at(y, x, k)
                    };
                }
            }
            _ => {} // untouched
        }
    }
    let bytes = |x: f64| match dtype {
        Dtype::U8 => vec![x as u8],
        Dtype::I32 => (x as i32).to_le_bytes().to_vec(),
        Dtype::I64 => (x as i64).to_le_bytes().to_vec(),
        _ => single(x).to_le_bytes().to_vec(),
    };
    numbers.into_iter().flat_map(bytes).collect()
}

/// How a loader can be wrong.
#[derive(Clone, Copy, Debug)]
enum Fault {
    FlipsABit,
    RepeatsARow,
    LeavesOutTheEnd,
    RenamesAField,
}

/// The reference, spoilt.
struct Wrong(Fault);

impl Loader for Wrong {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut right = Reference;
        let batches = epoch(&mut *right.open(spec, data)?, 0);
        Ok(Box::new(Spoilt { fault: self.0, batches, next: 0 }))
    }
}

struct Spoilt {
    fault: Fault,
    batches: Vec<Kept>,
    next: usize,
}

impl Epochs for Spoilt {
    fn begin(&mut self, _epoch: u64) -> Result<()> {
        self.next = 0;
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        let end = self.batches.len() - usize::from(matches!(self.fault, Fault::LeavesOutTheEnd));
        self.next += 1;
        if self.next > end {
            return Ok(false);
        }
        let field = &mut self.batches[self.next - 1].fields[0];
        let row = field.shape.iter().product::<usize>() * field.dtype.size();
        match self.fault {
            Fault::FlipsABit => field.bytes[7] ^= 1,
            Fault::RepeatsARow => field.bytes.copy_within(0..row, row),
            Fault::RenamesAField => field.name = "picture".into(),
            Fault::LeavesOutTheEnd => {}
        }
        Ok(true)
    }

    fn batch(&self) -> &dyn Batch {
        self
    }

    fn executed(&self) -> Executed {
        Executed {
            transforms: Vec::new(),
            ran_on: "cpu".into(),
            synchronised: "returns when ready".into(),
            delivery: Delivery::Owned,
            workers: 0,
        }
    }
}

impl Batch for Spoilt {
    fn elements(&self) -> usize {
        self.batches[self.next - 1].elements
    }

    fn kinds(&self) -> &[FieldKind] {
        unreachable!("`keep` and `size` are its own")
    }

    fn bytes(&self, field: usize) -> &[u8] {
        &self.batches[self.next - 1].fields[field].bytes
    }

    fn size(&self) -> u64 {
        self.bytes(0).len() as u64
    }

    fn keep(&self) -> Kept {
        self.batches[self.next - 1].clone()
    }
}

#[test]
fn a_loader_that_does_other_work_is_caught_by_its_content() {
    let spec = PipelineSpec::new(DataSpec::images(40, 8, 3), 8);
    let (_place, data) = data(&spec);
    let right = content(&batches(&mut Reference, &spec, &data));
    for fault in [Fault::FlipsABit, Fault::RepeatsARow, Fault::LeavesOutTheEnd, Fault::RenamesAField] {
        let wrong = content(&batches(&mut Wrong(fault), &spec, &data));
        assert_ne!(wrong.digest, right.digest, "{fault:?}");
    }
}

#[test]
fn the_bencher_hashes_every_element_of_a_verifying_repeat() {
    use weighbridge_scenarios::contract::Load as _;
    let spec = toy().map(Transform::Normalize);
    let (_place, data) = data(&spec);
    let expected = content(&batches(&mut Reference, &spec, &data));
    for (name, mut loader) in loaders() {
        let limits = Limits { warmup: 1, batches: 2, min_time: std::time::Duration::ZERO };
        let bencher = Bencher::new(Settings::new(Purpose::Verify, limits));
        bencher.load(&mut *loader, &spec).unwrap();
        let done = bencher.finish().unwrap();
        let work = done.work.unwrap();
        assert_eq!(work.content, expected, "{name}");
        assert_eq!(work.ticket.input.as_deref(), Some(data.digest()), "{name}");
        assert_eq!(done.hashes.len(), 23, "{name}");
    }
}
