//! One event of the protocol: which parts of it are content, and what the server counts.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The tokens that a server says it has taken and made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the prompt.
    pub prompt: u64,
    /// Of the answer.
    pub completion: u64,
    /// Those of the prompt that came from a cache, if it says so.
    pub cached: u64,
}

/// An event, or an answer that is not streamed. Lengths are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Content.
    pub content: usize,
    /// Reasoning before the content.
    pub reasoning: usize,
    /// Calls of tools.
    pub tools: usize,
    /// It has a role.
    pub has_role: bool,
    /// It ends the answer.
    pub is_last: bool,
    /// It tells an error.
    pub is_error: bool,
    /// The server's counts.
    pub usage: Option<Usage>,
}

impl Chunk {
    /// Reads an event; `None` if it is not JSON of the protocol.
    pub fn parse(data: &[u8]) -> Option<Chunk> {
        let parsed: WireChunk<'_> = serde_json::from_slice(data).ok()?;
        if parsed.choices.is_none() && parsed.usage.is_none() && parsed.error.is_none() {
            return None;
        }
        let mut chunk = Chunk {
            is_error: parsed.error.is_some(),
            usage: parsed.usage.map(Usage::from),
            ..Chunk::default()
        };
        parsed.choices.iter().flatten().for_each(|choice| chunk.add(choice));
        Some(chunk)
    }

    fn add(&mut self, choice: &WireChoice<'_>) {
        self.is_last |= choice.finish_reason.is_some();
        self.content += length(choice.text.as_ref());
        for message in choice.delta.iter().chain(&choice.message) {
            self.has_role |= message.role.is_some();
            self.content += length(message.content.as_ref()) + length(message.refusal.as_ref());
            self.reasoning += length(message.reasoning_content.as_ref()) + length(message.reasoning.as_ref());
            let functions = message.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref());
            self.tools += functions
                .map(|function| length(function.name.as_ref()) + length(function.arguments.as_ref()))
                .sum::<usize>();
        }
    }

    /// The bytes that the model made, of any kind.
    pub fn made(&self) -> usize {
        self.content + self.reasoning + self.tools
    }
}

fn length(text: Option<&Cow<'_, str>>) -> usize {
    text.map_or(0, |text| text.len())
}

/// Only what is looked at; servers add much.
#[derive(Deserialize)]
struct WireChunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<WireChoice<'a>>>,
    usage: Option<WireUsage>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WireChoice<'a> {
    #[serde(borrow)]
    delta: Option<WireMessage<'a>>,
    #[serde(borrow)]
    message: Option<WireMessage<'a>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    finish_reason: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    role: Option<IgnoredAny>,
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reasoning: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<WireCall<'a>>>,
}

#[derive(Deserialize)]
struct WireCall<'a> {
    #[serde(borrow)]
    function: Option<WireFunction<'a>>,
}

#[derive(Deserialize)]
struct WireFunction<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<WireDetails>,
}

#[derive(Deserialize)]
struct WireDetails {
    cached_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Self { prompt: usage.prompt_tokens, completion: usage.completion_tokens, cached: cached.unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, content: usize, reasoning: usize, tools: usize) {
        let chunk = Chunk::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((chunk.content, chunk.reasoning, chunk.tools), (content, reasoning, tools), "{text}");
    }

    #[test]
    fn a_role_an_empty_delta_and_a_usage_are_no_content() {
        check(r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, 0, 0, 0);
        check(r#"{"choices":[{"delta":{"role":"assistant","content":null}}]}"#, 0, 0, 0);
        check(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, 0, 0, 0);
        check(r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#, 0, 0, 0);
    }

    #[test]
    fn content_reasoning_and_calls_are_counted_apart() {
        check(r#"{"choices":[{"delta":{"content":"h\u00e9"}}]}"#, 3, 0, 0);
        check(r#"{"choices":[{"delta":{"reasoning_content":"ab"}}]}"#, 0, 2, 0);
        check(r#"{"choices":[{"delta":{"reasoning":"ab"}}]}"#, 0, 2, 0);
        check(
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}"#,
            0,
            0,
            3,
        );
        check(r#"{"choices":[{"text":"abc"}]}"#, 3, 0, 0);
        check(
            r#"{"choices":[{"message":{"role":"assistant","content":"abcd"},"finish_reason":"length"}]}"#,
            4,
            0,
            0,
        );
    }

    #[test]
    fn a_usage_tells_prompt_answer_and_cached_tokens() {
        let text = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,
                      "prompt_tokens_details":{"cached_tokens":8}}}"#;
        let usage = Chunk::parse(text.as_bytes()).unwrap().usage;
        assert_eq!(usage, Some(Usage { prompt: 10, completion: 2, cached: 8 }));
    }

    #[test]
    fn an_error_is_one_and_what_is_no_json_of_the_protocol_is_none() {
        assert!(Chunk::parse(br#"{"error":{"message":"no memory"}}"#).unwrap().is_error);
        for text in
            ["", "{", "[]", "{}", "1", "null", r#"{"choices":3}"#, "{\"choices\":[{\"text\":\"\u{1}\"}]}"]
        {
            assert_eq!(Chunk::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Chunk::parse(b"{\"choices\":[{\"text\":\"\xff\"}]}"), None);
    }

    #[test]
    fn deep_json_that_nobody_looks_at_takes_no_stack_and_deep_content_is_no_content() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert!(Chunk::parse(format!("{{\"choices\":[],\"x\":{deep}}}").as_bytes()).is_some());
        assert_eq!(Chunk::parse(format!("{{\"choices\":{deep}}}").as_bytes()), None);
    }
}
