//! A pipeline: which data, read how, transformed how, in batches of how many.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use weighbridge::{Dtype, Equivalence, Error, ExpectedEpoch, FieldKind, Requirements, Result, Workload};
use weighbridge_data::{DataSpec, Origin, cut};
use weighbridge_python::Interpreter;

use crate::workload::route::{Route, Touch};
use crate::workload::{
    Destination, FrameworkSetting, Merge, MixRule, Operators, Structure, Transform, TransformGate, route,
};

/// The work that a loader is asked to do, as data.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineSpec {
    /// The data set.
    pub source: DataSpec,
    /// The place that rows are taken from while the pipeline runs.
    pub access: Access,
    /// The object store that they lie in, where they do.
    pub store: Option<StoreAddress>,
    /// The transforms, in order.
    pub transforms: Vec<Transform>,
    /// Elements in a batch; the last batch of an epoch holds what is left.
    pub batch_size: usize,
    /// Threads or processes that prepare batches beside the consumer. 0: the consumer's own thread does the
    /// work.
    pub workers: usize,
    /// The memory that each batch is handed over in.
    pub destination: Destination,
    /// The part of the data set that the pipeline goes over.
    pub shard: Shard,
    /// Seed of the draws of random transforms. The data have a seed of their own.
    pub seed: u64,
    /// Whose operators do the transforms.
    pub operators: Operators,
    /// By which Python a framework of Python runs.
    pub interpreter: Interpreter,
    /// The setting of a framework.
    pub setting: FrameworkSetting,
    /// The parts of the pipeline that are no step on one element after the other.
    pub structure: Structure,
}

impl PipelineSpec {
    /// All of `source` in batches of `batch_size`: from memory, without transforms, workers or shards, to the
    /// host.
    pub fn new(source: DataSpec, batch_size: usize) -> Self {
        Self {
            source,
            access: Access::Memory,
            store: None,
            transforms: Vec::new(),
            batch_size,
            workers: 0,
            destination: Destination::Host,
            shard: Shard::ALL,
            seed: 42,
            operators: Operators::Shared,
            interpreter: Interpreter::Default,
            setting: FrameworkSetting::Best,
            structure: Structure::default(),
        }
    }

    /// Adds a transform at the end.
    #[must_use]
    pub fn map(mut self, transform: Transform) -> Self {
        self.transforms.push(transform);
        self
    }

    /// Adds a transform at the end that each element goes through with this probability.
    #[must_use]
    pub fn sometimes(mut self, probability: f64, transform: Transform) -> Self {
        let position = self.transforms.len();
        self.structure.gates.push(TransformGate {
            position,
            decided_at: position,
            from: 0.0,
            below: probability,
        });
        self.map(transform)
    }

    /// Adds alternatives at the end: each element goes through one of them, all equally likely.
    #[must_use]
    pub fn choose(mut self, alternatives: &[Transform]) -> Self {
        let (decided_at, all) = (self.transforms.len(), alternatives.len() as f64);
        for (index, &transform) in alternatives.iter().enumerate() {
            let (from, below) = (index as f64 / all, (index + 1) as f64 / all);
            self.structure.gates.push(TransformGate {
                position: decided_at + index,
                decided_at,
                from,
                below,
            });
            self.transforms.push(transform);
        }
        self
    }

    /// Adds a branch, which starts from what the list of transforms gives.
    #[must_use]
    pub fn branch(mut self, transforms: &[Transform]) -> Self {
        self.structure.branches.push(transforms.to_vec());
        self
    }

    /// Sets what becomes of the branches.
    #[must_use]
    pub fn merge(mut self, merge: Merge) -> Self {
        self.structure.merge = merge;
        self
    }

    /// Mixes the elements of each batch with each other.
    #[must_use]
    pub fn mix(mut self, mixing: MixRule) -> Self {
        self.structure.mixing = Some(mixing);
        self
    }

