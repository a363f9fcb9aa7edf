//! Texts of subjects, as they may be shown: what would move a cursor, paint, turn the direction of writing or
//! stay unseen is written out.

/// The text with control characters written as escapes; line ends and tabs stay.
///
/// A reason comes from code that nobody here has written. On a terminal it could otherwise clear the screen,
/// or forge the harness's own lines.
pub(crate) fn visible(text: &str) -> String {
    written_out(text, |letter| letter == '\n' || letter == '\t')
}

/// The same in one line: line ends and tabs are written out as well.
///
/// For whatever shows a text of others: names, ids, reasons, messages of panics.
#[must_use]
pub fn visible_in_line(text: &str) -> String {
    written_out(text, |_| false)
}

/// The text with a mark before each line after the first, so that none of them passes for a line of the
/// harness, or for a command to what reads its output.
pub(crate) fn quoted(text: &str) -> String {
    visible(text).replace('\n', "\n| ")
}

fn written_out(text: &str, stays: impl Fn(char) -> bool) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unseen(letter) && !stays(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
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
}
