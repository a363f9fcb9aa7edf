//! A stream of events, read from its bytes by the rules of the WHATWG for `text/event-stream`.
//!
//! Lines end with CR, LF or both. Text is never cut into characters here, so that none can be cut in two.

use std::borrow::Cow;

use memchr::memchr2;

/// A part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamItem<'a> {
    /// An event with data.
    Event {
        /// Its data: several lines of it are joined by LF.
        data: Cow<'a, [u8]>,
        /// The offset behind the blank line that ended it.
        upto: usize,
    },
    /// A comment: servers send them to keep a connection alive.
    Ping,
    /// A line that is longer than the limit. Nothing comes after it.
    LineTooLong,
    /// Data at the end of the stream without the blank line that would have made it an event.
    Unfinished {
        /// The data.
        data: Cow<'a, [u8]>,
    },
}

/// The parts of a stream, one after another.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    bytes: &'a [u8],
    at: usize,
    longest: usize,
    data: Option<Cow<'a, [u8]>>,
    is_over: bool,
}

impl<'a> Events<'a> {
    /// Reads a stream whose lines have at most so many bytes.
    pub fn new(bytes: &'a [u8], longest: usize) -> Self {
        // A byte order mark at the very start is none of the first line.
        let at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { bytes, at, longest, data: None, is_over: false }
    }

    /// The next line without its end; `None` where the bytes end before one.
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let length = memchr2(b'\r', b'\n', rest)?;
        let is_both = rest[length] == b'\r' && rest.get(length + 1) == Some(&b'\n');
        self.at += length + if is_both { 2 } else { 1 };
        Some(&rest[..length])
    }

    /// Takes a line of a field.
    fn field(&mut self, line: &'a [u8]) {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        // One blank behind the colon is none of the value.
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if name != b"data" {
            return;
        }
        match &mut self.data {
            None => self.data = Some(Cow::Borrowed(value)),
            Some(data) => {
                let data = data.to_mut();
                data.push(b'\n');
                data.extend_from_slice(value);
            }
        }
    }

    /// The end of the stream, where its last line has none.
    fn end(&mut self) -> Option<StreamItem<'a>> {
        self.is_over = true;
        let rest = &self.bytes[self.at..];
        if rest.len() > self.longest {
            return Some(StreamItem::LineTooLong);
        }
        self.field(rest);
        self.data.take().map(|data| StreamItem::Unfinished { data })
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = StreamItem<'a>;

    fn next(&mut self) -> Option<StreamItem<'a>> {
        while !self.is_over {
            let Some(line) = self.line() else { return self.end() };
            if line.len() > self.longest {
                self.is_over = true;
                return Some(StreamItem::LineTooLong);
            }
            match line.first() {
                None => {
                    if let Some(data) = self.data.take() {
                        return Some(StreamItem::Event { data, upto: self.at });
                    }
                }
                Some(b':') => return Some(StreamItem::Ping),
                Some(_) => self.field(line),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of events, `:` for a ping, `!` for a line that is too long, and what is unfinished in
    /// brackets.
    fn parts(text: &str) -> Vec<String> {
        let text_of = |data: Cow<'_, [u8]>| String::from_utf8_lossy(&data).into_owned();
        Events::new(text.as_bytes(), 20)
            .map(|item| match item {
                StreamItem::Event { data, .. } => text_of(data),
                StreamItem::Ping => ":".to_owned(),
                StreamItem::LineTooLong => "!".to_owned(),
                StreamItem::Unfinished { data } => format!("[{}]", text_of(data)),
            })
            .collect()
    }

    #[test]
    fn lines_end_with_cr_lf_or_both() {
        for text in ["data: a\n\ndata: b\n\n", "data: a\r\rdata: b\r\r", "data: a\r\n\r\ndata: b\r\n\r\n"] {
            assert_eq!(parts(text), ["a", "b"], "{text:?}");
        }
        assert_eq!(parts("data: a\r\ndata: b\n\r\n"), ["a\nb"]);
    }

    #[test]
    fn one_blank_behind_the_colon_is_none_of_the_data() {
        assert_eq!(parts("data:a\n\ndata:  b\n\ndata\n\n"), ["a", " b", ""]);
    }

    /// The examples of the standard: a comment, fields without a name that is known, several lines of data.
    #[test]
    fn comments_other_fields_and_several_lines_are_read_as_the_standard_says() {
        assert_eq!(parts(": test\n\ndata: first\nid: 1\n\n"), [":", "first"]);
        assert_eq!(parts("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
        assert_eq!(parts("event: x\nretry: 3\n\nfoo\n\n"), [] as [&str; 0]);
        assert_eq!(parts("\u{feff}data: a\n\n"), ["a"]);
    }

    #[test]
    fn what_no_blank_line_ended_is_no_event() {
        assert_eq!(parts("data: a\n\ndata: b\n"), ["a", "[b]"]);
        assert_eq!(parts("data: a\n\ndata: b"), ["a", "[b]"]);
        assert_eq!(parts(""), [] as [&str; 0]);
    }

    #[test]
    fn an_endless_line_ends_the_stream() {
        assert_eq!(parts(&format!("data: a\n\ndata: {}\n\ndata: b\n\n", "x".repeat(30))), ["a", "!"]);
        assert_eq!(parts(&"x".repeat(30)), ["!"]);
    }

    #[test]
    fn an_event_ends_behind_its_blank_line() {
        let ends: Vec<usize> = Events::new(b"data: a\r\n\r\ndata: b\n\n", 20)
            .filter_map(|item| if let StreamItem::Event { upto, .. } = item { Some(upto) } else { None })
            .collect();
        assert_eq!(ends, [11, 20]);
    }

    #[test]
    fn no_bytes_make_it_panic_or_loop() {
        let mut draws = weighbridge::data::SplitMix64::new(9);
        for _ in 0..20_000 {
            let length = draws.below(24) as usize;
            let bytes: Vec<u8> =
                (0..length).map(|_| b"\r\n: daxt\xc3\xa9\xff"[draws.below(11) as usize]).collect();
            assert!(Events::new(&bytes, 8).count() <= bytes.len() + 1);
        }
    }
}
