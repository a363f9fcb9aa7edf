//! The transforms of one field, compiled: a short list of steps, each run over a block of elements.

use weighbridge::{Dtype, Error, FieldKind, Result};
use weighbridge_data::{DataSet, Draws};

use super::buffer::{Bytes, row_bytes};
use super::elements::{Element, ElementBuffers, ElementStep};
use super::kernels::{Convert, Float, PlainStep, tile_length};
use crate::workload::{Touch, Transform};

/// The compiled steps of one field. All types become `f32` when they change, so a field changes its type once
/// at most.
#[derive(Debug)]
pub(super) struct KernelChain {
    /// Steps before the type changes; none if it does not.
    staged: Vec<ElementStep>,
    /// The change of type.
    change: Option<ChainChange>,
    /// Steps in the type that is delivered.
    steps: Vec<ChainStep>,
    /// The field as it comes out.
    pub(super) output: FieldKind,
    source_row: usize,
    output_row: usize,
    columns: usize,
}

#[derive(Debug)]
enum ChainStep {
    Float(Float),
    Element(ElementStep),
}

/// The step that makes `f32` of another type.
#[derive(Clone, Copy, Debug)]
enum ChainChange {
    Convert(Convert),
    AttentionMask(Dtype),
    CausalMask { length: usize },
}

/// The elements of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementBlock<'a> {
    /// The draws of the epoch.
    pub(super) draws: Draws,
    /// Indices in the data set.
    pub(super) elements: Indices<'a>,
    /// The number of real tokens of each, where the data say so; else empty.
    pub(super) lengths: &'a [i32],
}

/// The indices of a block's elements in the data set.
#[derive(Clone, Copy, Debug)]
pub(super) enum Indices<'a> {
    /// This one and those after it.
    From(usize),
    /// These.
    Listed(&'a [usize]),
}

/// Room for the steps of a chain, used again and again.
#[derive(Debug, Default)]
pub(super) struct ChainScratch {
    staging: Bytes,
    space: ElementBuffers,
}

/// The form in which the steps of a chain are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// As the definitions read, one step per transform.
    Plain,
    /// The same bits in fewer instructions: no division of bytes, several steps of arithmetic in one loop.
    Joined,
}

impl KernelChain {
    /// Compiles what touches a field that is `source` in the data set, at position `field`, and `start` here.
    pub(super) fn compile(
        touches: &[Touch],
        data: &DataSet,
        field: usize,
        start: &FieldKind,
        writing: Writing,
    ) -> Result<Self> {
        let source = data.kinds().nth(field).expect("a route starts from a field");
        let mut chain = Self {
            staged: Vec::new(),
            change: None,
            steps: Vec::new(),
            output: start.clone(),
            source_row: row_bytes(start),
            output_row: 0,
            columns: start.shape.last().copied().unwrap_or(1),
        };
        for touch in touches {
            if let Some(step) = ElementStep::new(touch) {
                chain.steps.push(ChainStep::Element(step));
            } else if touch.before != touch.after {
                chain.staged =
                    std::mem::take(&mut chain.steps).into_iter().map(ChainStep::into_element).collect();
                chain.change = Some(change(touch, writing));
            } else if let Some(step) = float(touch.transform, source, data, field)? {
                chain.push(step, touch, writing);
            }
            chain.output = touch.after.clone();
        }
        chain.output_row = row_bytes(&chain.output);
        Ok(chain)
    }

    fn push(&mut self, step: Float, touch: &Touch, writing: Writing) {
        if touch.gate.is_some() {
            self.steps.push(ChainStep::Element(ElementStep::gated(step, touch)));
            return;
        }
        let joined = match self.steps.last_mut() {
            Some(ChainStep::Float(last)) if writing == Writing::Joined => last.join(&step),
            _ => false,
        };
        if !joined {
            self.steps.push(ChainStep::Float(step));
        }
    }

    /// Returns whether the chain does nothing: what comes out is what went in.
    pub(super) fn is_empty(&self) -> bool {
        self.change.is_none() && self.steps.is_empty()
    }

