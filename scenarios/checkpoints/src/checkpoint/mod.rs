//! Checkpoints: what it costs to save a state and to load it, and whether what was loaded is what was saved.

#[cfg(test)]
mod alone;
mod cancelled;
mod ckpt1_round_trip;
mod ckpt2_reshard;
mod ckpt3_broadcast;
mod ckpt4_replicas;
mod ckpt5_manager;
mod ckpt6_cancel;
mod ckpt7_load;
mod ckpt8_layers;
mod ckptcold_page_cache;
mod ckptcrash_broken_saves;
mod ckptranks_processes;
mod ckptstep_training_steps;
mod collected;
mod crash;
mod first_failure;
mod inventory;
mod looks;
mod lots;
mod managed;
mod medium;
mod operation;
mod proof;
mod ranked;
mod remote_ranks;
mod replicas;
mod rounds;
mod shares;
mod spoil;
mod stamp;
mod stored;
#[cfg(test)]
mod tests;
mod watched;
