//! Which cases were asked for by text: substrings, whole names, regular expressions.

#[cfg(feature = "regex")]
use regex_lite::Regex;

use super::{CaseId, PlanError};

/// One positional argument.
#[derive(Clone, Debug)]
pub enum Filter {
    /// Part of the name for people or of the name for programs.
    Part(String),
    /// The whole name, either one.
    Whole(String),
    /// A scenario's id, whole: `CV-1` is not `HCV-1`.
    Scenario(String),
    /// A regular expression over either name.
    #[cfg(feature = "regex")]
    Expression(Regex),
}

impl Filter {
    /// Parses a filter: `/expression/`, a scenario's id, else a part of a name (the whole of it if `exact`).
    ///
    /// # Errors
    /// When what stands between slashes is no regular expression.
    pub fn parse(text: &str, exact: bool, scenarios: &[&str]) -> Result<Self, PlanError> {
        if exact {
            return Ok(Self::Whole(text.to_owned()));
        }
        if let Some(id) = scenarios.iter().find(|id| id.eq_ignore_ascii_case(text)) {
            return Ok(Self::Scenario((*id).to_owned()));
        }
        if let Some(filter) = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
            return Self::expression(filter)
                .map_err(|why| PlanError::Filter { filter: filter.to_owned(), why });
        }
        Ok(Self::Part(text.to_owned()))
    }

    #[cfg(feature = "regex")]
    fn expression(filter: &str) -> Result<Self, String> {
        Regex::new(filter).map(Self::Expression).map_err(|why| why.to_string())
    }

    #[cfg(not(feature = "regex"))]
    fn expression(_: &str) -> Result<Self, String> {
        Err("turn on the feature `regex` of `weighbridge` in Cargo.toml".to_owned())
    }

    /// Tells whether the case is asked for.
    pub fn takes(&self, case: &CaseId) -> bool {
        match self {
            Self::Scenario(id) => case.scenario == *id,
            Self::Part(text) => names(case).iter().any(|name| name.contains(text)),
            Self::Whole(text) => names(case).contains(text),
            #[cfg(feature = "regex")]
            Self::Expression(regex) => names(case).iter().any(|name| regex.is_match(name)),
        }
    }
}

/// Returns the names of a case: with `::`, as paths of code have it (`sort::stable::100`), for people, and
/// for programs.
fn names(case: &CaseId) -> [String; 3] {
    let name = case.to_string();
    [name.replace('/', "::"), name, case.slug()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Point;

    fn takes(text: &str, exact: bool, scenario: &str) -> bool {
        let case = CaseId {
            scenario: scenario.into(),
            point: Point::default(),
            adapter: Some("Google Grain".into()),
        };
        Filter::parse(text, exact, &["CV-1", "HCV-1"]).unwrap().takes(&case)
    }

    #[test]
    fn a_scenarios_id_selects_that_scenario_alone() {
        assert!(takes("CV-1", false, "CV-1"));
        assert!(!takes("CV-1", false, "HCV-1"));
    }

    #[test]
    fn other_texts_are_parts_of_either_name() {
        assert!(takes("Grain", false, "CV-1"));
        assert!(takes("google_grain", false, "CV-1"));
        assert!(takes("CV-1::Google", false, "CV-1"));
        assert!(!takes("grain!", false, "CV-1"));
    }

    #[test]
    fn exact_takes_the_whole_name_and_slashes_an_expression() {
        assert!(takes("cv_1::google_grain", true, "CV-1"));
        assert!(takes("CV-1/Google Grain", true, "CV-1"));
        assert!(takes("CV-1::Google Grain", true, "CV-1"));
        assert!(!takes("cv_1", true, "CV-1"));
        #[cfg(feature = "regex")]
        assert!(takes("/^H?CV-1/", false, "HCV-1"));
        let error = Filter::parse("/(/", false, &[]).unwrap_err();
        assert!(error.to_string().contains("cannot be an expression"), "{error}");
    }
}
