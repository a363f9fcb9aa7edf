//! Text of an author as text and nothing more.

use anyhow::Result;
use serde_json::Value;
use weighbridge::data::{RunRecord, is_unseen, visible_in_line, visible_lines};

/// For Markdown as GitHub and GitLab have it: no tag, no link, no mention, no table, no emphasis comes of it;
/// it is one line, and what nobody would see is written out.
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        match letter {
            // Within a word it is a letter like others: `peak_memory`.
            '_' if before.is_alphanumeric() && text[at + 1..].starts_with(char::is_alphanumeric) => {
                safe.push('_');
            }
            // One that was escaped already is not escaped again.
            '&' if is_escape(&text[at..]) => safe.push('&'),
            '#' if before == '&' && is_escape(&text[at - 1..]) => safe.push('#'),
            // Who reads it as text finds `@` and `#`, and calls whom they name. The joiner of words, which
            // nobody sees, keeps them apart.
            '@' | '#' => safe.push_str(&format!("&#{};&#8288;", letter as u32)),
            '&' | '<' | '>' | '|' | '`' | '*' | '_' | '[' | ']' | '~' | '\\' | '!' => {
                safe.push_str(&format!("&#{};", letter as u32));
            }
            '\n' | '\r' | '\t' => safe.push(' '),
            letter if is_unseen(letter) => safe.push_str(&markdown(&letter.escape_default().to_string())),
            letter => safe.push(letter),
        }
        before = letter;
    }
    // A bare address becomes a link.
    safe.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
}

/// Returns whether a text begins with one of the escapes of [`markdown`].
fn is_escape(text: &str) -> bool {
    let digits = text.strip_prefix("&#").and_then(|rest| Some(rest.split_once(';')?.0));
    digits.is_some_and(|digits| {
        (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// A run in which every text is as [`markdown`] has it, for pages that are Markdown all over.
///
/// # Errors
/// When a record is no JSON, which none is that has been stored.
pub fn run(run: &RunRecord) -> Result<RunRecord> {
    fn escape(value: &mut Value) {
        match value {
            Value::String(text) => *text = markdown(text),
            Value::Array(values) => values.iter_mut().for_each(escape),
            Value::Object(fields) => {
                let escaped = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                    escape(&mut value);
                    (markdown(&name), value)
                });
                *fields = escaped.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut value = serde_json::to_value(run)?;
    escape(&mut value);
    Ok(serde_json::from_value(value)?)
}

/// For Markdown as a piece of code, which knows no escapes.
pub fn code(text: &str) -> String {
    format!("`{}`", visible_in_line(text).replace('`', "'"))
}

/// For a terminal: the lines of a message, of which none is obeyed.
pub fn lines(text: &str) -> String {
    visible_lines(text)
}

/// Adds a line to a text for a terminal, as [`visible_in_line`] has it.
pub fn line(text: &mut String, line: &str) {
    text.extend([&*visible_in_line(line), "\n"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_comes_of_what_an_author_wrote() {
        for (text, expected) in [
            ("CV-1/small/Reference (fused)", "CV-1/small/Reference (fused)"),
            ("<img src=x>", "&#60;img src=x&#62;"),
            ("@all see #1", "&#64;&#8288;all see &#35;&#8288;1"),
            ("a|b\n| c", "a&#124;b &#124; c"),
            ("peak_memory _x_", "peak_memory &#95;x&#95;"),
            ("x\u{202e}y\u{0}z", "x&#92;u{202e}y&#92;u{0}z"),
            ("https://example.org", "https:&#47;&#47;example.org"),
        ] {
            assert_eq!(markdown(text), expected);
            assert_eq!(markdown(expected), expected, "what is escaped is not escaped again");
        }
    }
}
