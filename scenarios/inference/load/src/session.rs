//! A session: all levels in a drawn order, between two runs of a sentinel level, and a probe for caches.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use weighbridge::data::SplitMix64;

use crate::answer::{Answer, ParseLimits};
use crate::clock::Stamp;
use crate::connection::{Connection, RequestHead};
use crate::drive::{ClientLimits, ClientState, DriveError, Level, drive};
use crate::exchange::{Class, Exchange};
use crate::failure::Failure;
use crate::figures::{Figures, Gathering, Goals};
use crate::percentile::Percentile;
use crate::probe::{CacheProbe, PAIRS};
use crate::record::{RecordError, Records};
use crate::target::{Api, Target};
use crate::verdict::{Bounds, Verdict, judge};
use crate::workload::{Ask, Workload};

/// The longest line of a stream.
const LINE: usize = 1 << 20;

/// Prompts of a level have numbers from here on, once more for each level: none is asked twice.
const NUMBERS: u64 = 1 << 40;

/// The most tokens of an answer to the probe: the first is all that it looks at.
const PROBE_TOKENS: u32 = 8;

/// The probe ends after more failures than that.
const MOST_FAILED: usize = 1;

/// The reason that a session ended without rows.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A level could not be driven.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Records could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The folder for them.
    #[error("failed to make the folder {} for raw records: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The words of the system.
        error: io::Error,
    },
    /// No level.
    #[error("there is no level of load: name users or rates")]
    NoLevel,
}

/// A session, before it runs.
#[derive(Clone, Debug)]
pub struct Session {
    /// The endpoint of the requests.
    pub target: Target,
    /// Their prompts and lengths.
    pub workload: Workload,
    /// The levels of load. The first is the sentinel if there are several.
    pub levels: Vec<Level>,
    /// The bounds of the client.
    pub limits: ClientLimits,
    /// Goals of goodput.
    pub goals: Goals,
    /// The bounds beyond which a row is refused.
    pub bounds: Bounds,
    /// A cache is meant to be there: it is not looked for.
    pub allows_cache: bool,
    /// The folder for raw records; without one they are removed at the end.
    pub folder: Option<PathBuf>,
}

/// A level with its figures and the verdict on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The load in a few words.
    pub name: String,
    /// The figures.
    pub figures: Figures,
    /// The client's account of itself.
    pub client: ClientState,
    /// The verdict.
    pub verdict: Verdict,
}

/// All rows of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The endpoint, without its query.
    pub target: String,
    /// The seed of the prompts and of the order.
    pub seed: u64,
    /// The rows, in the order in which the levels were named.
    pub rows: Vec<Row>,
    /// The order in which they ran: places among the rows.
    pub order: Vec<usize>,
    /// The first level at the start and at the end, if there are several.
    pub sentinels: Vec<Row>,
    /// The probe for a cache, unless one is allowed or there are no prompts.
    pub probe: Option<CacheProbe>,
}

impl Report {
    /// Tells whether every row stands.
    pub fn is_valid(&self) -> bool {
        self.rows.iter().all(|row| row.verdict.is_valid())
    }
}

impl Session {
    /// A session with the usual bounds.
    pub fn new(target: Target, workload: Workload, levels: Vec<Level>) -> Self {
        Self {
            target,
            workload,
            levels,
            limits: ClientLimits::default(),
            goals: Goals::default(),
            bounds: Bounds::default(),
            allows_cache: false,
            folder: None,
        }
    }

    /// Runs all of it, and judges each row.
    ///
    /// # Errors
    ///
    /// If the target's name does not resolve, or records cannot be written. A server that fails is no
    /// error: its rows are refused.
    pub fn run(&self) -> Result<Report, SessionError> {
        let sentinel = self.levels.first().ok_or(SessionError::NoLevel)?;
        let temporary;
        let folder = match &self.folder {
            Some(folder) => folder.as_path(),
            None => {
                temporary = tempfile::tempdir().map_err(folder_error(&std::env::temp_dir()))?;
                temporary.path()
            }
        };
        fs::create_dir_all(folder).map_err(folder_error(folder))?;
        let mut order: Vec<usize> = (0..self.levels.len()).collect();
        SplitMix64::new(self.workload.seed).shuffle(&mut order);
        let mut number = 0..;
        let mut run = |level: &Level, name: String| {
            let number = number.next().unwrap_or(0);
            self.level(level, number * NUMBERS, &folder.join(format!("{number}-{name}.load")))
        };
        let has_sentinels = self.levels.len() > 1;
        let mut sentinels = Vec::new();
        if has_sentinels {
            sentinels.push(run(sentinel, "sentinel".to_owned())?);
        }
        let mut rows: Vec<(usize, Row)> = Vec::new();
        for place in &order {
            rows.push((*place, run(&self.levels[*place], format!("level-{place}"))?));
        }
        if has_sentinels {
            sentinels.push(run(sentinel, "sentinel".to_owned())?);
        }
        rows.sort_by_key(|(place, _)| *place);
        let probe = self.look_for_cache()?;
        let change = order_effect(&sentinels);
        let mut rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        for row in rows.iter_mut().chain(&mut sentinels) {
            row.verdict = judge(&row.figures, &row.client, probe.as_ref(), change, &self.bounds);
        }
        let target = self.target.to_string();
        Ok(Report { target, seed: self.workload.seed, rows, order, sentinels, probe })
    }

