//! Which cases were asked for by text: substrings, whole names, regular expressions.

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
    Expression(Regex),
    /// An expression, or the same text as a part of a name: names have signs that mean something else in
    /// expressions.
    Either(Box<Self>, String),
}

/// The way in which filters match that are neither a scenario's id nor between slashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// Parts of names.
    Parts,
    /// Whole names.
    Whole,
    /// Regular expressions, and what is none is a part of a name.
    Expressions,
}

/// The one of these ids that is meant by a name: the very same, else the first that differs in case alone.
pub(super) fn named_in<'a>(ids: &[&'a str], name: &str) -> Option<&'a str> {
    let same = ids.iter().find(|id| **id == name);
    same.or_else(|| ids.iter().find(|id| id.eq_ignore_ascii_case(name))).copied()
}

impl Filter {
    /// Parses a filter: `/expression/`, a scenario's id, else what `matching` says.
    ///
    /// # Errors
    /// When what stands between slashes is no regular expression.
    pub fn parse(text: &str, matching: Matching, scenarios: &[&str]) -> Result<Self, PlanError> {
        if matching == Matching::Whole {
            return Ok(Self::Whole(text.to_owned()));
        }
        if matching == Matching::Parts
            && let Some(id) = named_in(scenarios, text)
        {
            return Ok(Self::Scenario(id.to_owned()));
        }
        if let Some(filter) = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
            return Self::expression(filter)
                .map_err(|why| PlanError::Filter { filter: filter.to_owned(), why });
        }
        if matching == Matching::Expressions
            && let Ok(expression) = Self::expression(text)
        {
            return Ok(Self::Either(Box::new(expression), text.to_owned()));
        }
        Ok(Self::Part(text.to_owned()))
    }

    fn expression(filter: &str) -> Result<Self, String> {
        Regex::new(filter).map(Self::Expression).map_err(|why| why.to_string())
    }

    /// Tells whether the case is asked for.
    pub fn takes(&self, case: &CaseId) -> bool {
        match self {
            Self::Scenario(id) => case.scenario == *id,
            Self::Part(text) => names(case).iter().any(|name| name.contains(text)),
            Self::Whole(text) => names(case).contains(text),
            Self::Either(expression, text) => {
                expression.takes(case) || names(case).iter().any(|name| name.contains(text))
            }
            Self::Expression(regex) => names(case).iter().any(|name| regex.is_match(name)),
        }
    }
}

/// Returns the names of a case: with `::`, as paths of code have it (`sort::stable::100`), for people, and
/// for programs, with the hash that tells it apart and without.
fn names(case: &CaseId) -> [String; 4] {
    let name = case.to_string();
    // Which of the two it has is known only once all cases are.
    let marked = CaseId { told_apart: true, ..case.clone() };
    [name.replace('/', "::"), name, marked.slug(), case.plain_slug()]
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
            told_apart: false,
        };
        let matching = if exact { Matching::Whole } else { Matching::Parts };
        Filter::parse(text, matching, &["CV-1", "HCV-1"]).unwrap().takes(&case)
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
        assert!(takes("/^H?CV-1/", false, "HCV-1"));
        let error = Filter::parse("/(/", Matching::Parts, &[]).unwrap_err();
        assert!(error.to_string().contains("cannot be an expression"), "{error}");
    }

    #[test]
    fn where_filters_are_expressions_a_scenarios_id_is_one_too_and_so_is_what_else_would_be_a_part() {
        let takes = |text: &str, scenario: &str| {
            let case = CaseId {
                scenario: scenario.into(),
                point: Point::default(),
                adapter: None,
                told_apart: false,
            };
            Filter::parse(text, Matching::Expressions, &["sort", "resort"]).unwrap().takes(&case)
        };
        assert!(takes("^sort$", "sort") && !takes("^sort$", "resort"));
        assert!(takes("sort", "resort"));
        assert!(takes("a + b", "a + b"), "a sign of expressions in a name");
        assert!(takes("a (", "a (b)"), "no expression");
    }
}