    /// Mixes each epoch from equal, contiguous parts of the data set, by these weights.
    #[must_use]
    pub fn mixture(mut self, weights: &[f64]) -> Self {
        self.structure.mixture = weights.to_vec();
        self
    }

    /// Keeps the batches of the first epoch for later ones.
    #[must_use]
    pub fn cached(mut self) -> Self {
        self.structure.cache = true;
        self
    }

    /// Regroups the finished batches into batches of this many.
    #[must_use]
    pub fn rebatch(mut self, batch_size: usize) -> Self {
        self.structure.rebatch = Some(batch_size);
        self
    }

    /// Sets the number of workers.
    #[must_use]
    pub fn workers(self, workers: usize) -> Self {
        Self { workers, ..self }
    }

    /// Sets where each batch is handed over.
    #[must_use]
    pub fn deliver(self, destination: Destination) -> Self {
        Self { destination, ..self }
    }

    /// Sets where the rows are taken from.
    #[must_use]
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Sets the object store that the rows lie in.
    #[must_use]
    pub fn in_store(self, store: StoreAddress) -> Self {
        Self { store: Some(store), ..self }
    }

    /// Takes one part of the data set.
    #[must_use]
    pub fn shard(self, shard: Shard) -> Self {
        Self { shard, ..self }
    }

    /// Sets the seed of random transforms.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets whose operators do the transforms. Where it is each system's own, images are pictures of a scene:
    /// in noise nobody could see whether a step was done.
    #[must_use]
    pub fn operators(mut self, operators: Operators) -> Self {
        if operators == Operators::Own {
            self.source = self.source.of_scenes();
        }
        Self { operators, ..self }
    }

    /// Sets by which Python a framework of Python runs.
    #[must_use]
    pub fn interpreter(self, interpreter: Interpreter) -> Self {
        Self { interpreter, ..self }
    }

    /// Sets how a framework is set up.
    #[must_use]
    pub fn setting(self, setting: FrameworkSetting) -> Self {
        Self { setting, ..self }
    }

    /// The same pipeline over the first rows of the data, enough for this many batches.
    #[must_use]
    pub fn cut_to(mut self, batches: usize) -> Self {
        let rows = self.batch_size.saturating_mul(batches).saturating_mul(self.shard.count);
        self.source = self.source.cut_to(rows);
        self
    }

    /// Indices of the elements that this pipeline delivers.
    pub fn elements(&self) -> Range<usize> {
        self.shard.of(self.source.elements)
    }

    /// The fields of a delivered batch: those of the source in order, then those that transforms add.
    ///
    /// # Errors
    /// As [`PipelineSpec::check`].
    pub fn output(&self) -> Result<Vec<FieldKind>> {
        Ok(self.routes()?.into_iter().map(|route| route.output).collect())
    }

    /// Returns the route of each field of a delivered batch, in order.
    ///
    /// # Errors
    /// As [`PipelineSpec::check`].
    pub fn routes(&self) -> Result<Vec<Route>> {
        self.check_numbers()?;
        let routes =
            route::routes(&self.source.kinds().collect::<Vec<_>>(), &self.transforms, &self.structure)?;
        self.check_mixing(&routes)?;
        if self.structure.rebatch.is_some() && routes.iter().any(Route::is_padded) {
            return Err(Error::new(
                "`rebatch` cannot regroup rows that DynamicPad made as long as their batch",
            ));
        }
        Ok(routes)
    }

    /// Returns the expected content of an epoch of the pipeline, as far as it follows from its specification;
    /// in order.
    ///
    /// # Errors
    /// As [`PipelineSpec::check`].
    pub fn expected(&self) -> Result<ExpectedEpoch> {
        let row = |kinds: &[FieldKind]| -> usize { kinds.iter().map(size).sum() };
        let elements = self.elements().len();
        let source: Vec<FieldKind> = self.source.kinds().cloned().collect();
        Ok(ExpectedEpoch {
            elements: elements as u64,
            batch: self.structure.rebatch.unwrap_or(self.batch_size) as u64,
            bytes: (elements * row(&self.output()?)) as u64,
            source: (elements * row(&source)) as u64,
            transforms: !self.work().is_empty(),
            in_order: true,
            in_memory: self.access == Access::Memory,
            makers: 1,
            keeps: self.structure.cache,
            renewed: false,
        })
    }

