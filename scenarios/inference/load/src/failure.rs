//! The ways in which a request fails. Each is counted by its kind.

/// One way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// The server refused the connection.
    Refused,
    /// No connection came about for another reason than that.
    Unreachable,
    /// The client ran out of sockets or of file descriptors.
    NoSocket,
    /// The answer was not complete within the time limit.
    Hung,
    /// The server closed the connection before the answer was complete.
    Closed,
    /// The answer is not HTTP/1.1.
    NotHttp,
    /// 429, with the time after which the server wants to be asked again.
    Limited,
    /// 429 without that time.
    LimitedForUnknownTime,
    /// Another status from 400 to 499.
    ClientError,
    /// A status from 500.
    ServerError,
    /// A status from 300 to 399: nothing is contacted that the user did not name.
    Redirect,
    /// Another status than 200.
    OtherStatus,
    /// A stream that does not say `text/event-stream`, or an answer that does not say JSON.
    WrongType,
    /// The answer has more bytes than the limit.
    TooLong,
    /// A line of the stream has more bytes than the limit.
    LineTooLong,
    /// An event or an answer is not JSON of the protocol.
    BadJson,
    /// The server told an error within the answer.
    ToldError,
    /// The answer has no content.
    NoContent,
    /// The stream ended without `[DONE]`.
    NoDone,
    /// Fewer tokens came than were asked for.
    Short,
    /// The client never came to send it.
    NeverSent,
    /// All answers underway together had more bytes than the client may keep.
    NoMemory,
    /// No TLS came about: its certificate is not trusted, or it speaks none.
    NoTls,
    /// Another tool, whose results were read, says so.
    OtherTool,
}

impl Failure {
    /// All of them, in their order on disk.
    pub const ALL: [Failure; 24] = [
        Failure::Refused,
        Failure::Unreachable,
        Failure::NoSocket,
        Failure::Hung,
        Failure::Closed,
        Failure::NotHttp,
        Failure::Limited,
        Failure::LimitedForUnknownTime,
        Failure::ClientError,
        Failure::ServerError,
        Failure::Redirect,
        Failure::OtherStatus,
        Failure::WrongType,
        Failure::TooLong,
        Failure::LineTooLong,
        Failure::BadJson,
        Failure::ToldError,
        Failure::NoContent,
        Failure::NoDone,
        Failure::Short,
        Failure::NeverSent,
        Failure::NoMemory,
        Failure::NoTls,
        Failure::OtherTool,
    ];

    /// The words for it in a table.
    pub fn name(self) -> &'static str {
        match self {
            Failure::Refused => "connection refused",
            Failure::Unreachable => "unreachable",
            Failure::NoSocket => "no socket left",
            Failure::Hung => "timed out",
            Failure::Closed => "closed in mid-answer",
            Failure::NotHttp => "not HTTP",
            Failure::Limited => "429 with Retry-After",
            Failure::LimitedForUnknownTime => "429 without Retry-After",
            Failure::ClientError => "status 4xx",
            Failure::ServerError => "status 5xx",
            Failure::Redirect => "redirect, not followed",
            Failure::OtherStatus => "status not 200",
            Failure::WrongType => "wrong content type",
            Failure::TooLong => "answer too long",
            Failure::LineTooLong => "line too long",
            Failure::BadJson => "bad JSON",
            Failure::ToldError => "error in the answer",
            Failure::NoContent => "no content",
            Failure::NoDone => "no [DONE]",
            Failure::Short => "shorter than asked",
            Failure::NeverSent => "never sent",
            Failure::NoMemory => "no memory left for it",
            Failure::NoTls => "no TLS: not trusted, or none spoken",
            Failure::OtherTool => "failed, as the other tool says",
        }
    }

    /// Tells whether the answer began well and was cut, or is shorter than asked: it would count as a fast
    /// one.
    pub fn is_cut(self) -> bool {
        matches!(self, Failure::Closed | Failure::NoContent | Failure::NoDone | Failure::Short)
    }

    /// Tells whether the client is to blame.
    pub fn is_of_client(self) -> bool {
        matches!(self, Failure::NoSocket | Failure::NeverSent | Failure::NoMemory)
    }

    /// The kind of a status; `None` for 200.
    pub(crate) fn of_status(status: u16, says_retry_after: bool) -> Option<Failure> {
        match status {
            200 => None,
            429 if says_retry_after => Some(Failure::Limited),
            429 => Some(Failure::LimitedForUnknownTime),
            300..=399 => Some(Failure::Redirect),
            400..=499 => Some(Failure::ClientError),
            500.. => Some(Failure::ServerError),
            _ => Some(Failure::OtherStatus),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_words_of_its_own() {
        let mut names: Vec<&str> = Failure::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Failure::ALL.len());
        assert!(Failure::ALL.iter().enumerate().all(|(place, kind)| *kind as usize == place));
    }

    #[test]
    fn a_status_is_told_by_its_class_and_429_by_its_retry_after() {
        assert_eq!(Failure::of_status(200, false), None);
        assert_eq!(Failure::of_status(429, true), Some(Failure::Limited));
        assert_eq!(Failure::of_status(429, false), Some(Failure::LimitedForUnknownTime));
        assert_eq!(Failure::of_status(503, false), Some(Failure::ServerError));
        assert_eq!(Failure::of_status(302, false), Some(Failure::Redirect));
        assert_eq!(Failure::of_status(204, false), Some(Failure::OtherStatus));
    }
}
