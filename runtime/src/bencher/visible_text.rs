//! Texts of others, as they may be shown: what would move a cursor, paint, turn the direction of writing,
//! stay unseen, or be obeyed by a build server is written out.
//!
//! A reason comes from code that nobody here has written. On a terminal it could otherwise clear the
//! screen, or forge the harness's own lines; in the log of a build it could be an order: `::error::` at the
//! head of a line, `##[stop-commands]`, `##vso[` or `##teamcity[` anywhere in it.

/// The text with control characters written as escapes; line ends and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    written_out(text, |letter| letter == '\n' || letter == '\t', rust)
}

/// The same in one line: line ends and tabs are written out as well.
///
/// For whatever shows a text of others: names, ids, reasons, messages of panics.
#[must_use]
pub fn visible_in_line(text: &str) -> String {
    written_out(text, |_| false, rust)
}

/// The lines of a text, each as [`visible_in_line`] has it, and with its end. None begins with `::`, which
/// is an order to a build server.
///
/// This is the door: all that goes to a terminal goes through it last.
#[must_use]
pub fn visible_lines(text: &str) -> String {
    let line = |line: &str| format!("{}{}\n", mark_of_order(line), visible_in_line(line));
    text.lines().map(line).collect()
}

/// A document of JSON with the same escapes in its strings, as JSON writes them: it reads as the same values.
#[must_use]
pub fn visible_json(document: &str) -> String {
    written_out(document, |letter| letter == '\n', json)
}

/// The text with a mark before each line after the first, so that none of them passes for a line of the
/// harness, or for a command to what reads its output.
pub(crate) fn quoted(text: &str) -> String {
    visible(text).replace('\n', "\n| ")
}

/// The mark before a line that would be an order by its beginning.
pub(crate) fn mark_of_order(line: &str) -> &'static str {
    if line.trim_start().starts_with("::") { "> " } else { "" }
}

fn written_out(text: &str, stays: impl Fn(char) -> bool, escape: impl Fn(char, &mut String)) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !text.contains("##") {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        if is_unseen(letter) && !stays(letter) || letter == '[' && ends_as_order(&text[..at]) {
            escape(letter, &mut shown);
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Tells whether a `[` after this text would be an order to a build server: it stands behind `##` and a name.
fn ends_as_order(before: &str) -> bool {
    before.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).ends_with("##")
}

fn rust(letter: char, to: &mut String) {
    match letter {
        '[' => to.extend(letter.escape_unicode()),
        letter => to.extend(letter.escape_default()),
    }
}

/// As JSON has it: in units of UTF-16.
fn json(letter: char, to: &mut String) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        to.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Tells whether a letter is a control character, a mark that turns the direction in which what follows is
/// shown (Unicode Standard Annex 9), a separator of lines that is no control character, or one of no width.
#[must_use]
pub fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_paint_move_turn_or_hide_is_written_out() {
        assert_eq!(visible("a\x1b[2Jb\rc\u{202e}d\x07"), r"a\u{1b}[2Jb\rc\u{202e}d\u{7}");
        assert_eq!(visible("two\nlines\tof größe 7 µs"), "two\nlines\tof größe 7 µs");
        assert_eq!(visible_in_line("no\nweighbridge: exit=0"), r"no\nweighbridge: exit=0");
        assert_eq!(quoted("why\n::stop-commands::x\nexit=0"), "why\n| ::stop-commands::x\n| exit=0");
        assert_eq!(visible_in_line("CV\u{200b}-1\u{feff}"), r"CV\u{200b}-1\u{feff}");
    }

    #[test]
    fn no_order_to_a_build_server_comes_of_a_text() {
        for order in ["##[stop-commands]", "##vso[task.complete]", "##teamcity[x]", "a ###[error]b"] {
            let shown = visible_in_line(order);
            assert!(shown.contains(r"\u{5b}") && !shown.contains('['), "{shown}");
        }
        assert_eq!(visible_in_line("# [1] and ## [2]"), "# [1] and ## [2]");
        assert_eq!(visible_lines("one\n  ::error::two"), "one\n>   ::error::two\n");
    }

    #[test]
    fn a_document_of_json_stays_the_document() {
        let value = serde_json::json!({ "\u{202e}": ["##[error]", "\u{2028}\u{85}", "größe", [1], "\n"] });
        let shown = visible_json(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert!(!shown.chars().any(|letter| letter != '\n' && is_unseen(letter)), "{shown}");
        assert!(!shown.contains("##["), "{shown}");
    }
}
