//! The unit of planning, running and comparing: scenario x adapter x point.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::registry::{AxisValue, Point, slug};

/// The longest file name that is made from a slug, in bytes, before it is cut.
const LONGEST: usize = 120;

/// The name of a case: `CV-1/small/workers=2/Google Grain`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseId {
    /// The scenario's id.
    pub scenario: String,
    /// The values of its axes.
    pub point: Point,
    /// The adapter's name; `None` for a scenario without a contract.
    pub adapter: Option<String>,
    /// True if the names for programs and for files end in a hash of this one, since another case would have
    /// the same there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told_apart: bool,
}

/// A case is the same whatever others there are.
impl PartialEq for CaseId {
    fn eq(&self, other: &Self) -> bool {
        (&self.scenario, &self.point, &self.adapter) == (&other.scenario, &other.point, &other.adapter)
    }
}

impl CaseId {
    /// The name for other programs: `cv_1::small::workers=2::google_grain`; with `-` and 8 hex digits of the
    /// id where another case would have the same.
    pub fn slug(&self) -> String {
        self.plain_slug() + &self.mark('-')
    }

    /// The same without the digits.
    pub(crate) fn plain_slug(&self) -> String {
        self.parts().join("::")
    }

    /// The digits that tell it from others, behind this sign; nothing where there are no such others.
    fn mark(&self, sign: char) -> String {
        if self.told_apart { format!("{sign}{:08x}", self.hash()) } else { String::new() }
    }

    fn hash(&self) -> u32 {
        xxh3_64(self.to_string().as_bytes()) as u32
    }

    /// The name for files: the slug's parts joined by `@`; over 120 bytes it is cut and given 8 hex digits of
    /// the id.
    pub fn file_name(&self) -> String {
        let whole = self.parts().join("@");
        if whole.len() <= LONGEST {
            return whole + &self.mark('-');
        }
        format!("{}@{:08x}", &whole[..LONGEST], self.hash()) // a slug is ASCII: any byte is a border
    }

    fn parts(&self) -> Vec<String> {
        let values = self.point.iter().map(part);
        let adapter = self.adapter.iter().map(|name| slug(name));
        std::iter::once(slug(&self.scenario)).chain(values).chain(adapter).collect()
    }
}

/// The name of a value for programs.
pub(super) fn part(value: &AxisValue) -> String {
    match value.labelled {
        true => slug(&value.text),
        false => format!("{}={}", slug(&value.axis), slug(&value.text)),
    }
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scenario)?;
        if self.point.iter().next().is_some() {
            write!(f, "/{}", self.point)?;
        }
        match &self.adapter {
            Some(adapter) => write!(f, "/{adapter}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(adapter: &str) -> CaseId {
        let value = |axis: &str, text: &str, labelled| AxisValue {
            axis: axis.into(),
            text: text.into(),
            labelled,
            debug: None,
        };
        CaseId {
            scenario: "CV-1".into(),
            point: Point(vec![value("variant", "small", true), value("workers", "2", false)]),
            adapter: Some(adapter.into()),
            told_apart: false,
        }
    }

    #[test]
    fn a_case_has_a_name_for_people_one_for_programs_and_one_for_files() {
        let case = case("Google Grain");
        assert_eq!(case.to_string(), "CV-1/small/workers=2/Google Grain");
        assert_eq!(case.slug(), "cv_1::small::workers=2::google_grain");
        assert_eq!(case.file_name(), "cv_1@small@workers=2@google_grain");
    }

    #[test]
    fn what_has_the_name_of_another_gets_a_hash_and_is_the_same_case_still() {
        let [times, minus] = ["a * b", "a - b"].map(|name| CaseId { told_apart: true, ..case(name) });
        assert_eq!(times.plain_slug(), case("a   b").slug());
        assert!(times.slug() != minus.slug() && times.file_name() != minus.file_name());
        assert!(times.slug().starts_with("cv_1::small::workers=2::a_b-"), "{}", times.slug());
        assert_eq!(times, case("a * b"));
        let stored = serde_json::to_string(&case("a")).unwrap();
        assert!(!stored.contains("told_apart"), "{stored}");
    }

    #[test]
    fn a_long_file_name_is_cut_and_stays_distinct() {
        let (a, b) = (case(&format!("{}a", "x".repeat(200))), case(&format!("{}b", "x".repeat(200))));
        assert_eq!(a.file_name().len(), LONGEST + 9);
        assert_ne!(a.file_name(), b.file_name());
    }
}
