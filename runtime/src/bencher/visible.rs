//! Texts of subjects, as they may be shown: what would move a cursor, paint, or turn the direction of writing is written out.

/// The text with control characters written as escapes; line ends and tabs stay.
///
/// A reason comes from code that nobody here has written. On a terminal it could otherwise clear the screen, or forge the
/// harness's own lines.
pub(crate) fn visible(text: &str) -> String {
    written_out(text, |c| c == '\n' || c == '\t')
}

/// The same in one line: line ends are written out as well.
pub(crate) fn visible_in_line(text: &str) -> String {
    written_out(text, |_| false)
}

fn written_out(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_control() || turns_direction(c)) && !stays(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Marks that turn the direction in which what follows is shown (Unicode Standard Annex 9), and separators of lines that
/// are no control characters.
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_paint_move_or_turn_is_written_out() {
        assert_eq!(visible("a\x1b[2Jb\rc\u{202e}d\x07"), r"a\u{1b}[2Jb\rc\u{202e}d\u{7}");
        assert_eq!(visible("two\nlines\tof größe 7 µs"), "two\nlines\tof größe 7 µs");
        assert_eq!(visible_in_line("no\nweighbridge: exit=0"), r"no\nweighbridge: exit=0");
    }
}
