//! `--param axis=v1,v2`: values that replace those of an axis.

use std::fmt;

use super::PlanError;

/// One `--param`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The scenario that it is for; `None` for all that have the axis.
    pub scenario: Option<String>,
    /// The axis.
    pub axis: String,
    /// The values as typed. `all` alone means every value of the axis.
    pub values: Vec<String>,
}

/// As it is typed.
impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scenario) = &self.scenario {
            write!(f, "{scenario}.")?;
        }
        write!(f, "{}={}", self.axis, self.values.join(","))
    }
}

impl Param {
    /// Reads `axis=v1,v2`, `SCENARIO.axis=v`, `axis=all`.
    ///
    /// # Errors
    /// When it is of no such form.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let malformed = || PlanError::Param(text.to_owned());
        let (name, values) = text.split_once('=').ok_or_else(malformed)?;
        // An axis is an identifier, so the last dot parts a scenario's id from it.
        let (scenario, axis) = match name.rsplit_once('.') {
            Some((scenario, axis)) => (Some(scenario.to_owned()), axis),
            None => (None, name),
        };
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if axis.is_empty() || values.iter().any(String::is_empty) {
            return Err(malformed());
        }
        Ok(Self { scenario, axis: axis.to_owned(), values })
    }

    /// Tells whether it asks for every value of the axis.
    pub fn is_all(&self) -> bool {
        self.values == ["all"]
    }

    /// Tells whether it is for this axis of this scenario.
    pub fn is_for(&self, scenario: &str, axis: &str) -> bool {
        self.axis == axis && self.scenario.as_ref().is_none_or(|id| id.eq_ignore_ascii_case(scenario))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_param_names_an_axis_of_all_scenarios_or_of_one() {
        let param = Param::parse("workers=0, 2").unwrap();
        assert_eq!(
            (param.scenario.as_deref(), param.values.as_slice()),
            (None, ["0".into(), "2".into()].as_slice())
        );
        let param = Param::parse("CV-1.variant=all").unwrap();
        assert!(param.is_for("cv-1", "variant") && !param.is_for("CV-2", "variant") && param.is_all());
    }

    #[test]
    fn what_has_no_axis_or_no_value_is_refused() {
        for text in ["workers", "=1", "workers=", "workers=1,,2"] {
            assert!(Param::parse(text).is_err(), "{text}");
        }
    }
}