    /// Every step by name, in order, as work reports tell it: transforms with their probabilities, branches,
    /// and what is done with whole batches.
    pub fn work(&self) -> Vec<String> {
        self.structure.work(&self.transforms)
    }

    /// Refuses what no loader could do, and names the parameter.
    ///
    /// # Errors
    /// A batch of none, a shard that is not there, a transform that touches nothing, a crop of an image
    /// without room, a probability that is none, weights that sum to nothing.
    pub fn check(&self) -> Result<()> {
        self.routes().map(drop)
    }

    fn check_numbers(&self) -> Result<()> {
        if self.batch_size == 0 {
            return Err(Error::new("`batch_size` is 0: a batch holds at least one element"));
        }
        self.shard.check()?;
        if self.elements().is_empty() {
            return Err(Error::new(format!(
                "shard {} of a data set of {} elements is empty: use fewer shards or more elements",
                self.shard, self.source.elements
            )));
        }
        self.structure.check(self.transforms.len(), self.source.elements)
    }

    fn check_mixing(&self, routes: &[Route]) -> Result<()> {
        let mixes = |route: &Route, mixing| match mixing {
            MixRule::MixUp { .. } => route.output.dtype == Dtype::F32,
            MixRule::CutMix { .. } => route.output.shape.len() == 3,
        };
        match self.structure.mixing {
            Some(mixing) if !routes.iter().any(|route| mixes(route, mixing)) => Err(Error::new(format!(
                "{mixing} mixes no field: it needs f32 numbers (MixUp) or images (CutMix)"
            ))),
            _ => Ok(()),
        }
    }

    /// The data of the pipeline in a line: elements and fields.
    pub fn describe_source(&self) -> String {
        let field = |kind: &FieldKind| {
            let shape: Vec<String> = kind.shape.iter().map(ToString::to_string).collect();
            format!("{} {} [{}]", kind.name, kind.dtype.name(), shape.join("x"))
        };
        let fields: Vec<String> = self.source.fields.iter().map(|source| field(&source.kind)).collect();
        format!("{} elements of {}", self.source.elements, fields.join(" + "))
    }

    fn whole_needs(&self) -> Requirements {
        // What is refused when it is opened needs nothing.
        let routes = self.routes().unwrap_or_default();
        let output: usize = routes.iter().map(|route| size(&route.output)).sum();
        let merged: usize = routes
            .iter()
            .filter(|route| !route.branches.is_empty())
            .map(|route| 2 * size(&route.output))
            .sum();
        let source: usize = self.source.fields.iter().map(|field| size(&field.kind)).sum();
        let batch = |row: usize| self.batch_size.min(self.source.elements) as u64 * row as u64;
        let workers = self.workers as u64;
        // A pipeline's own, and what each worker has ahead and lends.
        let made = (1 + 3 * workers) * batch(output);
        // Rows of a file, pixels that move, branches before they merge.
        let staged = (1 + workers) * batch(source + merged);
        let held = HELD * batch(output);
        let eager = u64::from(self.access == Access::FileEager); // a copy beside the map that set-up checks
        // Real data are whole in memory once.
        let read = u64::from(!matches!(self.source.origin, Origin::Synthetic { .. }));
        let cached = if self.structure.cache { self.elements().len() as u64 * output as u64 } else { 0 };
        // What is copied to the device.
        let pinned = u64::from(self.destination == Destination::Device) * batch(output);
        let regrouped = self.structure.rebatch.unwrap_or(0) as u64 * output as u64;
        let data = self.source.bytes() * (1 + eager.max(read));
        let memory = PROCESS + data + made + staged + held + cached + pinned + regrouped;
        Requirements { memory, batch: self.batch_size as u64 }
    }
}

