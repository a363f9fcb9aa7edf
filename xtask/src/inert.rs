//! Text of an author as text and nothing more.

/// For Markdown as GitHub and GitLab have it: no tag, no link, no mention, no table, no emphasis comes of it; it is one line, and
/// what would turn the direction of writing is left out.
pub(crate) fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '<' | '>' | '|' | '`' | '*' | '_' | '[' | ']' | '@' | '#' | '~' | '\\' | '!' => {
                safe.push_str(&format!("&#{};", letter as u32));
            }
            '\n' | '\r' | '\t' => safe.push(' '),
            letter if is_unseen(letter) => {}
            letter => safe.push(letter),
        }
    }
    // A bare address becomes a link.
    safe.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
}

/// For a terminal: one line, in which nothing moves the cursor, sets a colour or turns the direction of writing.
pub(crate) fn plain(text: &str) -> String {
    let shown = |letter: char| if matches!(letter, '\n' | '\r' | '\t') { ' ' } else { letter };
    text.chars().map(shown).filter(|letter| !is_unseen(*letter)).collect()
}

/// Whether a letter is a control character, or a mark that turns the direction of writing, or one that nobody sees.
pub(crate) fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_comes_of_what_an_author_wrote() {
        for (text, expected) in [
            ("CV-1/small/Reference (fused)", "CV-1/small/Reference (fused)"),
            ("<img src=x>", "&#60;img src=x&#62;"),
            ("@all see #1", "&#64;all see &#35;1"),
            ("a|b\n| c", "a&#124;b &#124; c"),
            ("x\u{202e}y\u{0}z", "xyz"),
            ("https://example.org", "https:&#47;&#47;example.org"),
        ] {
            assert_eq!(markdown(text), expected);
        }
    }
}
