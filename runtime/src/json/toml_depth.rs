//! The depth of a TOML document: who reads one goes down as deep as it does, and a stack has an end.

/// Deeper than any settings are.
const MOST: usize = 64;

/// The line, from 1, from which on a document is nested too deeply to be read; `None` where it is not. Lists,
/// tables and the parts of a name count.
pub fn too_deep(text: &str) -> Option<usize> {
    let (mut line, mut open, mut parts) = (1, 0_usize, 0);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        match letter {
            '\n' => (line, parts) = (line + 1, 0),
            '[' | '{' => open += 1,
            ']' | '}' => open = open.saturating_sub(1),
            '.' => parts += 1,
            '#' => length = rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                length = quoted(rest, letter);
                line += rest[..length].matches('\n').count();
            }
            _ => {}
        }
        if open + parts > MOST {
            return Some(line);
        }
        rest = &rest[length..];
    }
    None
}

/// The length of the string that a text begins with, quotes included; that of the text where it has no end.
fn quoted(text: &str, quote: char) -> usize {
    let long = [quote; 3].iter().collect::<String>();
    let end = if text.starts_with(&long) { long } else { quote.to_string() };
    let mut at = end.len();
    while at < text.len() {
        if quote == '"' && text[at..].starts_with('\\') {
            at += 1;
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        } else if text[at..].starts_with(&end) {
            return at + end.len();
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deeply_is_told_with_its_line() {
        let deep =
            |open: &str, close: &str| format!("a = 1\nb = {}{}", open.repeat(20_000), close.repeat(20_000));
        assert_eq!(too_deep(&deep("[", "]")), Some(2));
        assert_eq!(too_deep(&deep("{ c = ", "}")), Some(2));
        assert_eq!(too_deep(&format!("a{} = 1", ".a".repeat(20_000))), Some(1));
        assert_eq!(too_deep(&format!("[a{}]", ".a".repeat(20_000))), Some(1));
        assert_eq!(too_deep(&format!("a = \"x\\\"\"\nb = '''\n'''\nc = {}", "[".repeat(99))), Some(4));
    }

    #[test]
    fn what_stands_in_strings_and_comments_is_no_depth() {
        let many = "[.{".repeat(100);
        for text in [
            format!("a = \"{many}\\\"{many}\" # {many}\nb = 1"),
            format!("a = '{many}\\'\nb = '''{many}'\n{many}'''"),
            format!("a = \"\"\"\n{many}\"\n\"\"\""),
            "a = [1.5, 2.5]\n".repeat(100),
            format!("a = [\n{}]", "  [1, 2],\n".repeat(100)),
            "a = \"no end".to_owned(),
        ] {
            assert_eq!(too_deep(&text), None, "{text}");
        }
    }
}
