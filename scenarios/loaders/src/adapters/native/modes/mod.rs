//! One list of transforms, run in one of four ways. What comes out is the same, bit by bit.

mod compiled;
mod eager;
mod fused;
mod square;

use std::sync::Arc;

use weighbridge::{Delivery, Dtype, FieldKind, Result, skip};
use weighbridge_data::{Batch, DataSet, Draws, Epochs, ExecutedWork};

use self::compiled::{CompiledChain, ModeRoom};
use self::eager::EagerOperation;
use self::fused::FusedLoop;
use self::square::ImageSquare;
use super::buffer::{Buffers, row_bytes};
use super::chain::{ElementBlock, Indices, Writing};
use super::input::Input;
use super::line::RouteStyle;
use super::prefetch::Batches;
use crate::adapters::native::line;
use crate::adapters::native::line::CompiledRoute;
use crate::workload::{ExecutionMode, PipelineSpec, Route, Transform};

/// A cursor over batches that are made in one way.
pub(super) struct InMode {
    mode: ExecutionMode,
    way: Way,
    input: Input,
    /// Bytes of an element as it comes, and as it goes.
    rows: (usize, usize),
    batches: Batches,
    current: Buffers,
    epoch: u64,
    next: usize,
    spec: PipelineSpec,
}

/// The transforms in the form that a mode runs.
enum Way {
    Eager(Vec<Box<dyn EagerOperation>>),
    Vectorised(Box<(CompiledRoute, line::RouteRoom)>),
    Compiled(CompiledChain, ModeRoom),
    Fused(FusedLoop),
}

/// The lists that `compiled` and `fused` are written for: there is one.
const WRITTEN: [Transform; 3] = [Transform::Normalize, Transform::RandomCrop, Transform::AffineRotation];

impl InMode {
    pub(super) fn open(mode: ExecutionMode, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Self> {
        data.check_is(&spec.source)?;
        let routes = spec.routes()?;
        let plain = spec.structure.capabilities().is_empty() && !routes.iter().any(Route::is_padded);
        let ([route], true, 0) = (&routes[..], plain, spec.workers) else {
            let asked = spec.work().join(" > ");
            let why = format!(
                "`mode` {mode} is for one field, a plain list of transforms and no workers, and not for {} \
                 fields through {asked} with {} workers",
                routes.len(),
                spec.workers
            );
            return Err(skip(why));
        };
        let way = match mode {
            ExecutionMode::Eager => Way::Eager(eager::operations(route, data)?),
            ExecutionMode::Vectorised => {
                let line = line::compile(spec, data, Writing::Plain)?.swap_remove(0);
                Way::Vectorised(Box::new((line, line::RouteRoom::default())))
            }
            ExecutionMode::Compiled => {
                Way::Compiled(compiled::put_together(&written(mode, spec, data)?), ModeRoom::default())
            }
            ExecutionMode::Fused => Way::Fused(FusedLoop::new(written(mode, spec, data)?)),
        };
        let batches = Batches { all: spec.elements(), size: spec.batch_size };
        let kinds: Arc<[FieldKind]> = [route.output.clone()].into();
        Ok(Self {
            mode,
            way,
            input: Input::open(spec, data)?,
            rows: (row_bytes(&spec.source.fields[0].kind), row_bytes(&route.output)),
            current: Buffers::new(&kinds, batches.size.min(batches.all.len())),
            batches,
            epoch: 0,
            next: 0,
            spec: spec.clone(),
        })
    }
}

/// Returns the constants, side and channels that [`WRITTEN`] works with, if it is what is asked for.
fn written(mode: ExecutionMode, spec: &PipelineSpec, data: &DataSet) -> Result<ImageSquare> {
    let kind = &spec.source.fields[0].kind;
    match (spec.transforms[..] == WRITTEN, kind.dtype, &kind.shape[..], data.normalisation(0)) {
        (true, Dtype::F32, &[side, _, channels], Some(constants)) => {
            Ok(ImageSquare { constants: constants.clone(), side, channels })
        }
        _ => {
            let list = WRITTEN.map(Transform::name).join(" > ");
            Err(skip(format!("`mode` {mode} is written for {list} on f32 images, and for nothing else")))
        }
    }
}

impl Epochs for InMode {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        (self.epoch, self.next) = (epoch, 0);
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        if self.next >= self.batches.count() {
            return Ok(false);
        }
        let elements = self.batches.elements(self.next);
        self.next += 1;
        let draws = Draws::new(self.spec.seed, self.epoch);
        let from = self.input.rows(0, elements.clone())?;
        let to = self.current.first_mut(0, elements.len());
        let (source, output) = self.rows;
        match &mut self.way {
            Way::Vectorised(vectorised) => {
                let (line, room) = &mut **vectorised;
                let block = ElementBlock { draws, elements: Indices::From(elements.start), lengths: &[] };
                line.run(RouteStyle::StepByStep, block, from, source, room, to);
            }
            way => {
                let rows = from.chunks_exact(source).zip(to.chunks_exact_mut(output));
                for (index, (from, to)) in elements.clone().zip(rows) {
                    match way {
                        Way::Eager(operations) => {
                            eager::run(operations, draws, index, from, to);
                        }
                        Way::Compiled(chain, room) => chain.run(
                            room,
                            draws,
                            index,
                            bytemuck::cast_slice(from),
                            bytemuck::cast_slice_mut(to),
                        ),
                        Way::Fused(pass) => {
                            pass.run(draws, index, bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
                        }
                        Way::Vectorised(..) => unreachable!("taken above"),
                    }
                }
            }
        }
        self.current.elements = elements.len();
        Ok(true)
    }

    fn batch(&self) -> &dyn Batch {
        &self.current
    }

    fn executed(&self) -> ExecutedWork {
        let mut transforms = self.spec.work();
        transforms.push(self.mode.work());
        ExecutedWork::ours(transforms, Delivery::Owned, 0)
    }
}
