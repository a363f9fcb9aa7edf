//! Text of an author as text and nothing more.

use std::borrow::Cow;

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
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    let shown = |letter: char| if matches!(letter, '\n' | '\r' | '\t') { ' ' } else { letter };
    Cow::Owned(text.chars().map(shown).filter(|letter| !is_unseen(*letter)).collect())
}

/// Whether a letter is a control character, or a mark that turns the direction of writing, or one that nobody sees.
pub(crate) fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use weighbridge::data::CaseStatus;

    use super::*;
    use crate::cli::{Explain, RunsAction, RunsArgs, Summary};
    use crate::fixtures::{around, case, home, run};
    use crate::{explain, runs, summary};

    /// Ends lines, moves the cursor, sets colours, turns the direction of writing, and gives orders to a build server.
    const HOSTILE: &str = "x\r\n::error::y\u{1b}[31m\u{202e}\u{0}|</script>";

    #[test]
    fn what_authors_wrote_stays_in_its_line_in_every_text() {
        let home = home();
        let mut cases = vec![case("CV-1", HOSTILE, &around(1.0)), case("CV-2", "Reference", &around(1.0))];
        for case in &mut cases {
            case.description = HOSTILE.into();
            case.id.point.0[0].text = HOSTILE.into();
        }
        cases[1].status = CaseStatus::Failed(HOSTILE.into());
        let names: Vec<String> = cases.iter().map(|case| case.id.to_string()).collect();
        let mut record = run(1_000, cases);
        record.manifest.profile = HOSTILE.into();
        record.manifest.command.push(HOSTILE.into());
        record.manifest.environment.software.insert(HOSTILE.into(), HOSTILE.into());
        home.store(&record);
        let place = &home.place;
        let show = |case: Option<&String>| RunsArgs {
            action: RunsAction::Show { run: "latest".into(), json: false, case: case.cloned() },
        };
        let explain = |case: &str| Explain { case: case.to_owned(), run: None, suite: None, ascii: true };
        let mut said = vec![
            summary::run(&Summary { run: None, suite: None }, place),
            runs::run(&RunsArgs { action: RunsAction::List { all: true } }, place),
            runs::run(&show(None), place),
            explain::run(&explain("CV-1"), place),
        ];
        for name in &names {
            said.extend([runs::run(&show(Some(name)), place), explain::run(&explain(name), place)]);
        }
        for said in said {
            let text = said.expect("shown").text;
            assert!(text.lines().all(|line| !line.trim_start().starts_with("::")), "{text}");
            assert!(!text.chars().any(|letter| letter != '\n' && is_unseen(letter)), "{text:?}");
        }
    }

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
