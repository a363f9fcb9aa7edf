//! Ranks that do not train together as they say: for tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Error, ErrorKind, Result};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::contract::{Phases, Tensors};

use crate::adapters::native::{ByHand, Meeting, RankSeat};
use crate::contract::{First, Trainer, TrainingLoop};
use crate::workload::{Compilation, TrainingRanks, TrainingSpec};

/// A way in which ranks do other work than they say: the last one where not all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RankLie {
    /// It comes to every exchange, and steps by its own gradients all the same.
    SkipsTheExchange,
    /// No rank averages: each trains alone.
    AllSkipTheExchange,
    /// It averages whenever it is looked at from the beginning, and not in the steps that are timed.
    SkipsTheExchangeWhenTimed,
    /// It takes the first rank's share, which so is trained on twice.
    TheSameShareTwice,
    /// It and the first rank have each other's shares, so that together they do the work.
    AnothersShare,
    /// Every rank takes the whole batch, and says that it is a share.
    TheWholeBatch,
    /// It begins with other weights, which the first exchange does not mend.
    OtherWeights,
    /// There is one rank less.
    OneIsMissing,
    /// It never comes to its third step.
    Hangs,
    /// Its process ends in an exchange.
    Dies,
}

/// The trainer by hand on ranks of threads, with a lie.
pub(super) struct RankLiar(pub(super) RankLie);

struct LyingRank {
    lie: Option<RankLie>,
    honest: ByHand<f32>,
    /// The same without the others.
    alone: Option<ByHand<f32>>,
    streams: bool,
    steps: usize,
    share: usize,
    rank: usize,
    together: Arc<Meeting<f32>>,
}

impl Trainer for RankLiar {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        _how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        Ok(Box::new(ByHand::<f32>::open(spec, data, weights)?))
    }

    fn open_ranks(
        &mut self,
        spec: &TrainingSpec,
        _how: Compilation,
        ranks: TrainingRanks,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn TrainingLoop + Send + '_>>> {
        let Self(lie) = *self;
        let patience = Duration::from_mins(1);
        let of = ranks.count;
        let together = Arc::new(Meeting::of(of, patience));
        let open = |rank: usize| {
            let last = rank + 1 == of;
            let solitary = || Arc::new(Meeting::of(1, patience));
            let share = match lie {
                RankLie::TheSameShareTwice | RankLie::AnothersShare if last => 0,
                RankLie::AnothersShare if rank == 0 => of - 1,
                _ => rank,
            };
            let apart = lie == RankLie::AllSkipTheExchange;
            let seat = |apart: bool| RankSeat {
                share: if lie == RankLie::TheWholeBatch { 0 } else { share },
                of: if lie == RankLie::TheWholeBatch { 1 } else { of },
                rank: if apart { 0 } else { rank },
                meeting: if apart { solitary() } else { together.clone() },
            };
            let mut honest = ByHand::<f32>::open(spec, data, weights)?;
            if lie == RankLie::OtherWeights && last {
                let (_, mut other) = honest.left()?;
                other[0].1[0] += 0.5;
                honest = honest.beginning(&other)?;
            }
            let skips = matches!(lie, RankLie::SkipsTheExchange | RankLie::SkipsTheExchangeWhenTimed);
            let mut alone = None;
            if skips && last {
                alone = Some(ByHand::<f32>::open(spec, data, weights)?.seated(seat(true)));
            }
            let lying = LyingRank {
                lie: (last || lie == RankLie::TheWholeBatch).then_some(lie),
                honest: honest.seated(seat(apart)),
                alone,
                streams: false,
                steps: 0,
                share: ranks.share(spec),
                together: together.clone(),
                rank,
            };
            Ok(Box::new(lying) as Box<dyn TrainingLoop + Send>)
        };
        (0..if lie == RankLie::OneIsMissing { of - 1 } else { of }).map(open).collect()
    }
}

impl LyingRank {
    /// Whose results it tells: those of the training without the others, or the honest ones.
    fn told(&mut self) -> &mut ByHand<f32> {
        let skips = self.lie == Some(RankLie::SkipsTheExchange);
        match &mut self.alone {
            Some(alone) if skips || self.streams => alone,
            _ => &mut self.honest,
        }
    }
}

impl Epochs for LyingRank {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        (self.streams, self.steps) = (true, 0);
        if let Some(alone) = &mut self.alone {
            alone.begin(epoch)?;
        }
        self.honest.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        self.steps += 1;
        let end = match self.lie {
            Some(RankLie::Hangs) => Some((ErrorKind::Timeout, "it said nothing")),
            Some(RankLie::Dies) => Some((ErrorKind::Exit(9), "the worker exited with code 9")),
            _ => None,
        };
        if let Some((kind, why)) = end.filter(|_| self.steps == 3) {
            // What it looks like from outside: a rank that hangs is ended, and those that waited for it fail
            // for that.
            self.together.leave(self.rank, "it was ended");
            return Err(Error::of(kind, why));
        }
        if let Some(alone) = &mut self.alone {
            alone.advance()?;
        }
        self.honest.advance()
    }

    fn batch(&self) -> &dyn Batch {
        self.honest.batch()
    }

    fn executed(&self) -> ExecutedWork {
        self.honest.executed()
    }
}

impl TrainingLoop for LyingRank {
    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.honest.settings();
        settings.insert("batch".into(), self.share.to_string());
        settings
    }

    fn left(&mut self) -> Result<(usize, Tensors)> {
        self.told().left()
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        self.honest.phases(skip, steps)
    }

    fn first(&mut self) -> Result<First> {
        let honest = self.honest.first()?;
        let alone = self.alone.as_mut().filter(|_| self.lie == Some(RankLie::SkipsTheExchange));
        alone.map_or(Ok(honest), ByHand::first)
    }

    fn train(&mut self, anew: bool, steps: usize) -> Result<Vec<f32>> {
        self.streams = false;
        let honest = self.honest.train(anew, steps)?;
        let alone = self.alone.as_mut().map(|alone| alone.train(anew, steps)).transpose()?;
        Ok(alone.filter(|_| self.lie == Some(RankLie::SkipsTheExchange)).unwrap_or(honest))
    }

    fn right(&mut self) -> Result<usize> {
        self.honest.right()
    }
}
