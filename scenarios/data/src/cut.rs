//! `WEIGHBRIDGE_CUT=10` cuts the data of every pipeline to ten batches, so that a look at what a loader can
//! do takes no longer than it must. A run keeps it among the variables of its environment.

use weighbridge::{Error, Result};

const VARIABLE: &str = "WEIGHBRIDGE_CUT";

/// Batches that the data of every pipeline are cut to, as the environment says; `None` if it says nothing.
///
/// # Errors
/// When it is no number of batches.
pub fn cut() -> Result<Option<usize>> {
    std::env::var_os(VARIABLE).map(|text| parse(&text.to_string_lossy())).transpose()
}

fn parse(text: &str) -> Result<usize> {
    let batches = text.parse().ok().filter(|batches| *batches > 0);
    batches.ok_or_else(|| {
        Error::new(format!("{VARIABLE} is `{text}`: give a number of batches, or leave it unset"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_a_number_of_batches() {
        assert_eq!(parse("10").expect("a number"), 10);
        for wrong in ["", "0", "-1", "ten"] {
            assert!(parse(wrong).expect_err(wrong).to_string().contains("WEIGHBRIDGE_CUT"));
        }
    }
}