    /// Drives its first level once, for whoever repeats it: the window of this number, whose prompts no other
    /// number has. The row is judged by itself, by what a probe has found, and by the median latency of the
    /// `first` window where this is the last one.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    pub fn window(
        &self,
        number: u32,
        probe: Option<&CacheProbe>,
        first: Option<Percentile>,
    ) -> Result<Row, SessionError> {
        let level = self.levels.first().ok_or(SessionError::NoLevel)?;
        let temporary;
        let folder = match &self.folder {
            Some(folder) => folder.as_path(),
            None => {
                temporary = tempfile::tempdir().map_err(folder_error(&std::env::temp_dir()))?;
                temporary.path()
            }
        };
        fs::create_dir_all(folder).map_err(folder_error(folder))?;
        let name = level.load.name().replace(['/', ' '], "-");
        let file = folder.join(format!("{name}-{number}-{}.load", std::process::id()));
        let mut row = self.level(level, u64::from(number) * NUMBERS, &file)?;
        let change = first.zip(row.figures.latency.at(0.5)).and_then(|(first, last)| moved(first, last));
        row.verdict = judge(&row.figures, &row.client, probe, change, &self.bounds);
        Ok(row)
    }

    /// Looks for a cache, unless one is allowed or there are no prompts.
    ///
    /// # Errors
    ///
    /// If the target's name does not resolve.
    pub fn look_for_cache(&self) -> Result<Option<CacheProbe>, SessionError> {
        let is_probed = !self.allows_cache && self.target.api != Api::Plain;
        is_probed.then(|| self.probe()).transpose()
    }

    /// Drives a level, and reads its records.
    fn level(&self, level: &Level, first: u64, file: &Path) -> Result<Row, SessionError> {
        let (client, begin) = drive(&self.target, &self.workload, level, &self.limits, first, file)?;
        let end = begin.after(level.length);
        let mut gathering = Gathering::new(self.goals, level.length);
        let limits = self.parse_limits();
        let mut last = begin;
        for exchange in Records::open(file)? {
            let exchange = exchange?;
            last = last.max(exchange.end);
            let is_within = (begin..=end).contains(&exchange.end);
            let is_due = exchange.class == Class::Measured;
            if !is_within && !is_due {
                continue;
            }
            let answer = Answer::read(&exchange, &limits);
            if is_within {
                gathering.take_within(&answer);
            }
            if is_due {
                gathering.take_due(&answer);
            }
        }
        // After so many requests nothing more was asked: the rest of the time is of no rate.
        if level.requests.is_some() && last < end {
            gathering.shorten(Duration::from_nanos(last.since(begin)));
        }
        let verdict = Verdict::Valid; // judged at the end of the session
        Ok(Row { name: level.load.name(), figures: gathering.finish(), client, verdict })
    }

    fn parse_limits(&self) -> ParseLimits {
        ParseLimits {
            is_protocol: self.target.api.is_protocol(),
            is_stream: self.workload.stream,
            may_end_early: self.workload.may_end_early,
            line: LINE,
        }
    }

    /// Asks new prompts, and each once more.
    fn probe(&self) -> Result<CacheProbe, SessionError> {
        let found = RequestHead::find(&self.target, self.workload.stream);
        let head =
            found.map_err(DriveError::Target)?.ok_or_else(|| DriveError::Head(self.target.to_string()))?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DriveError::Thread)?;
        let mut connection = Connection::default();
        let (mut probe, mut failed) = (CacheProbe::default(), 0);
        // The first pair warms up.
        for number in 0..=PAIRS as u64 {
            let tokens = self.workload.tokens.map(|tokens| tokens.min(PROBE_TOKENS));
            let ask = Ask { number: u64::MAX - number, words: self.workload.words, tokens };
            let mut times = Vec::new();
            for _ in 0..2 {
                let time = runtime.block_on(self.time_of(&mut connection, &head, ask));
                times.extend(time);
            }
            failed += 2 - times.len();
            if failed > MOST_FAILED {
                break; // each may take as long as a request may
            }
            if let [new, again] = times[..]
                && number > 0
            {
                probe.pairs.push((new, again));
            }
        }
        Ok(probe)
    }

    /// The time to the first token of one request, from the moment it was sent; to the first bytes where
    /// there is no stream.
    async fn time_of(&self, connection: &mut Connection, head: &RequestHead, ask: Ask) -> Option<u64> {
        let mut exchange = Exchange::begin(ask, Class::Probe, Stamp::now());
        let limits = self.limits.of_exchange(1);
        connection.exchange(head, self.workload.body(&self.target, ask), limits, &mut exchange).await;
        exchange.due = exchange.sent?;
        let answer = Answer::read(&exchange, &self.parse_limits());
        // An answer that is short is slow enough to be compared.
        let is_answered = answer.failure.is_none_or(Failure::is_cut);
        answer.first_token.or(answer.first_byte).filter(|_| is_answered)
    }
}

fn folder_error(path: &Path) -> impl Fn(io::Error) -> SessionError + '_ {
    |error| SessionError::Folder { path: path.to_owned(), error }
}

/// The change of the median latency from the first sentinel to the last, where their intervals lie apart.
fn order_effect(sentinels: &[Row]) -> Option<f64> {
    let [first, last] = sentinels else { return None };
    moved(first.figures.latency.at(0.5)?, last.figures.latency.at(0.5)?)
}

/// The change from one percentile to another, where their intervals lie apart.
fn moved(first: Percentile, last: Percentile) -> Option<f64> {
    let are_apart = first.high < last.low || last.high < first.low;
    are_apart.then(|| last.value as f64 / first.value as f64 - 1.0)
}