impl Workload for PipelineSpec {
    /// Returns the agreement that the work of two systems must have: bit by bit where both follow
    /// `scenarios/docs/transforms.md`. By operators of their own within what rounding may do to the traits of
    /// an element: half a level of 255 for each step on `u8` that makes fractions (two for a resize there and
    /// back), at least 0.001. A batch that is mixed shares its draw, so that chance goes down with the number
    /// of batches alone: there 0.13 more, over its root.
    fn agreement(&self) -> Equivalence {
        if self.operators == Operators::Shared {
            return Equivalence::Exact;
        }
        let routes = self.routes().unwrap_or_default(); // what is refused is refused when it is opened
        let rounded = |route: &Route| -> u32 { route.touches().map(Touch::roundings).sum() };
        let steps = routes.iter().map(rounded).max().unwrap_or_default();
        let batches = self.elements().len().div_ceil(self.batch_size.max(1)).max(1) as f64;
        let mixed = if self.structure.mixing.is_some() { MIXED / batches.sqrt() } else { 0.0 };
        Equivalence::Alike((0.5 * f64::from(steps) / 255.0).max(LEAST) + mixed)
    }

    /// The pipeline in a line: elements and fields, batch size, transforms in order, seeds.
    fn describe(&self) -> String {
        let transforms = self.work();
        let transforms =
            if transforms.is_empty() { "no transform".to_owned() } else { transforms.join(" > ") };
        let to = if self.destination == Destination::Device { ", delivered to the device" } else { "" };
        let by = if self.operators == Operators::Own { ", by operators of its own" } else { "" };
        let set = if self.setting == FrameworkSetting::Default { ", as its users start" } else { "" };
        format!(
            "{}, batch {}, {transforms}, seed {}{to}{by}{set}",
            self.describe_source(),
            self.batch_size,
            self.seed
        )
    }

    /// Returns the requirements of the pipeline, for a plan to judge by before anything is made: what a
    /// measuring process has resident at its peak. That is the data as they are mapped, the batches in flight
    /// and the rows that they are made from, the batches that the harness holds back to verify, and the
    /// process itself.
    fn needs(&self) -> Requirements {
        match cut() {
            Ok(Some(batches)) => self.clone().cut_to(batches).whole_needs(),
            _ => self.whole_needs(), // a mistake is told when a pipeline is opened
        }
    }
}

/// The least tolerance, a share of the field's range: arithmetic on `f32` in another order is far below it.
const LEAST: f64 = 0.001;

/// The tolerance for one draw in each batch, in the mean of a trait: five and a half standard errors of the
/// difference of two means over batches, as a share of the field's range. (A trait of pictures that are mixed
/// with Beta(0.4, 0.4) has a deviation of 0.012 to 0.02 over draws.)
const MIXED: f64 = 0.13;

/// Batches that a measuring process copies and holds until the clock has stopped.
const HELD: u64 = 4;

/// Bytes that a plan takes a process to have resident besides what its pipeline needs: code, libraries,
/// samples. Pages of code are read as they are needed, so this is no figure of one machine; no test holds it.
pub const PROCESS: u64 = 6 << 20;

fn size(kind: &FieldKind) -> usize {
    kind.shape.iter().product::<usize>() * kind.dtype.size()
}

/// The place that rows are taken from while a pipeline runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Memory that was filled in set-up.
    Memory,
    /// The data set's files, read whole into memory when the first batch is asked for.
    FileEager,
    /// The data set's files, read batch by batch.
    FileStreaming,
    /// A file for each element, written in set-up: encoded images as people keep them.
    Files,
    /// Tar files of such files.
    Tar,
    /// The system's own format of records, written in set-up.
    Records,
    /// A file for each element in an object store, which is read over HTTP.
    StoredFiles,
    /// A tar file of them there.
    StoredTar,
}

