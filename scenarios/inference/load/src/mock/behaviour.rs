//! What the mock server does, and what it does wrong.

use std::time::Duration;

/// The server's counts of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MockUsage {
    /// As they are.
    Right,
    /// Ten times as many as there are.
    TenTimes,
    /// One for all.
    One,
    /// None at all.
    Absent,
    /// As they are, and nine tenths of the prompt came from a cache.
    Cached,
}

/// A fault of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MockFault {
    /// So many tokens fewer than were asked for.
    Short(u32),
    /// No `[DONE]`.
    NoDone,
    /// The connection ends after so many tokens.
    Closes(u32),
    /// A line without an end.
    EndlessLine,
    /// An event that is no JSON.
    BadJson,
    /// An event that tells an error.
    TellsError,
    /// A role and nothing more.
    NoContent,
    /// 429, with a `Retry-After` or without.
    Limited {
        /// It is there.
        says_when: bool,
    },
    /// This status.
    Status(u16),
    /// 307, to a place that must not be contacted.
    Redirect,
    /// Text that calls itself HTML.
    WrongType,
    /// Nothing, ever.
    Hangs,
    /// An answer that is not HTTP.
    NotHttp,
    /// The connection ends before the first byte of the answer.
    ClosesAtOnce,
}

/// The ends of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// LF.
    Lf,
    /// CR and LF.
    CrLf,
    /// CR.
    Cr,
}

impl LineEnd {
    pub(super) fn text(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
            LineEnd::Cr => "\r",
        }
    }
}

/// A time in which the server answers nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Its begin, counted from the first request.
    pub after: Duration,
    /// Its length.
    pub length: Duration,
}

/// The behaviour of a server. [`Behaviour::default`] is honest, and answers at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// From the request to the first token.
    pub first: Duration,
    /// From token to token.
    pub between: Duration,
    /// Requests wait for each other: the first token of one comes `first` after that of the one before.
    pub one_at_a_time: bool,
    /// The time that each request waits longer than the one before: a server that gets slower.
    pub slower: Duration,
    /// Events in one write.
    pub per_write: u32,
    /// A stall.
    pub stall: Option<Stall>,
    /// Prompts that it has seen are answered at once.
    pub has_cache: bool,
    /// Events and answers have the fields `id`, `object`, `created` and `model`, which a few clients ask for.
    pub is_labelled: bool,
    /// The answer begins with a role, before the first token.
    pub has_role: bool,
    /// A comment comes before the first token.
    pub has_ping: bool,
    /// So many tokens are reasoning, before the others.
    pub reasoning: u32,
    /// Its counts.
    pub usage: MockUsage,
    /// The ends of lines.
    pub line_end: LineEnd,
    /// A blank follows `data:`.
    pub has_blank: bool,
    /// Tokens are of two bytes, and each write ends between the two.
    pub cuts_characters: bool,
    /// A fault of every so many-th answer.
    pub fault: Option<(MockFault, u64)>,
    /// The server keeps what it knows of each request.
    pub is_noted: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            first: Duration::ZERO,
            between: Duration::ZERO,
            one_at_a_time: false,
            slower: Duration::ZERO,
            per_write: 1,
            stall: None,
            has_cache: false,
            is_labelled: false,
            has_role: true,
            has_ping: false,
            reasoning: 0,
            usage: MockUsage::Right,
            line_end: LineEnd::Lf,
            has_blank: true,
            cuts_characters: false,
            fault: None,
            is_noted: true,
        }
    }
}
