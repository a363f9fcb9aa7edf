//! A load client for inference servers that speak the `OpenAI` protocol, and for plain HTTP ones.
//!
//! It promises two things. Every latency counts from the moment at which the request was *due*, time to first
//! token too. And a row that would mislead is refused: its [`Verdict`] is `Invalid`, with the reasons.
//!
//! ```no_run
//! use weighbridge_load::{Level, Load, Session, Target, Think, Workload, table};
//!
//! let target = Target::parse("http://127.0.0.1:8000", None)?;
//! let level = Level::of(Load::Closed { users: 8, think: Think::None });
//! let session = Session::new(target, Workload::fresh(), vec![level]);
//! print!("{}", table(&session.run()?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Data flows down this list, and imports point up it.
//!
//! | part | idea |
//! |---|---|
//! | `clock`, `failure` | stamps; the ways in which a request fails |
//! | `target`, `workload` | where requests go; what they ask |
//! | `arrivals`, `trace` | when they are due |
//! | `wire`, `tls`, `exchange`, `connection` | one request on one socket, stamped where `read` returned |
//! | `record`, `sink` | raw exchanges as they lie on disk; the thread that writes them |
//! | `pacer`, `slots`, `core`, `drive` | a thread that keeps the time; one runtime for each core; one level |
//! | `events`, `tokens`, `answer` | bytes to events to tokens, after the run |
//! | `percentile`, `figures`, `measures` | a row's figures; the same as metrics of a record |
//! | `probe`, `verdict` | a cache is looked for; the reasons to refuse a row |
//! | `search` | the highest rate that holds the goals |
//! | `session`, `table` | all levels, and their table |

mod answer;
mod arrivals;
mod clock;
mod connection;
mod core;
mod drive;
mod events;
mod exchange;
mod failure;
mod figures;
mod measures;
mod pacer;
mod percentile;
mod probe;
mod record;
mod search;
mod session;
mod sink;
mod slots;
mod table;
mod target;
mod tls;
mod tokens;
mod trace;
mod verdict;
mod wire;
mod workload;

#[cfg(feature = "mock")]
pub mod mock;

pub use answer::{Answer, ParseLimits};
pub use arrivals::{Arrival, Load, Shape, Stage, Think};
pub use clock::Stamp;
pub use drive::{ClientLimits, ClientState, DriveError, Level};
pub use events::{Events, StreamItem};
pub use exchange::{Class, Exchange, Read};
pub use failure::Failure;
pub use figures::{Figures, Goals, Times};
pub use measures::{Measure, Purpose, measures};
pub use percentile::{Percentile, percentile};
pub use probe::CacheProbe;
pub use record::{RecordError, Records};
pub use search::{FoundRate, RateSearch, RateTrial};
pub use session::{Report, Row, Session, SessionError};
pub use table::table;
pub use target::{Api, Key, Target, TargetError};
pub use tokens::{Chunk, Usage};
pub use trace::{TraceError, trace};
pub use verdict::{Bounds, Reason, Verdict};
pub use workload::{Ask, FieldError, RequestBodies, Workload};
