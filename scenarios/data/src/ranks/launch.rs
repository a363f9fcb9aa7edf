//! The processes of a launch that do one scenario together: rank 0 gives the orders and measures, and each of
//! the others does its share of the work as it is told.
//!
//! ```text
//! rank 0    opens its workers, and drives all: those of others over lines, one for each
//! rank 1    opens its own workers, and answers for them until rank 0 hangs up
//! ```
//!
//! So a scenario times and proves the same whether its workers are threads, processes of one machine, or of
//! several: what is far away looks like what is here.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weighbridge::{Bencher, Error, ErrorKind, Result, skip};

use super::line::{LineMessage, RankLine};

/// The place of a process among those that share the workers of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchPlace {
    /// The number of the first worker that is its own.
    pub first: usize,
    /// Workers that are its own.
    pub here: usize,
    /// An address of rank 0's machine, as it is reached from here, that was free a moment ago: the workers
    /// may meet there.
    pub meet: SocketAddr,
    /// The address by which others reach this machine.
    pub own: IpAddr,
}

/// The processes of a launch, as one of them has them.
#[derive(Debug)]
pub struct LaunchedRanks {
    rank: usize,
    ranks: usize,
    workers: usize,
    /// The address of rank 0, as it is reached from here, and of this process, as it is reached from there.
    first: IpAddr,
    own: IpAddr,
    /// For orders that are of a whole process: of rank 0 one to each other, of another one to rank 0.
    control: Vec<RankLine>,
    /// One for each worker that is not rank 0's: of another rank its own.
    lines: Vec<RankLine>,
}

/// Rank 0's order to open the workers of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenOrder {
    /// The things that the scenario sends along.
    pub with: Value,
    /// The share of this process.
    pub place: LaunchPlace,
}

/// The word of rank 0 to all.
#[derive(Serialize, Deserialize)]
struct MeetingWord {
    port: u16,
    token: u64,
}

/// The first thing that is said over a line.
#[derive(Serialize, Deserialize)]
struct LineHello {
    token: u64,
    rank: usize,
    /// 0 for the line of a process, and from 1 on for those of its workers.
    line: usize,
    host: String,
}

/// The time that rank 0 waits for lines, and for what others say of an opening that has failed here.
const PATIENCE: Duration = Duration::from_mins(1);
const SHORT_PATIENCE: Duration = Duration::from_secs(5);

impl LaunchedRanks {
    /// Meets the other processes of the launch, if there are any, to share so many workers. From here on rank
    /// 0 measures for all.
    ///
    /// # Errors
    /// A skip where the processes do not share the workers evenly; a process that does not come.
    pub fn meet(bencher: &Bencher, workers: usize) -> Result<Self> {
        let (rank, ranks) = (bencher.rank(), bencher.ranks());
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let first = bencher.first_rank_host().unwrap_or(loopback);
        let alone = Self { rank, ranks, workers, first, own: first, control: Vec::new(), lines: Vec::new() };
        if ranks == 1 {
            return Ok(alone);
        }
        if !workers.is_multiple_of(ranks) {
            return Err(skip(format!(
                "the {ranks} ranks of the launch do not share {workers} workers evenly"
            )));
        }
        let met = if rank == 0 { alone.hear(bencher) } else { alone.come(bencher) };
        bencher.led_by_first();
        met
    }

    /// Tells whether this process measures: it is alone, or rank 0.
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// Tells whether there is no other process.
    pub fn is_alone(&self) -> bool {
        self.ranks == 1
    }

    /// The number of this process in the launch.
    pub fn rank(&self) -> usize {
        self.rank
    }

    fn share(&self) -> usize {
        self.workers / self.ranks
    }