    /// Bytes of one element as it comes out.
    pub(super) fn output_row(&self) -> usize {
        self.output_row
    }

    /// Runs every step over a whole block before the next one.
    pub(super) fn run(
        &self,
        block: ElementBlock<'_>,
        from: &[u8],
        scratch: &mut ChainScratch,
        to: &mut [u8],
    ) {
        let ChainScratch { staging, space } = scratch;
        if let Some(change) = self.change {
            let from = match self.staged.split_first() {
                None => from,
                Some((first, rest)) => {
                    let staging = staging.room(from.len());
                    self.elements_from(first, block, from, staging, space);
                    for step in rest {
                        elements_in_place(step, block, staging, self.source_row, space);
                    }
                    staging
                }
            };
            change.apply(from, to);
            return self.run_in_place(&self.steps, block, to, space);
        }
        let Some((first, rest)) = self.steps.split_first() else {
            return to.copy_from_slice(from); // a batch is a copy, even where nothing is to be done
        };
        match first {
            ChainStep::Float(step) => step.apply(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to)),
            ChainStep::Element(step) => self.elements_from(step, block, from, to, space),
        }
        self.run_in_place(rest, block, to, space);
    }

    /// Runs all steps over one cache-sized piece of the block after the other, so that memory is touched
    /// once.
    pub(super) fn run_fused(
        &self,
        block: ElementBlock<'_>,
        from: &[u8],
        scratch: &mut ChainScratch,
        to: &mut [u8],
    ) {
        if self.works_by_element() {
            // Elements are cache-sized.
            let elements =
                from.chunks_exact(self.source_row.max(1)).zip(to.chunks_exact_mut(self.output_row.max(1)));
            for (index, (from, to)) in elements.enumerate() {
                self.run(block.from(index), from, scratch, to);
            }
        } else if self.steps.is_empty() {
            self.run(block, from, scratch, to); // one pass as it is
        } else {
            // Whole tiles, so that every piece starts at index 0 of the last axis.
            let numbers = PIECE.next_multiple_of(tile_length(self.columns));
            let source_number = self.source_row * self.output.dtype.size() / self.output_row.max(1);
            let from = from.chunks((numbers * source_number).max(1));
            for (from, to) in from.zip(to.chunks_mut(numbers * self.output.dtype.size())) {
                self.run(block, from, scratch, to);
            }
        }
    }

    /// Returns whether a step needs a whole element.
    fn works_by_element(&self) -> bool {
        !self.staged.is_empty()
            || matches!(self.change, Some(ChainChange::CausalMask { .. }))
            || self.steps.iter().any(|step| matches!(step, ChainStep::Element(_)))
    }

    fn run_in_place(
        &self,
        steps: &[ChainStep],
        block: ElementBlock<'_>,
        to: &mut [u8],
        space: &mut ElementBuffers,
    ) {
        for step in steps {
            match step {
                ChainStep::Float(step) => step.apply_in_place(bytemuck::cast_slice_mut(to)),
                ChainStep::Element(step) => elements_in_place(step, block, to, self.output_row, space),
            }
        }
    }

    fn elements_from(
        &self,
        step: &ElementStep,
        block: ElementBlock<'_>,
        from: &[u8],
        to: &mut [u8],
        space: &mut ElementBuffers,
    ) {
        let row = self.source_row.max(1);
        for (index, (from, to)) in from.chunks_exact(row).zip(to.chunks_exact_mut(row)).enumerate() {
            step.apply_from(from, to, block.element(index), space);
        }
    }
}

fn elements_in_place(
    step: &ElementStep,
    block: ElementBlock<'_>,
    elements: &mut [u8],
    row: usize,
    space: &mut ElementBuffers,
) {
    for (index, element) in elements.chunks_exact_mut(row.max(1)).enumerate() {
        step.apply(element, block.element(index), space);
    }
}

/// Numbers of a piece: with their source and a tile they stay inside a first-level cache of 32 KiB.
const PIECE: usize = 2048;

