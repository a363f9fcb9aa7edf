//! The way of one delivered field: a chain, and branches of it where the pipeline has some.

use weighbridge::{Dtype, FieldKind, Result};
use weighbridge_data::DataSet;

use super::buffer::{Buffers, Bytes};
use super::chain::{ChainScratch, ElementBlock, KernelChain, Writing};
use super::photograph::{Darkroom, Decode};
use crate::workload::{PipelineSpec, Route, Transform};

/// The order in which a line's transforms go over a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteStyle {
    /// One transform after the other, each over the whole batch.
    StepByStep,
    /// All transforms over one cache-sized piece after the other.
    Fused,
}

/// A route, compiled.
#[derive(Debug)]
pub(super) struct CompiledRoute {
    /// The position of the field in the data set.
    pub(super) source: usize,
    /// `true` if its rows are shortened batch by batch.
    pub(super) is_padded: bool,
    /// The decoding, which is done first, where elements are encoded images.
    decode: Option<Decode>,
    trunk: KernelChain,
    branches: Vec<KernelChain>,
    /// The field as it is delivered.
    pub(super) output: FieldKind,
}

/// Room for a line's work.
#[derive(Debug, Default)]
pub(super) struct RouteRoom {
    darkroom: Darkroom,
    scratch: ChainScratch,
    trunk: Bytes,
    branch: Bytes,
}

/// Compiles a pipeline: one line for each delivered field, in order.
pub(super) fn compile(spec: &PipelineSpec, data: &DataSet, writing: Writing) -> Result<Vec<CompiledRoute>> {
    spec.routes()?.iter().map(|route| CompiledRoute::compile(route, data, writing)).collect()
}

/// The position of the field that says how long a row is, where the rows of a line are padded.
pub(super) fn length_field(lines: &[CompiledRoute], data: &DataSet) -> Option<usize> {
    let is_length =
        |kind: &FieldKind| kind.name == "length" && kind.dtype == Dtype::I32 && kind.shape.is_empty();
    if lines.iter().any(|line| line.is_padded) { data.kinds().position(is_length) } else { None }
}

/// Ends the padded rows of a batch where the longest of them ends; `lengths` has what each element's field
/// says, or nothing.
pub(super) fn shorten(lines: &[CompiledRoute], lengths: &[i32], batch: &mut Buffers) {
    let Some(longest) = lengths.iter().copied().max() else { return };
    let longest = usize::try_from(longest).unwrap_or(0).next_multiple_of(Transform::PAD_TO);
    for (field, line) in lines.iter().enumerate().filter(|(_, line)| line.is_padded) {
        batch.shorten(field, longest.min(line.output.shape[0]));
    }
}

impl CompiledRoute {
    fn compile(route: &Route, data: &DataSet, writing: Writing) -> Result<Self> {
        let source = data.kinds().nth(route.source).expect("a route starts from a field");
        let (decode, touches) = Decode::split(&route.trunk);
        let start = if decode.is_some() { &route.trunk[0].after } else { source };
        let trunk = KernelChain::compile(touches, data, route.source, start, writing)?;
        let branch =
            |touches: &Vec<_>| KernelChain::compile(touches, data, route.source, &trunk.output, writing);
        let branches = route.branches.iter().map(branch).collect::<Result<_>>()?;
        Ok(Self {
            source: route.source,
            is_padded: route.is_padded(),
            decode,
            trunk,
            branches,
            output: route.output.clone(),
        })
    }

    /// Runs the line over a block of elements, given the bytes of one element in the data set.
    pub(super) fn run(
        &self,
        style: RouteStyle,
        block: ElementBlock<'_>,
        from: &[u8],
        source_row: usize,
        room: &mut RouteRoom,
        to: &mut [u8],
    ) {
        let Some(decode) = self.decode else {
            return self.run_decoded(style, block, from, source_row, room, to);
        };
        let mut darkroom = std::mem::take(&mut room.darkroom);
        let crops = decode.run(block, from, &mut darkroom);
        let row = crops.len() / (from.len() / source_row.max(1)).max(1);
        self.run_decoded(style, block, crops, row, room, to);
        room.darkroom = darkroom;
    }

    /// The same over elements that are decoded, or need not be.
    fn run_decoded(
        &self,
        style: RouteStyle,
        block: ElementBlock<'_>,
        from: &[u8],
        source_row: usize,
        room: &mut RouteRoom,
        to: &mut [u8],
    ) {
        if self.branches.is_empty() {
            return match style {
                RouteStyle::StepByStep => self.trunk.run(block, from, &mut room.scratch, to),
                RouteStyle::Fused => self.trunk.run_fused(block, from, &mut room.scratch, to),
            };
        }
        match style {
            RouteStyle::StepByStep => self.merge(block, from, from.len() / source_row.max(1), room, to),
            RouteStyle::Fused => {
                let rows = to.chunks_exact_mut(self.branches[0].output_row().max(1));
                for (index, (from, to)) in from.chunks_exact(source_row.max(1)).zip(rows).enumerate() {
                    self.merge(block.from(index), from, 1, room, to);
                }
            }
        }
    }

    /// The mean of the branches.
    fn merge(
        &self,
        block: ElementBlock<'_>,
        from: &[u8],
        elements: usize,
        room: &mut RouteRoom,
        to: &mut [u8],
    ) {
        let RouteRoom { scratch, trunk, branch, .. } = room;
        let from = if self.trunk.is_empty() {
            from
        } else {
            let trunk = trunk.room(elements * self.trunk.output_row());
            self.trunk.run(block, from, scratch, trunk);
            trunk
        };
        let (first, others) = self.branches.split_first().expect("asked only where there are branches");
        first.run(block, from, scratch, to);
        let branch = branch.room(to.len());
        for (number, other) in (2..).zip(others) {
            other.run(block, from, scratch, branch);
            let (to, branch) =
                (bytemuck::cast_slice_mut::<u8, f32>(to), bytemuck::cast_slice::<u8, f32>(branch));
            let last = number == self.branches.len();
            let all = self.branches.len() as f32;
            for (to, x) in to.iter_mut().zip(branch) {
                let sum = *to + x;
                *to = if last { sum / all } else { sum };
            }
        }
    }
}
