//! The unit of planning, running and comparing: scenario x adapter x point.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::registry::{Point, slug};

/// The longest file name that is made from a slug, in bytes, before it is cut.
const LONGEST: usize = 120;

/// The name of a case: `CV-1/small/workers=2/Google Grain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseId {
    /// The scenario's id.
    pub scenario: String,
    /// The values of its axes.
    pub point: Point,
    /// The adapter's name; `None` for a scenario without a contract.
    pub adapter: Option<String>,
}

impl CaseId {
    /// The name for other programs: `cv_1::small::workers=2::google_grain`.
    pub fn slug(&self) -> String {
        self.parts().join("::")
    }

    /// The name for files: the slug's parts joined by `@`; over 120 bytes it is cut and given 8 hex digits of
    /// the id.
    pub fn file_name(&self) -> String {
        let whole = self.parts().join("@");
        if whole.len() <= LONGEST {
            return whole;
        }
        let hash = xxh3_64(self.to_string().as_bytes()) as u32;
        format!("{}@{hash:08x}", &whole[..LONGEST]) // a slug is ASCII: any byte is a border
    }

    fn parts(&self) -> Vec<String> {
        let values = self.point.iter().map(|value| match value.labelled {
            true => slug(&value.text),
            false => format!("{}={}", slug(&value.axis), slug(&value.text)),
        });
        let adapter = self.adapter.iter().map(|name| slug(name));
        std::iter::once(slug(&self.scenario)).chain(values).chain(adapter).collect()
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
    use crate::registry::AxisValue;

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
    fn a_long_file_name_is_cut_and_stays_distinct() {
        let (a, b) = (case(&format!("{}a", "x".repeat(200))), case(&format!("{}b", "x".repeat(200))));
        assert_eq!(a.file_name().len(), LONGEST + 9);
        assert_ne!(a.file_name(), b.file_name());
    }
}