impl ElementBlock<'_> {
    /// The index in the data set of an element of the block.
    pub(super) fn index(&self, index: usize) -> usize {
        self.element(index).index
    }

    fn element(&self, index: usize) -> Element {
        Element {
            draws: self.draws,
            index: match self.elements {
                Indices::From(first) => first + index,
                Indices::Listed(indices) => indices[index],
            },
            length: self.lengths.get(index).copied().unwrap_or(0),
        }
    }

    /// The block without its first elements.
    pub(super) fn from(&self, index: usize) -> Self {
        Self {
            draws: self.draws,
            elements: match self.elements {
                Indices::From(first) => Indices::From(first + index),
                Indices::Listed(indices) => Indices::Listed(&indices[index..]),
            },
            lengths: self.lengths.get(index..).unwrap_or_default(),
        }
    }
}

impl ChainStep {
    fn into_element(self) -> ElementStep {
        match self {
            Self::Element(step) => step,
            Self::Float(_) => unreachable!("arithmetic is done in f32, and a field becomes f32 only once"),
        }
    }
}

impl ChainChange {
    fn apply(self, from: &[u8], to: &mut [u8]) {
        let to: &mut [f32] = bytemuck::cast_slice_mut(to);
        match self {
            Self::Convert(convert) => convert.apply(from, to),
            Self::AttentionMask(Dtype::I64) => mask(bytemuck::cast_slice::<u8, i64>(from), to),
            Self::AttentionMask(_) => mask(bytemuck::cast_slice::<u8, i32>(from), to),
            Self::CausalMask { length } => {
                for (index, row) in to.chunks_exact_mut(length.max(1)).enumerate() {
                    let (seen, hidden) = row.split_at_mut(index % length + 1);
                    seen.fill(1.0);
                    hidden.fill(0.0);
                }
            }
        }
    }
}

fn mask<T: Copy + Default + PartialEq>(tokens: &[T], to: &mut [f32]) {
    for (token, to) in tokens.iter().zip(to) {
        *to = f32::from(u8::from(*token != T::default()));
    }
}

/// The step that makes `f32` of another type.
fn change(touch: &Touch, writing: Writing) -> ChainChange {
    let from = touch.before.dtype;
    ChainChange::Convert(match (touch.transform, from) {
        (Transform::CreateAttentionMask, _) => return ChainChange::AttentionMask(from),
        (Transform::CausalMaskGeneration, _) => {
            return ChainChange::CausalMask { length: touch.before.shape[0] };
        }
        (Transform::Normalize, Dtype::U8) if writing == Writing::Joined => Convert::MultiplyBytes,
        (Transform::Normalize, Dtype::U8) => Convert::DivideBytes,
        (_, Dtype::U8) => Convert::CastU8,
        (_, Dtype::I32) => Convert::CastI32,
        (_, Dtype::I64) => Convert::CastI64,
        (_, Dtype::F64) => Convert::CastF64,
        (_, Dtype::F32) => unreachable!("asked only when the type changes"),
        (_, Dtype::BF16) => unreachable!("states alone have it, and nothing transforms those"),
    })
}

/// The step of a transform that works number by number on `f32`; `None` where it has nothing to do.
fn float(transform: Transform, source: &FieldKind, data: &DataSet, field: usize) -> Result<Option<Float>> {
    Ok(Some(match transform {
        Transform::Normalize if source.dtype == Dtype::U8 => Float::divide_255(),
        Transform::Normalize => {
            let constants = data.normalisation(field);
            let missing = || Error::new(format!("field `{}` has no constants of Normalize", source.name));
            Float::standardise(constants.ok_or_else(missing)?)
        }
        Transform::Scale => Float::plain(PlainStep::Scale),
        Transform::Clip => Float::plain(PlainStep::Clip),
        Transform::Add | Transform::CheapTransform => Float::plain(PlainStep::Add),
        Transform::Multiply => Float::plain(PlainStep::Multiply),
        _ => return Ok(None), // a cast of what is f32 already
    }))
}
