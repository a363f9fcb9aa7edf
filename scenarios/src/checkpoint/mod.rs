//! Checkpoints: what it costs to save a state and to load it, and whether what was loaded is what was saved.

mod ckpt1_round_trip;
mod ckptcold_page_cache;
mod ckptcrash_broken_saves;
mod ckptstep_training_steps;
mod crash;
mod inventory;
mod medium;
mod proof;
mod rounds;
mod spoil;
#[cfg(test)]
mod tests;
mod watched;

use weighbridge::{Bencher, Ticket};

use crate::contract::{Checkpoints, Executed};
use crate::data::DataSet;

/// Hands in what a system says of its work.
fn report(bencher: &Bencher, checkpoints: &dyn Checkpoints, data: &DataSet) {
    let Executed { transforms, operators, library, ran_on, synchronised, delivery, workers } =
        checkpoints.executed();
    bencher.work(Ticket {
        input: Some(data.digest().to_owned()),
        transforms,
        operators,
        library,
        ran_on,
        synchronised,
        delivery,
        workers,
        entry_point: checkpoints.entry_point(),
        unequal: None,
    });
}
