//! The nouns that every way of running needs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Suite;
use super::args::BenchArgs;
use super::style::Styled;
use crate::ranks::RankSeat;
use crate::report::Terminal;

/// The suite, what was typed, and where to answer.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) suite: &'a Suite,
    pub(super) args: BenchArgs,
    pub(super) terminal: Terminal,
    /// The workspace's settings file: its name and its text.
    pub(super) settings: Option<(String, String)>,
    /// The facts on benches in another style.
    pub(super) styled: Styled,
    /// The place among ranks; `None` in a run of one process.
    pub(super) seat: Option<RankSeat>,
    /// Set by Ctrl-C.
    pub(super) interrupted: Arc<AtomicBool>,
}
