//! Trainers written in Rust, in this process.

#[cfg(not(all(feature = "burn", feature = "candle")))]
mod absent;
#[cfg(feature = "burn")]
mod burn;
#[cfg(feature = "burn")]
mod burn_layers;
mod by_hand;
#[cfg(feature = "candle")]
mod candle;
#[cfg(feature = "candle")]
mod candle_layers;
#[cfg(any(feature = "burn", feature = "candle"))]
mod derived_model;
mod gradient_lines;
mod meeting;
mod phase_clock;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Result, adapter, skip};
use weighbridge_data::DataSet;

use crate::contract::{Trainer, TrainingLoop};
use crate::network::Real;
use crate::workload::{
    AttentionWay, Casts, Components, ImageLayout, NormWay, OptimiserWay, RopeWay, TrainingState,
};
use crate::workload::{Compilation, GradientExchange, Precision, TrainingRanks, TrainingSpec};

#[cfg(not(feature = "burn"))]
pub use absent::burn::BurnTrainer;
#[cfg(not(feature = "candle"))]
pub use absent::candle::CandleTrainer;
#[cfg(feature = "burn")]
pub use burn::BurnTrainer;
pub(crate) use by_hand::ByHand;
#[cfg(test)]
pub(crate) use by_hand::Losses;
#[cfg(feature = "candle")]
pub use candle::CandleTrainer;
use gradient_lines::GradientLines;
pub(crate) use meeting::{Meeting, RankSeat};

/// A trainer by definition: every layer, gradient and step by its formula, in `f64`. The modes of other
/// systems change nothing in it, nor does their precision.
#[derive(Debug, Default)]
pub struct ReferenceTrainer;

#[adapter(name = "Reference", tier = 0)]
impl Trainer for ReferenceTrainer {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        _how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        Ok(Box::new(ByHand::<f64>::open(spec, data, weights)?))
    }

    fn open_ranks(
        &mut self,
        spec: &TrainingSpec,
        _how: Compilation,
        ranks: TrainingRanks,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn TrainingLoop + Send + '_>>> {
        // Neither do the modes of others change what their exchange of gradients comes to.
        threads::<f64>(spec, ranks, data, weights)
    }
}

/// The time that a thread waits for the others in an exchange of gradients.
const PATIENCE: Duration = Duration::from_mins(1);

/// The ranks of one training that are threads of this process.
fn threads<T: Real>(
    spec: &TrainingSpec,
    ranks: TrainingRanks,
    data: &Arc<DataSet>,
    weights: &Arc<DataSet>,
) -> Result<Vec<Box<dyn TrainingLoop + Send + 'static>>> {
    let (of, own) = (ranks.count, ranks.own());
    let mut meeting = Meeting::of(own.len(), PATIENCE);
    if let Some(place) = ranks.place {
        meeting = meeting.across(GradientLines::meet(place, of, PATIENCE)?);
    }
    let meeting = Arc::new(meeting);
    let open = |rank: usize| {
        let seat = RankSeat { share: rank, of, rank: rank - own.start, meeting: meeting.clone() };
        let rank = ByHand::<T>::open(spec, data, weights)?.seated(seat);
        Ok(Box::new(rank) as Box<dyn TrainingLoop + Send>)
    };
    own.clone().map(open).collect()
}

/// Refuses what a program of Rust cannot be asked for here.
fn check_asked(spec: &TrainingSpec, how: Compilation) -> Result<()> {
    if how != Compilation::Eager {
        return Err(skip(format!(
            "mode {how}: a program of Rust has one way to run its layers, as they are written"
        )));
    }
    if let Some(components) = &spec.components {
        check_components(components)?;
    }
    if spec.precision != Precision::F32 {
        return Err(skip(format!(
            "precision {}: a program of Rust has no products of such numbers here",
            spec.precision
        )));
    }
    Ok(())
}

/// Refuses a way of a component that a program of Rust has not here: it has one of each.
fn check_components(asked: &Components) -> Result<()> {
    let own = Components {
        state: TrainingState::Original,
        swapped: None,
        rope: asked.rope.and(Some(RopeWay::Buffers)),
        attention: asked.attention.and(Some(AttentionWay::ByHand)),
        norm: asked.norm.and(Some(NormWay::Parts)),
        casts: asked.casts.and(Some(Casts::Removed)),
        optimiser: asked.optimiser.and(Some(OptimiserWay::Plain)),
        layout: asked.layout.and(Some(ImageLayout::ChannelsLast)),
    };
    if *asked == own {
        return Ok(());
    }
    Err(skip(
        "components: a program of Rust has one way of each here, which is told as state original: rope \
         buffers, attention by_hand, norm parts, casts removed, optimiser plain, layout channels_last",
    ))
}

/// The same formulae in `f32`, with the products of matrices of the crate `ndarray` on all processors.
#[derive(Debug, Default)]
pub struct NdarrayTrainer;

#[adapter(name = "ndarray (by hand)", tier = 1)]
impl Trainer for NdarrayTrainer {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        check_asked(spec, how)?;
        Ok(Box::new(ByHand::<f32>::open(spec, data, weights)?))
    }

    fn open_ranks(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        ranks: TrainingRanks,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn TrainingLoop + Send + '_>>> {
        check_asked(spec, how)?;
        if ranks.exchange != GradientExchange::Apart {
            return Err(skip(format!(
                "communication {}: its ranks average whole gradients, when they have them",
                ranks.exchange
            )));
        }
        threads::<f32>(spec, ranks, data, weights)
    }
}
