//! The transforms of a pipeline, compiled for one field: a short list of steps, each run over a block of elements.

use weighbridge::{Dtype, Error, FieldKind, Result};

use super::buffer::row_bytes;
use super::geometry::Move;
use super::kernels::{Convert, Float, Plain, tile_length};
use crate::data::DataSet;
use crate::workload::{Draws, PipelineSpec, Transform};

/// What happens to one field. All types become `f32` when they change, so a field changes its type once at most.
#[derive(Debug)]
pub(super) struct Chain {
    /// Steps before the type changes; none if it does not.
    staged: Vec<Move>,
    /// The change of type.
    convert: Option<Convert>,
    /// Steps in the type that is delivered.
    steps: Vec<Step>,
    /// The field as it is delivered.
    pub(super) output: FieldKind,
    source_row: usize,
    columns: usize,
}

#[derive(Debug)]
enum Step {
    Float(Float),
    Move(Move),
}

/// The elements of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The draws of the epoch.
    pub(super) draws: Draws,
    /// Index in the data set of the first element.
    pub(super) first: usize,
}

/// How the steps of a chain are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// As the definitions read, one step per transform.
    Plain,
    /// The same bits in fewer instructions: no division of bytes, several steps of arithmetic in one loop.
    Joined,
}

/// Compiles a pipeline: one chain for each field, in order.
pub(super) fn compile(spec: &PipelineSpec, data: &DataSet, writing: Writing) -> Result<Vec<Chain>> {
    spec.check()?;
    let kinds = data.kinds().enumerate();
    kinds.map(|(field, kind)| Chain::compile(spec, data, field, kind, writing)).collect()
}

impl Chain {
    fn compile(
        spec: &PipelineSpec,
        data: &DataSet,
        field: usize,
        kind: &FieldKind,
        writing: Writing,
    ) -> Result<Self> {
        let mut chain = Self {
            staged: Vec::new(),
            convert: None,
            steps: Vec::new(),
            output: kind.clone(),
            source_row: row_bytes(kind),
            columns: kind.shape.last().copied().unwrap_or(1),
        };
        for (position, &transform) in spec.transforms.iter().enumerate() {
            let now = chain.output.clone();
            let Some(next) = transform.touches(kind, &now) else { continue };
            if let Some(step) = Move::new(transform, position, &now) {
                chain.steps.push(Step::Move(step));
            } else if now.dtype != Dtype::F32 {
                chain.staged = std::mem::take(&mut chain.steps).into_iter().map(Step::into_move).collect();
                chain.convert = Some(convert(transform, now.dtype, writing));
            } else if let Some(step) = float(transform, kind, data, field)? {
                let joined = match chain.steps.last_mut() {
                    Some(Step::Float(last)) if writing == Writing::Joined => last.join(&step),
                    _ => false,
                };
                if !joined {
                    chain.steps.push(Step::Float(step));
                }
            }
            chain.output = next;
        }
        Ok(chain)
    }

