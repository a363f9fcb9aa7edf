//! An exchange as it is understood after the run: its tokens, its times from the due time, its faults.

use crate::events::{Events, StreamItem};
use crate::exchange::{Class, Exchange};
use crate::failure::Failure;
use crate::tokens::{Chunk, Usage};

/// The bounds and the form of what is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseLimits {
    /// The bytes are of the protocol; else any will do.
    pub is_protocol: bool,
    /// The answer is streamed.
    pub is_stream: bool,
    /// A model may say less than was asked for.
    pub may_end_early: bool,
    /// The most bytes of a line.
    pub line: usize,
}

/// An answer. Times are nanoseconds from the due time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The purpose of the request.
    pub class: Class,
    /// The first failure, if it failed.
    pub failure: Option<Failure>,
    /// The time until the answer was complete or had failed.
    pub latency: u64,
    /// The time until its first bytes.
    pub first_byte: Option<u64>,
    /// The time until its first token, of whatever kind.
    pub first_token: Option<u64>,
    /// The time until its last one.
    pub last_token: Option<u64>,
    /// The times between reads that brought tokens.
    pub gaps: Vec<u64>,
    /// Events with tokens.
    pub chunks: u64,
    /// Those of them that share a read with one before, and so its stamp.
    pub shared: u64,
    /// Events with reasoning.
    pub reasoning: u64,
    /// Events with calls of tools.
    pub tools: u64,
    /// Events with neither: roles, empty ones, counts.
    pub empty: u64,
    /// Comments.
    pub pings: u64,
    /// The bytes that the model made.
    pub made: u64,
    /// The server's counts.
    pub usage: Option<Usage>,
    /// Those counts cannot be true of the text.
    pub contradicts: bool,
    /// The nanoseconds by which the client was late.
    pub delay: u64,
}

impl Answer {
    /// An answer of which nothing is known but its latency.
    pub fn of_latency(latency: u64) -> Self {
        Answer {
            class: Class::Measured,
            failure: None,
            latency,
            first_byte: None,
            first_token: None,
            last_token: None,
            gaps: Vec::new(),
            chunks: 0,
            shared: 0,
            reasoning: 0,
            tools: 0,
            empty: 0,
            pings: 0,
            made: 0,
            usage: None,
            contradicts: false,
            delay: 0,
        }
    }

    /// Understands an exchange.
    pub fn read(exchange: &Exchange, limits: &ParseLimits) -> Answer {
        let from_due = |stamp: crate::clock::Stamp| stamp.since(exchange.due);
        let mut answer = Answer {
            class: exchange.class,
            failure: exchange.failure,
            first_byte: exchange.first_byte.map(from_due),
            delay: exchange.delay(),
            ..Answer::of_latency(from_due(exchange.end))
        };
        if !limits.is_protocol || exchange.status != 200 {
            return answer;
        }
        let fault = if limits.is_stream { answer.stream(exchange, limits) } else { answer.whole(exchange) };
        let fault = fault.or_else(|| answer.lack(exchange, limits));
        answer.failure = answer.failure.or(fault);
        answer.contradicts = answer.failure.is_none() && answer.is_contradicted(exchange);
        answer
    }

    /// Reads a stream; its fault, if it has one.
    fn stream(&mut self, exchange: &Exchange, limits: &ParseLimits) -> Option<Failure> {
        let (mut fault, mut is_done, mut last_read) = (None, false, None);
        for item in Events::new(&exchange.body, limits.line) {
            let (data, upto) = match item {
                StreamItem::Event { data, upto } => (data, upto),
                // Only the last word may lack its blank line.
                StreamItem::Unfinished { data } => {
                    is_done |= data.trim_ascii() == b"[DONE]";
                    continue;
                }
                StreamItem::Ping => {
                    self.pings += 1;
                    continue;
                }
                StreamItem::LineTooLong => {
                    fault = fault.or(Some(Failure::LineTooLong));
                    continue;
                }
            };
            if data.trim_ascii() == b"[DONE]" {
                is_done = true;
                continue;
            }
            match Chunk::parse(&data) {
                None => fault = fault.or(Some(Failure::BadJson)),
                Some(chunk) => {
                    fault = fault.or(chunk.is_error.then_some(Failure::ToldError));
                    self.count(&chunk);
                    if chunk.made() > 0 {
                        self.token(exchange, upto, &mut last_read);
                    }
                }
            }
        }
        fault.or((!is_done).then_some(Failure::NoDone))
    }

    /// Notes the time of an event with tokens, which ended at this offset.
    fn token(&mut self, exchange: &Exchange, upto: usize, last_read: &mut Option<usize>) {
        let Some((read, at)) = exchange.read_of(upto) else { return };
        let at = at.since(exchange.due);
        if *last_read == Some(read) {
            self.shared += 1;
        } else {
            self.gaps.extend(self.last_token.map(|before| at.saturating_sub(before)));
        }
        *last_read = Some(read);
        self.first_token.get_or_insert(at);
        self.last_token = Some(at);
    }

    fn count(&mut self, chunk: &Chunk) {
        let has = |bytes: usize| u64::from(bytes > 0);
        self.chunks += has(chunk.made());
        self.empty += 1 - has(chunk.made());
        self.reasoning += has(chunk.reasoning);
        self.tools += has(chunk.tools);
        self.made += chunk.made() as u64;
        // With running counts the last one is of the whole.
        self.usage = chunk.usage.or(self.usage);
    }

