//! Makes batches: rows in, through the chains, into buffers.

use std::ops::Range;
use std::sync::Arc;

use weighbridge::{FieldKind, Result};

use super::buffer::{Buffers, Bytes};
use super::chain::{self, Block, Chain, Writing};
use super::input::Input;
use super::slowdown::Slowdown;
use crate::data::DataSet;
use crate::workload::{Draws, PipelineSpec};

/// How a chain runs over a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// One transform after the other, each over the whole batch.
    StepByStep,
    /// All transforms over one cache-sized piece after the other.
    Fused,
}

/// Makes the batches of a pipeline on one thread.
#[derive(Debug)]
pub(super) struct Maker {
    style: Style,
    input: Input,
    chains: Arc<Vec<Chain>>,
    staging: Vec<Bytes>,
    slowdown: Slowdown,
    spec: Arc<PipelineSpec>,
}

impl Maker {
    pub(super) fn open(spec: &Arc<PipelineSpec>, data: &Arc<DataSet>, style: Style) -> Result<Self> {
        let writing = match style {
            Style::StepByStep => Writing::Plain,
            Style::Fused => Writing::Joined,
        };
        let chains = Arc::new(chain::compile(spec, data, writing)?);
        let staging = room(&chains, style, spec);
        let input = Input::open(spec, data)?;
        Ok(Self { style, input, chains, staging, slowdown: Slowdown::from_env()?, spec: spec.clone() })
    }

    /// Another maker of the same batches, for another thread.
    pub(super) fn another(&self) -> Self {
        Self {
            style: self.style,
            input: self.input.another(&self.spec),
            chains: self.chains.clone(),
            staging: room(&self.chains, self.style, &self.spec),
            slowdown: self.slowdown,
            spec: self.spec.clone(),
        }
    }

    /// The fields of a batch.
    pub(super) fn kinds(&self) -> Arc<[FieldKind]> {
        self.chains.iter().map(|chain| chain.output.clone()).collect()
    }

    /// Makes the batch of these elements.
    pub(super) fn make(&mut self, epoch: u64, elements: Range<usize>, batch: &mut Buffers) -> Result<()> {
        let draws = Draws::new(self.spec.seed, epoch);
        self.slow_down(draws, &elements, batch)?;
        self.fill(draws, elements.clone(), batch)?;
        batch.elements = elements.len();
        Ok(())
    }

    /// Makes the rows that a slowdown asks for, to be overwritten by the batch. They are those of the batch that lies
    /// opposite in the epoch: rows that were just made would come from the cache and cost less than their share.
    fn slow_down(&mut self, draws: Draws, elements: &Range<usize>, batch: &mut Buffers) -> Result<()> {
        let all = self.spec.elements();
        let opposite = all.start + all.end - elements.end;
        let mut owed = self.slowdown.rows(elements.len());
        while owed > 0 {
            let rows = owed.min(elements.len());
            self.fill(draws, opposite..opposite + rows, batch)?;
            owed -= rows;
        }
        Ok(())
    }

    /// Fills the first rows of a batch with these elements.
    fn fill(&mut self, draws: Draws, elements: Range<usize>, batch: &mut Buffers) -> Result<()> {
        let block = Block { draws, first: elements.start };
        for (field, (chain, staging)) in self.chains.iter().zip(&mut self.staging).enumerate() {
            let from = self.input.rows(field, elements.clone())?;
            let to = batch.first_mut(field, elements.len());
            match self.style {
                Style::StepByStep => {
                    chain.run(block, from, staging.first_mut(chain.staging(elements.len())), to);
                }
                Style::Fused => chain.run_fused(block, from, staging.first_mut(chain.staging(1)), to),
            }
        }
        Ok(())
    }
}

/// Staging for each chain: a whole batch, or one element.
fn room(chains: &[Chain], style: Style, spec: &PipelineSpec) -> Vec<Bytes> {
    let elements = match style {
        Style::StepByStep => spec.batch_size.min(spec.source.elements),
        Style::Fused => 1,
    };
    chains.iter().map(|chain| Bytes::new(chain.staging(elements))).collect()
}