    /// Runs every step over a whole block before the next one. `staging` has room for the block as it is in the source.
    pub(super) fn run(&self, block: Block, from: &[u8], staging: &mut [u8], to: &mut [u8]) {
        if let Some(convert) = self.convert {
            let from = match self.staged.split_first() {
                None => from,
                Some((first, rest)) => {
                    let staging = &mut staging[..from.len()];
                    self.move_from(*first, block, from, staging);
                    for step in rest {
                        self.move_in_place(*step, block, staging, self.source_row);
                    }
                    staging
                }
            };
            convert.apply(from, bytemuck::cast_slice_mut(to));
            return self.run_in_place(&self.steps, block, to);
        }
        let Some((first, rest)) = self.steps.split_first() else {
            return to.copy_from_slice(from); // a batch is a copy, even where nothing is to be done
        };
        match first {
            Step::Float(step) => step.apply(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to)),
            Step::Move(step) => self.move_from(*step, block, from, to),
        }
        self.run_in_place(rest, block, to);
    }

    /// Runs all steps over one cache-sized piece of the block after the other, so that memory is touched once.
    pub(super) fn run_fused(&self, block: Block, from: &[u8], staging: &mut [u8], to: &mut [u8]) {
        let output_row = row_bytes(&self.output);
        if self.moves() {
            // A step that moves pixels needs the whole element, and elements are cache-sized.
            let elements = from.chunks_exact(self.source_row).zip(to.chunks_exact_mut(output_row));
            for (index, (from, to)) in elements.enumerate() {
                self.run(Block { first: block.first + index, ..block }, from, staging, to);
            }
        } else if self.steps.is_empty() {
            self.run(block, from, staging, to); // one pass as it is
        } else {
            // Whole tiles, so that every piece starts at index 0 of the last axis.
            let numbers = PIECE.next_multiple_of(tile_length(self.columns));
            let source_number = self.source_row * self.output.dtype.size() / output_row.max(1);
            let from = from.chunks(numbers * source_number);
            for (from, to) in from.zip(to.chunks_mut(numbers * self.output.dtype.size())) {
                self.run(block, from, staging, to);
            }
        }
    }

    /// Bytes of staging that a block of this many elements needs.
    pub(super) fn staging(&self, elements: usize) -> usize {
        if self.staged.is_empty() { 0 } else { elements * self.source_row }
    }

    fn moves(&self) -> bool {
        !self.staged.is_empty() || self.steps.iter().any(|step| matches!(step, Step::Move(_)))
    }

    fn run_in_place(&self, steps: &[Step], block: Block, to: &mut [u8]) {
        for step in steps {
            match step {
                Step::Float(step) => step.apply_in_place(bytemuck::cast_slice_mut(to)),
                Step::Move(step) => self.move_in_place(*step, block, to, row_bytes(&self.output)),
            }
        }
    }

    fn move_from(&self, step: Move, block: Block, from: &[u8], to: &mut [u8]) {
        let elements = from.chunks_exact(self.source_row).zip(to.chunks_exact_mut(self.source_row));
        for (index, (from, to)) in elements.enumerate() {
            step.apply(from, to, block.draw(index, step));
        }
    }

    #[expect(clippy::unused_self, reason = "beside `move_from`")]
    fn move_in_place(&self, step: Move, block: Block, elements: &mut [u8], row: usize) {
        for (index, element) in elements.chunks_exact_mut(row).enumerate() {
            step.apply_in_place(element, block.draw(index, step));
        }
    }
}

/// Numbers of a piece: with their source and a tile they stay inside a first-level cache of 32 KiB.
const PIECE: usize = 2048;

impl Block {
    fn draw(self, index: usize, step: Move) -> crate::workload::Draw {
        self.draws.at((self.first + index) as u64, step.position)
    }
}

impl Step {
    fn into_move(self) -> Move {
        match self {
            Self::Move(step) => step,
            Self::Float(_) => unreachable!("arithmetic is done in f32, and a field becomes f32 only once"),
        }
    }
}

/// The step that changes a type.
fn convert(transform: Transform, from: Dtype, writing: Writing) -> Convert {
    match (transform, from) {
        (Transform::Normalize, Dtype::U8) if writing == Writing::Joined => Convert::MultiplyBytes,
        (Transform::Normalize, Dtype::U8) => Convert::DivideBytes,
        (_, Dtype::U8) => Convert::CastU8,
        (_, Dtype::I32) => Convert::CastI32,
        (_, Dtype::I64) => Convert::CastI64,
        (_, Dtype::F64) => Convert::CastF64,
        (_, Dtype::F32) => unreachable!("asked only when the type changes"),
    }
}

/// The step of a transform on `f32`; `None` where it has nothing to do.
fn float(transform: Transform, source: &FieldKind, data: &DataSet, field: usize) -> Result<Option<Float>> {
    Ok(Some(match transform {
        Transform::Normalize if source.dtype == Dtype::U8 => Float::divide_255(),
        Transform::Normalize => {
            let constants = data.normalisation(field);
            let missing = || Error::new(format!("field `{}` has no constants of Normalize", source.name));
            Float::standardise(constants.ok_or_else(missing)?)
        }
        Transform::Scale => Float::plain(Plain::Scale),
        Transform::Clip => Float::plain(Plain::Clip),
        Transform::Add => Float::plain(Plain::Add),
        Transform::Multiply => Float::plain(Plain::Multiply),
        Transform::CastToFloat32 | Transform::RandomCrop | Transform::RandomFlip => return Ok(None),
    }))
}
