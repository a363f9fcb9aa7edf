//! Answers of the mock server.

use std::io;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::behaviour::{Behaviour, MockFault, MockUsage};
use super::http::MockRequest;
use super::state::{Served, SharedState};
use crate::clock::Stamp;

/// An endless line ends here after all, should nobody hang up.
const ENDLESS: usize = 1 << 30;

/// Answers a request, and tells whether the connection goes on.
pub(super) async fn reply(
    socket: &mut TcpStream,
    request: &MockRequest,
    state: &SharedState,
) -> io::Result<bool> {
    let received = Stamp::now();
    let (behaviour, fault, is_cached, begin) = {
        let mut state = state.borrow_mut();
        state.requests += 1;
        let begin = *state.first.get_or_insert(received);
        let nth = state.requests;
        let fault = state.behaviour.fault.filter(|(_, every)| nth.is_multiple_of(*every));
        let has_cache = state.behaviour.has_cache;
        let is_cached = has_cache && !state.seen.insert(request.prompt.clone());
        let mut behaviour = state.behaviour.clone();
        behaviour.first += behaviour.slower * u32::try_from(nth).unwrap_or(u32::MAX);
        if behaviour.one_at_a_time {
            let begin = state.free.max(received);
            state.free = begin.after(behaviour.first);
            behaviour.first = Duration::from_nanos(state.free.since(received));
        }
        (behaviour, fault.map(|(fault, _)| fault), is_cached, begin)
    };
    if let Some(fault) = fault
        && let Some(goes_on) = fail(socket, fault).await?
    {
        return Ok(goes_on);
    }
    let mut reply =
        Reply { socket, request, behaviour: &behaviour, fault, is_cached, begin, writes: Vec::new() };
    let goes_on = match () {
        () if !request.is_protocol => reply.plain().await?,
        () if request.is_stream => reply.stream().await?,
        () => reply.whole().await?,
    };
    let served = Served { prompt: request.prompt.clone(), received, writes: reply.writes };
    if behaviour.is_noted {
        state.borrow().served.lock().unwrap_or_else(PoisonError::into_inner).push(served);
    }
    Ok(goes_on)
}

/// Faults that stand in the place of an answer.
async fn fail(socket: &mut TcpStream, fault: MockFault) -> io::Result<Option<bool>> {
    let status = |line: &str, head: &str| {
        format!("HTTP/1.1 {line}\r\ncontent-type: application/json\r\n{head}content-length: 2\r\n\r\n{{}}")
    };
    let text = match fault {
        MockFault::Limited { says_when } => {
            status("429 Too Many Requests", if says_when { "retry-after: 1\r\n" } else { "" })
        }
        MockFault::Status(code) => status(&format!("{code} Status"), ""),
        MockFault::Redirect => status("307 Temporary Redirect", "location: http://192.0.2.1/\r\n"),
        MockFault::WrongType => {
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\n<p>x".to_owned()
        }
        MockFault::NotHttp => "hello, this is no HTTP\r\n\r\n".to_owned(),
        MockFault::ClosesAtOnce => return Ok(Some(false)),
        MockFault::Hangs => {
            std::future::pending::<()>().await;
            return Ok(Some(false));
        }
        _ => return Ok(None),
    };
    socket.write_all(text.as_bytes()).await?;
    Ok(Some(fault != MockFault::NotHttp))
}

struct Reply<'a> {
    socket: &'a mut TcpStream,
    request: &'a MockRequest,
    behaviour: &'a Behaviour,
    fault: Option<MockFault>,
    is_cached: bool,
    /// The moment that a stall counts from.
    begin: Stamp,
    writes: Vec<Stamp>,
}