    /// Reads an answer that came as one; its fault, if it has one.
    fn whole(&mut self, exchange: &Exchange) -> Option<Failure> {
        let Some(chunk) = Chunk::parse(&exchange.body) else { return Some(Failure::BadJson) };
        self.count(&chunk);
        chunk.is_error.then_some(Failure::ToldError)
    }

    /// The fault of an answer that is complete by its form, and says too little.
    fn lack(&self, exchange: &Exchange, limits: &ParseLimits) -> Option<Failure> {
        if self.made == 0 {
            return Some(Failure::NoContent);
        }
        let asked = u64::from(exchange.ask.tokens.filter(|_| !limits.may_end_early)?);
        // Without the server's count: a token has a byte at least.
        let most = self.usage.map_or(self.made, |usage| usage.completion);
        (most < asked).then_some(Failure::Short)
    }

    /// Tells whether the server's counts cannot be true: more tokens than were asked for or than the text has
    /// bytes, fewer than there were events with text, or so few that each would have had over 64 bytes.
    fn is_contradicted(&self, exchange: &Exchange) -> bool {
        let Some(usage) = self.usage else { return false };
        let asked = exchange.ask.tokens.map_or(u64::MAX, u64::from);
        // A few special tokens have no text; a few servers cut a token's text in two.
        let (invisible, halves) = (4 + self.made / 50, 2 + self.chunks / 20);
        usage.completion > asked
            || usage.completion > self.made + invisible
            || usage.completion.saturating_add(halves) < self.chunks
            || usage.completion.saturating_mul(64) < self.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stamp;
    use crate::workload::Ask;

    const LIMITS: ParseLimits =
        ParseLimits { is_protocol: true, is_stream: true, may_end_early: false, line: 1000 };

    /// An answer whose parts came by reads of their own, at 100, 200, ... after the due time.
    fn answer(parts: &[&[u8]], tokens: Option<u32>) -> Answer {
        let mut exchange =
            Exchange::begin(Ask { number: 1, words: 1, tokens }, Class::Measured, Stamp(1_000));
        exchange.status = 200;
        for (place, part) in (1..).zip(parts) {
            exchange.take(part, Stamp(1_000 + 100 * place), true);
        }
        Answer::read(&exchange, &LIMITS)
    }

    fn delta(text: &str) -> String {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    }

    const ROLE: &str = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    const DONE: &str = "data: [DONE]\n\n";

    #[test]
    fn the_role_chunk_and_a_ping_are_not_the_first_token() {
        let found = answer(
            &[ROLE.as_bytes(), b": ping\n\n", delta("a").as_bytes(), delta("b").as_bytes(), DONE.as_bytes()],
            None,
        );
        assert_eq!((found.first_token, found.last_token, found.failure), (Some(300), Some(400), None));
        assert_eq!((found.chunks, found.empty, found.pings, &*found.gaps), (2, 1, 1, &[100][..]));
    }

    #[test]
    fn events_of_one_read_share_its_stamp_and_are_counted_as_sharing() {
        let two = delta("a") + &delta("b");
        let found = answer(&[two.as_bytes(), delta("c").as_bytes(), DONE.as_bytes()], None);
        assert_eq!((found.chunks, found.shared, &*found.gaps), (3, 1, &[100][..]));
    }

    #[test]
    fn a_character_cut_between_reads_is_whole_and_its_event_has_the_later_stamp() {
        let text = delta("\u{e9}");
        let cut = text.find('\u{e9}').unwrap() + 1;
        let found = answer(&[&text.as_bytes()[..cut], &text.as_bytes()[cut..], DONE.as_bytes()], None);
        assert_eq!((found.made, found.first_token, found.failure), (2, Some(200), None));
    }

    #[test]
    fn faults_of_a_stream_are_told_by_kind() {
        let check = |parts: &[&str], tokens, expected| {
            let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
            assert_eq!(answer(&parts, tokens).failure, Some(expected), "{expected:?}");
        };
        let text = delta("abc");
        check(&[&text], None, Failure::NoDone);
        check(&[&text, "data: {\"choi\n\n", DONE], None, Failure::BadJson);
        check(&[ROLE, DONE], None, Failure::NoContent);
        check(&[DONE], None, Failure::NoContent);
        check(&["data: {\"error\":{\"message\":\"x\"}}\n\n", DONE], None, Failure::ToldError);
        check(&[&text, DONE], Some(4), Failure::Short);
        check(&[&"x".repeat(2000)], None, Failure::LineTooLong);
    }

    #[test]
    fn counts_that_cannot_be_true_of_the_text_contradict_it() {
        let check = |completion: u64, asked, expected| {
            let usage =
                format!("data: {{\"choices\":[],\"usage\":{{\"completion_tokens\":{completion}}}}}\n\n");
            let text = delta("abcde").repeat(10);
            let found = answer(&[text.as_bytes(), usage.as_bytes(), DONE.as_bytes()], asked);
            assert_eq!(found.contradicts, expected, "{completion} {asked:?}");
        };
        check(10, Some(10), false);
        check(12, None, false);
        check(12, Some(10), true); // more than asked
        check(56, None, true); // more than bytes
        check(7, None, true); // fewer than events
        check(0, None, true);
        check(u64::MAX, None, true);
    }

    #[test]
    fn a_cut_answer_has_the_kind_that_the_wire_saw() {
        let mut exchange =
            Exchange::begin(Ask { number: 1, words: 1, tokens: None }, Class::Measured, Stamp(0));
        exchange.status = 200;
        exchange.failure = Some(Failure::Closed);
        exchange.take(delta("a").as_bytes(), Stamp(5), true);
        assert_eq!(Answer::read(&exchange, &LIMITS).failure, Some(Failure::Closed));
    }
}
