//! Ids as text and back: a character for each id, so that a server of text tells the ids that it made.

/// The first character of ids that are no printable character of ASCII: letters of Latin that every JSON has
/// as they are.
const BEYOND: u32 = 0x100;

/// The character of an id below 256.
pub fn letter_of(id: i32) -> Option<char> {
    let code = u32::try_from(id).ok().filter(|code| *code < BEYOND)?;
    char::from_u32(if (0x20..0x7f).contains(&code) { code } else { BEYOND + code })
}

/// The ids of a text, letter by letter; the first letter that stands for none, where there is one.
///
/// # Errors
/// That letter.
pub fn ids_of(text: &str) -> Result<Vec<i32>, char> {
    text.chars().map(|letter| id_of(letter).ok_or(letter)).collect()
}

fn id_of(letter: char) -> Option<i32> {
    let code = letter as u32;
    let id = if code < BEYOND { code } else { code - BEYOND };
    (letter_of(id as i32) == Some(letter)).then_some(id as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_a_letter_of_its_own_which_leads_back_to_it() {
        let text: String = (0..256).filter_map(letter_of).collect();
        assert_eq!(ids_of(&text), Ok((0..256).collect()));
        assert_eq!(ids_of("time 0f"), Ok("time 0f".bytes().map(i32::from).collect()));
        assert_eq!((letter_of(256), letter_of(-1)), (None, None));
        assert_eq!(
            (ids_of("a\n"), ids_of("\u{161}"), ids_of("\u{200}")),
            (Err('\n'), Err('\u{161}'), Err('\u{200}'))
        );
        assert!(
            text.chars().all(|letter| !letter.is_control() && letter != '\u{ad}'),
            "JSON has them as they are"
        );
    }
}