impl Reply<'_> {
    async fn plain(&mut self) -> io::Result<bool> {
        self.wait(self.behaviour.first).await;
        self.writes.push(Stamp::now());
        self.socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await?;
        Ok(true)
    }

    async fn whole(&mut self) -> io::Result<bool> {
        let tokens = self.tokens();
        self.wait(self.behaviour.first + self.behaviour.between * tokens.saturating_sub(1)).await;
        let text = self.text(0).repeat(tokens as usize);
        let message = if self.request.is_chat {
            format!("\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}}")
        } else {
            format!("\"text\":\"{text}\"")
        };
        let usage = self.usage(tokens).map_or_else(String::new, |usage| format!(",\"usage\":{usage}"));
        let body = format!("{{\"choices\":[{{\"index\":0,{message},\"finish_reason\":\"length\"}}]{usage}}}");
        let body = self.labelled(&body, "chat.completion");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        self.writes.push(Stamp::now());
        let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
        self.socket.write_all(text.as_bytes()).await?;
        Ok(true)
    }

    async fn stream(&mut self) -> io::Result<bool> {
        let mut first = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                         transfer-encoding: chunked\r\n\r\n"
            .to_owned();
        let mut early = String::new();
        if self.behaviour.has_role && self.request.is_chat {
            early += &self
                .event("{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}");
        }
        if self.behaviour.has_ping {
            let end = self.behaviour.line_end.text();
            early += &format!(": ping{end}{end}");
        }
        first += &chunk(&early);
        let is_at_once = self.behaviour.first.is_zero() && self.behaviour.stall.is_none();
        if !is_at_once {
            self.socket.write_all(first.as_bytes()).await?;
            first.clear();
        }
        if self.fault == Some(MockFault::EndlessLine) {
            return self.endless(&first).await;
        }
        self.wait(self.behaviour.first).await;
        let closes = if let Some(MockFault::Closes(after)) = self.fault { after } else { u32::MAX };
        let tokens = self.tokens();
        let per_write = self.behaviour.per_write.max(1);
        let mut said = 0;
        while said < tokens.min(closes) {
            if said > 0 {
                self.wait(self.behaviour.between * per_write).await;
            }
            let some = per_write.min(tokens.min(closes) - said);
            let events: String = (said..said + some).map(|place| self.token(place)).collect();
            said += some;
            self.write(std::mem::take(&mut first), &events).await?;
        }
        if said < tokens {
            return Ok(false);
        }
        self.end(first, tokens).await?;
        Ok(true)
    }

    /// The events behind the last token.
    async fn end(&mut self, first: String, tokens: u32) -> io::Result<()> {
        let mut events = String::new();
        match self.fault {
            Some(MockFault::BadJson) => events += &self.event("{\"choices\": nonsense"),
            Some(MockFault::TellsError) => events += &self.event("{\"error\":{\"message\":\"no memory\"}}"),
            _ => {}
        }
        let delta = if self.request.is_chat { "\"delta\":{}" } else { "\"text\":\"\"" };
        events +=
            &self.event(&format!("{{\"choices\":[{{\"index\":0,{delta},\"finish_reason\":\"length\"}}]}}"));
        if let Some(usage) = self.usage(tokens) {
            events += &self.event(&format!("{{\"choices\":[],\"usage\":{usage}}}"));
        }
        if self.fault != Some(MockFault::NoDone) {
            events += &self.event("[DONE]");
        }
        let text = first + &chunk(&events) + "0\r\n\r\n";
        self.socket.write_all(text.as_bytes()).await
    }

    /// Writes events with tokens, and notes the moment before.
    async fn write(&mut self, first: String, events: &str) -> io::Result<()> {
        if self.behaviour.cuts_characters {
            return self.write_cut(first, events.as_bytes()).await;
        }
        let text = first + &chunk(events);
        self.writes.push(Stamp::now());
        self.socket.write_all(text.as_bytes()).await
    }

    /// The same in two segments, the first of which ends within a character.
    async fn write_cut(&mut self, first: String, events: &[u8]) -> io::Result<()> {
        let within = events.iter().position(|byte| *byte >= 0x80).map_or(0, |at| at + 1);
        let (before, after) = events.split_at(within);
        for (place, part) in [before, after].into_iter().enumerate() {
            let mut bytes = if place == 0 { first.clone().into_bytes() } else { Vec::new() };
            bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(b"\r\n");
            self.socket.write_all(&bytes).await?;
            // The reader is to see the first part alone.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.writes.push(Stamp::now());
        Ok(())
    }

    async fn endless(&mut self, first: &str) -> io::Result<bool> {
        self.socket.write_all(first.as_bytes()).await?;
        self.socket.write_all(chunk("data: ").as_bytes()).await?;
        let part = chunk(&"x".repeat(1 << 16));
        for _ in 0..ENDLESS >> 16 {
            self.socket.write_all(part.as_bytes()).await?;
        }
        Ok(false)
    }

    fn tokens(&self) -> u32 {
        match self.fault {
            Some(MockFault::Short(by)) => self.request.tokens.saturating_sub(by),
            Some(MockFault::NoContent) => 0,
            _ => self.request.tokens,
        }
    }

    /// The text of a token.
    fn text(&self, place: u32) -> String {
        if self.behaviour.cuts_characters { "\u{e9}".to_owned() } else { format!(" w{}", place % 10) }
    }

    fn token(&self, place: u32) -> String {
        let text = self.text(place);
        let part = match () {
            () if !self.request.is_chat => format!("\"text\":\"{text}\""),
            () if place < self.behaviour.reasoning => {
                format!("\"delta\":{{\"reasoning_content\":\"{text}\"}}")
            }
            () => format!("\"delta\":{{\"content\":\"{text}\"}}"),
        };
        self.event(&format!("{{\"choices\":[{{\"index\":0,{part},\"finish_reason\":null}}]}}"))
    }

    /// An answer or a part of one, with the fields that say so.
    fn labelled(&self, data: &str, kind: &str) -> String {
        let Some(rest) = data.strip_prefix("{\"choices\"").filter(|_| self.behaviour.is_labelled) else {
            return data.to_owned();
        };
        let object = if self.request.is_chat { kind } else { "text_completion" };
        format!(
            "{{\"id\":\"mock\",\"object\":\"{object}\",\"created\":1,\"model\":\"mock\",\"choices\"{rest}"
        )
    }

    fn event(&self, data: &str) -> String {
        let data = self.labelled(data, "chat.completion.chunk");
        let end = self.behaviour.line_end.text();
        let blank = if self.behaviour.has_blank { " " } else { "" };
        format!("data:{blank}{data}{end}{end}")
    }

    fn usage(&self, tokens: u32) -> Option<String> {
        let (completion, cached) = match self.behaviour.usage {
            MockUsage::Right => (tokens, 0),
            MockUsage::TenTimes => (tokens * 10, 0),
            MockUsage::One => (1, 0),
            MockUsage::Cached => (tokens, 90),
            MockUsage::Absent => return None,
        };
        Some(format!(
            "{{\"prompt_tokens\":100,\"completion_tokens\":{completion},\
             \"prompt_tokens_details\":{{\"cached_tokens\":{cached}}}}}"
        ))
    }

    /// Waits, unless the answer is cached; and until a stall is over.
    async fn wait(&self, time: Duration) {
        if !time.is_zero() && !self.is_cached {
            tokio::time::sleep(time).await;
        }
        let Some(stall) = self.behaviour.stall else { return };
        let (from, to) = (self.begin.after(stall.after), self.begin.after(stall.after + stall.length));
        let now = Stamp::now();
        if (from..to).contains(&now) {
            tokio::time::sleep(Duration::from_nanos(to.since(now))).await;
        }
    }
}

/// A part of a body whose length is not known. None for no bytes: that would be its end.
fn chunk(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{:x}\r\n{text}\r\n", text.len()) }
}
