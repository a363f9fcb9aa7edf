//! Requests, as far as the mock server reads them.

use std::io;

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// A request.
#[derive(Debug)]
pub(super) struct MockRequest {
    /// The first word of the prompt; empty for a plain request.
    pub(super) prompt: String,
    /// The tokens that are asked for.
    pub(super) tokens: u32,
    /// As events.
    pub(super) is_stream: bool,
    /// A chat, and not a completion.
    pub(super) is_chat: bool,
    /// Of the protocol at all.
    pub(super) is_protocol: bool,
}

#[derive(Deserialize)]
struct MockBody {
    #[serde(default)]
    messages: Vec<MockMessage>,
    prompt: Option<String>,
    #[serde(alias = "max_completion_tokens")]
    max_tokens: Option<u32>,
    #[serde(default)]
    stream: bool,
}

#[derive(Deserialize)]
struct MockMessage {
    content: Value,
}

/// The bytes that are read at once.
const READ: usize = 16 << 10;

/// Reads a request; `None` at the end of the connection.
pub(super) async fn read(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<MockRequest>> {
    loop {
        if let Some((request, used)) = parse(buffer)? {
            buffer.drain(..used);
            return Ok(Some(request));
        }
        buffer.reserve(READ);
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// The request at the start of these bytes, with its length; `None` before it is whole.
fn parse(bytes: &[u8]) -> io::Result<Option<(MockRequest, usize)>> {
    let Some(head) = memmem::find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes[..head]);
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let length = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0);
    let end = head + 4 + length;
    let Some(body) = bytes.get(head + 4..end) else { return Ok(None) };
    if body.is_empty() {
        let plain = MockRequest {
            prompt: String::new(),
            tokens: 0,
            is_stream: false,
            is_chat: false,
            is_protocol: false,
        };
        return Ok(Some((plain, end)));
    }
    let body: MockBody = serde_json::from_slice(body).map_err(io::Error::other)?;
    let is_chat = body.prompt.is_none();
    // A few clients send parts in the place of a text.
    let text = |content: Value| match content {
        Value::String(text) => text,
        parts => parts.to_string(),
    };
    let prompt =
        body.prompt.or_else(|| body.messages.into_iter().next().map(|message| text(message.content)));
    let first = prompt.unwrap_or_default().split(' ').next().unwrap_or_default().to_owned();
    let request = MockRequest {
        prompt: first,
        tokens: body.max_tokens.unwrap_or(16),
        is_stream: body.stream,
        is_chat,
        is_protocol: true,
    };
    Ok(Some((request, end)))
}