    /// Rank 0: lets the others come.
    fn hear(mut self, bencher: &Bencher) -> Result<Self> {
        let failed = |error: io::Error| Error::new(format!("ranks cannot meet here: {error}"));
        let listener = TcpListener::bind((self.listens_at(), 0)).map_err(failed)?;
        let token = RandomState::new().hash_one(std::process::id());
        let word = MeetingWord { port: listener.local_addr().map_err(failed)?.port(), token };
        bencher.agree(&serde_json::to_string(&word).map_err(|error| Error::new(error.to_string()))?)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let each = 1 + self.share();
        let mut came: Vec<Option<RankLine>> = (0..(self.ranks - 1) * each).map(|_| None).collect();
        let begun = Instant::now();
        while let Some(missing) = came.iter().position(Option::is_none) {
            match listener.accept() {
                Ok((stream, _)) => {
                    let Some((hello, line)) = greeted(stream) else { continue };
                    if hello.token == token && (1..self.ranks).contains(&hello.rank) && hello.line < each {
                        came[(hello.rank - 1) * each + hello.line] = Some(line);
                    }
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(failed(error)),
                Err(_) if begun.elapsed() >= PATIENCE => {
                    let what = format!("rank {} did not come to share the work", missing / each + 1);
                    return Err(Error::of(ErrorKind::Ranks, what));
                }
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
        for (index, line) in came.into_iter().flatten().enumerate() {
            let reached = line.own_address().map_err(failed)?;
            // An address of a network rather than that of the machine's own loop.
            self.own = if self.own.is_loopback() || index == 0 { reached } else { self.own };
            if index % each == 0 { self.control.push(line) } else { self.lines.push(line) }
        }
        Ok(self)
    }

    /// Another rank: comes to rank 0.
    fn come(mut self, bencher: &Bencher) -> Result<Self> {
        let word = bencher.agree("")?;
        let MeetingWord { port, token } =
            serde_json::from_str(&word).map_err(|error| Error::of(ErrorKind::Ranks, error.to_string()))?;
        let failed = |error: io::Error| {
            Error::of(ErrorKind::Ranks, format!("rank 0 cannot be reached at port {port}: {error}"))
        };
        for line in 0..=self.share() {
            let stream = TcpStream::connect_timeout(&(self.first, port).into(), PATIENCE).map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            let mut own = RankLine::new(stream, "rank 0".to_owned());
            let hello = LineHello { token, rank: self.rank, line, host: host() };
            own.order("hello", &hello, &[])?;
            self.own = own.own_address().map_err(failed)?;
            if line == 0 { self.control.push(own) } else { self.lines.push(own) }
        }
        Ok(self)
    }

    /// Ranks of one machine alone need no other address than its loop.
    fn listens_at(&self) -> Ipv4Addr {
        if self.first.is_loopback() { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED }
    }

    /// Rank 0: has all others open their workers, and returns where its own are to meet them. `None` where it
    /// is alone.
    ///
    /// # Errors
    /// A process that is gone; no free port.
    pub fn order(&mut self, with: &Value) -> Result<Option<LaunchPlace>> {
        if self.is_alone() {
            return Ok(None);
        }
        let port = TcpListener::bind((self.listens_at(), 0)).and_then(|listener| listener.local_addr());
        let port = port.map_err(|error| Error::new(format!("there is no free port here: {error}")))?.port();
        for line in &mut self.control {
            line.order("open", (port, with), &[])?;
        }
        Ok(Some(self.place(port)))
    }

    fn place(&self, port: u16) -> LaunchPlace {
        let (here, own) = (self.share(), self.own);
        let meet = SocketAddr::new(if self.rank == 0 { own } else { self.first }, port);
        LaunchPlace { first: self.rank * here, here, meet, own }
    }

    /// Rank 0: its own workers, as they were opened, and those of all others behind them.
    ///
    /// # Errors
    /// What was declined; a process that could not open its workers, which is at fault before this one.
    pub fn join<T>(
        &mut self,
        own: Result<Vec<T>>,
        remote: impl Fn(RankLine, LineMessage) -> Result<T>,
    ) -> Result<Vec<T>> {
        if own.as_ref().is_err_and(Error::is_skip) {
            return own;
        }
        let mut fault = None;
        for line in &mut self.control {
            let patience = own.is_err().then_some(SHORT_PATIENCE);
            let _ = line.wait_at_most(patience);
            let answer = line.answer();
            let _ = line.wait_at_most(None);
            if let Err(error) = answer {
                fault.get_or_insert(error);
            }
        }
        let mut all = match (own, fault) {
            (Ok(all), None) => all,
            (Err(own), Some(fault)) if *fault.kind() == ErrorKind::Ranks => return Err(own),
            (Err(error), None) | (_, Some(error)) => return Err(error),
        };
        for line in &mut self.lines {
            let opened = line.ask("opened", (), &[])?;
            let again = line.again().map_err(|error| Error::new(error.to_string()))?;
            all.push(remote(again, opened)?);
        }
        Ok(all)
    }

    /// Another rank: waits for an order of rank 0; `None` once that needs no more.
    pub fn next_order(&mut self) -> Option<OpenOrder> {
        let asked = self.control.first_mut()?.asked()?;
        let (port, with) = asked.read().ok()?;
        Some(OpenOrder { with, place: self.place(port) })
    }

    /// Another rank: answers for the workers that it has opened, each in a thread, until rank 0 lets them go.
    /// `answer` is asked, by
    /// the worker's number among them, what it is (`opened`), and for whatever else rank 0 wants of it.
    pub fn serve<T: Send>(
        &mut self,
        opened: Result<Vec<T>>,
        answer: impl Fn(usize, &mut T, &LineMessage) -> Result<LineMessage> + Sync,
    ) {
        let due = self.lines.len();
        let opened = opened.and_then(|workers| match workers.len() == due {
            true => Ok(workers),
            false => {
                Err(Error::new(format!("{due} ranks were asked for, and {} were opened", workers.len())))
            }
        });
        let (workers, told) = match opened {
            Ok(workers) => (workers, Ok(LineMessage::default())),
            Err(error) => (Vec::new(), Err(error)),
        };
        let is_told = self.control.first_mut().is_some_and(|line| line.tell(told).is_ok());
        if !is_told {
            return;
        }
        let answer = &answer;
        thread::scope(|scope| {
            for (index, (mut worker, line)) in workers.into_iter().zip(&mut self.lines).enumerate() {
                scope.spawn(move || {
                    while let Some(asked) = line.asked() {
                        if asked.word == CLOSE {
                            drop(worker);
                            let _ = line.tell(Ok(LineMessage::default())); // who has hung up needs no answer
                            return;
                        }
                        if line.tell(answer(index, &mut worker, &asked)).is_err() {
                            return;
                        }
                    }
                });
            }
        });
    }
}

/// The last word over the line of a worker.
const CLOSE: &str = "close";

impl RankLine {
    /// Lets the worker at the other end go, and waits until it is gone.
    pub fn close(&mut self) {
        let _ = self.ask(CLOSE, (), &[]); // one that is gone is let go
    }
}

/// Somebody who has come, and says who it is.
fn greeted(stream: TcpStream) -> Option<(LineHello, RankLine)> {
    stream.set_nonblocking(false).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(SHORT_PATIENCE)).ok()?;
    let mut line = RankLine::new(stream, String::new());
    let hello: LineHello = line.asked()?.read().ok()?;
    line.wait_at_most(None).ok()?;
    let named = format!("rank {} ({})", hello.rank, hello.host);
    Some((hello, line.named(named)))
}

/// The name of this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned()
}
