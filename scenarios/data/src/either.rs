//! Axes of two words.

/// Writes and reads an enum of two variants, each by one word.
#[macro_export]
macro_rules! either {
    ($name:ident, $one:ident = $first:literal, $other:ident = $second:literal) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    Self::$one => $first,
                    Self::$other => $second,
                })
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $first => Ok(Self::$one),
                    $second => Ok(Self::$other),
                    _ => Err(format!("`{text}` is neither `{}` nor `{}`", $first, $second)),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #[derive(Debug, PartialEq, Eq)]
    enum Side {
        Left,
        Right,
    }
    either!(Side, Left = "left", Right = "right");

    #[test]
    fn each_is_read_as_it_is_written_and_another_word_is_told_with_both() {
        for side in [Side::Left, Side::Right] {
            assert_eq!(side.to_string().parse(), Ok(side));
        }
        assert_eq!("up".parse::<Side>().unwrap_err(), "`up` is neither `left` nor `right`");
    }
}