/// An object store that rows are read from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreAddress {
    /// The address that names of objects are appended to, with a slash between.
    pub url: String,
    /// Requests that are under way at once.
    pub in_flight: usize,
}

/// One of several equal, contiguous parts of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// The index of the part, from 0.
    pub index: usize,
    /// The number of parts.
    pub count: usize,
}

impl Shard {
    /// The whole.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// The indices of this part of `elements`: from `floor(index * elements / count)` up to the next part's
    /// start. Together the parts hold every index once.
    pub fn of(self, elements: usize) -> Range<usize> {
        let start = |index: usize| (index as u128 * elements as u128 / self.count as u128) as usize;
        start(self.index)..start(self.index + 1)
    }

    fn check(self) -> Result<()> {
        if self.index < self.count {
            return Ok(());
        }
        Err(Error::new(format!(
            "`shard` {self} does not exist: the index runs from 0 and stays below the count"
        )))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        let (index, count) =
            parts.ok_or_else(|| format!("`{text}` is no shard; write INDEX/COUNT, as in 0/4"))?;
        let shard = Self { index, count };
        shard.check().map_err(|error| error.to_string())?;
        Ok(shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images() -> PipelineSpec {
        PipelineSpec::new(DataSpec::images(10, 8, 3), 4)
    }

    #[test]
    fn a_description_has_size_shape_type_batch_transforms_and_seed() {
        let spec = images().map(Transform::Normalize).map(Transform::CastToFloat32).seed(7);
        let description = spec.describe();
        assert!(description.ends_with("batch 4, Normalize > CastToFloat32, seed 7"), "{description}");
        assert!(description.starts_with("10 elements of image u8 [8x8x3]"), "{description}");
    }

    #[test]
    fn shards_are_disjoint_and_complete() {
        for elements in [0, 1, 7, 10_000] {
            for count in 1..9 {
                let all: Vec<usize> =
                    (0..count).flat_map(|index| Shard { index, count }.of(elements)).collect();
                assert_eq!(all, (0..elements).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn impossible_pipelines_are_refused_with_the_parameter_named() {
        let refused = |spec: PipelineSpec| spec.check().unwrap_err().to_string();
        assert!(refused(PipelineSpec { batch_size: 0, ..images() }).contains("`batch_size`"));
        assert!(refused(images().shard(Shard { index: 2, count: 2 })).contains("`shard` 2/2"));
        assert!(refused(images().shard(Shard { index: 0, count: 0 })).contains("`shard` 0/0"));
        assert!(refused(images().shard(Shard { index: 0, count: 99 })).contains("empty"));
        assert!(refused(images().map(Transform::Scale)).contains("Scale at position 0 touches no field"));
        let tokens = PipelineSpec::new(DataSpec::tokens(10, 8), 4);
        assert!(refused(tokens.map(Transform::RandomFlip)).contains("height, width"));
        let thin = PipelineSpec::new(DataSpec::images(10, 1, 3), 4).map(Transform::RandomCrop);
        assert!(refused(thin).contains("leaves nothing"));
        for shape in [[0, 4, 3], [4, 0, 3], [4, 4, 0]] {
            for transform in [Transform::RandomFlip, Transform::GaussianBlur, Transform::RandomResizedCrop] {
                let none = PipelineSpec::new(DataSpec::normal("x", 4, shape.to_vec()), 2).map(transform);
                assert!(refused(none).contains("there are none"));
            }
        }
        let oblong = PipelineSpec::new(DataSpec::normal("x", 4, vec![2, 3, 1]), 2);
        assert!(refused(oblong.map(Transform::AffineRotation)).contains("needs a square"));
    }

    #[test]
    fn impossible_structures_are_refused_with_the_parameter_named() {
        use Transform::{CausalMaskGeneration, CreateAttentionMask, DynamicPad, Normalize, RandomFlip};
        let refused = |spec: PipelineSpec| spec.check().unwrap_err().to_string();
        let tokens = || PipelineSpec::new(DataSpec::tokens(10, 8), 4);
        for probability in [f64::NAN, -0.1, 1.1] {
            assert!(refused(images().sometimes(probability, RandomFlip)).contains("`probability`"));
        }
        assert!(refused(images().sometimes(0.5, Normalize)).contains("for some elements"));
        assert!(refused(images().branch(&[Normalize])).contains("`branches`"));
        assert!(
            refused(images().branch(&[Normalize]).branch(&[RandomFlip])).contains("mean of the branches")
        );
        let cast = Transform::CastToFloat32;
        let none = tokens().branch(&[cast]).branch(&[cast, RandomFlip]);
        assert!(refused(none).contains("RandomFlip at position 2 touches no field"));
        for weights in [&[0.0, 0.0][..], &[1.0, f64::NAN], &[1.0, -1.0], &[f64::INFINITY], &[1.0; 11]] {
            assert!(refused(images().mixture(weights)).contains("`mixture`"), "{weights:?}");
        }
        assert!(refused(images().rebatch(0)).contains("`rebatch`"));
        for alpha in [0.0, f64::NAN, -1.0, 9.0, f64::INFINITY] {
            assert!(refused(images().map(Normalize).mix(MixRule::MixUp { alpha })).contains("`alpha`"));
        }
        assert!(refused(images().mix(MixRule::MixUp { alpha: 1.0 })).contains("mixes no field"));
        assert!(refused(tokens().map(DynamicPad)).contains("`length`"));
        assert!(
            refused(tokens().map(CreateAttentionMask).map(CreateAttentionMask)).contains("attention_mask")
        );
        assert!(refused(images().map(CausalMaskGeneration)).contains("touches no field"));
    }

    #[test]
    fn masks_are_fields_of_their_own_and_views_have_numbers() {
        use Transform::{CausalMaskGeneration, CreateAttentionMask, RandomFlip, RandomResizedCrop};
        let names = |spec: PipelineSpec| {
            let kinds = spec.output().unwrap();
            kinds.into_iter().map(|kind| format!("{} {:?}", kind.name, kind.shape)).collect::<Vec<_>>()
        };
        let tokens = PipelineSpec::new(DataSpec::tokens(10, 8), 4);
        let masks = tokens.map(CreateAttentionMask).map(CausalMaskGeneration);
        assert_eq!(names(masks), ["tokens [8]", "attention_mask [8]", "causal_mask [8, 8]"]);
        let views = images().branch(&[RandomResizedCrop]).branch(&[RandomFlip]).merge(Merge::Views);
        assert_eq!(names(views), ["image_1 [8, 8, 3]", "image_2 [8, 8, 3]"]);
    }

    #[test]
    fn the_output_follows_the_transforms() {
        let output = images().map(Transform::RandomCrop).map(Transform::Normalize).output().unwrap();
        assert_eq!(output[0].dtype, weighbridge::Dtype::F32);
        assert_eq!(output[0].shape, [8, 8, 3]);
    }

    #[test]
    fn the_needs_hold_the_data_and_the_batches() {
        let needs = images().map(Transform::Normalize).needs();
        // The data; one batch, four held back; the rows of one.
        assert_eq!(needs, Requirements { memory: PROCESS + 10 * 192 + 5 * 4 * 4 * 192 + 4 * 192, batch: 4 });
        assert!(images().workers(2).needs().memory > images().needs().memory);
    }

    #[test]
    fn a_cut_pipeline_has_rows_for_its_batches_alone() {
        assert_eq!(images().cut_to(2).elements(), 0..8);
        assert_eq!(images().cut_to(100).elements(), 0..10);
    }
}
