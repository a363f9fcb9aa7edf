//! Names of benchmarks.

use std::fmt::{self, Display};

/// The name of a benchmark: a function, a parameter, or both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BenchmarkId {
    pub(crate) function: Option<String>,
    pub(crate) parameter: Option<String>,
}

impl BenchmarkId {
    /// `function/parameter`.
    pub fn new<S: Into<String>, P: Display>(function_name: S, parameter: P) -> Self {
        Self { function: Some(function_name.into()), parameter: Some(parameter.to_string()) }
    }

    /// The parameter alone, where the group is of one function.
    pub fn from_parameter<P: Display>(parameter: P) -> Self {
        Self { function: None, parameter: Some(parameter.to_string()) }
    }

    fn text(&self) -> String {
        [&self.function, &self.parameter].into_iter().flatten().cloned().collect::<Vec<_>>().join("/")
    }
}

/// A text or an id that names a benchmark.
pub trait IntoBenchmarkId {
    /// The id.
    fn into_benchmark_id(self) -> BenchmarkId;
}

impl IntoBenchmarkId for BenchmarkId {
    fn into_benchmark_id(self) -> BenchmarkId {
        self
    }
}

impl<S: Into<String>> IntoBenchmarkId for S {
    fn into_benchmark_id(self) -> BenchmarkId {
        BenchmarkId { function: Some(self.into()), parameter: None }
    }
}

/// The whole name of a benchmark: of its group, where it is in one, and its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) group: Option<String>,
    pub(crate) own: String,
}

impl Name {
    /// The name of a benchmark in a group.
    pub(crate) fn in_group(group: &str, id: &BenchmarkId) -> Self {
        Self { group: Some(group.to_owned()), own: id.text() }
    }

    /// The name of one outside of groups: of a function and a parameter, the function is the group.
    pub(crate) fn alone(id: BenchmarkId) -> Self {
        match (id.function, id.parameter) {
            (Some(function), Some(parameter)) => Self { group: Some(function), own: parameter },
            (one, other) => Self { group: None, own: one.or(other).unwrap_or_default() },
        }
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.group {
            Some(group) if self.own.is_empty() => f.write_str(group),
            Some(group) => write!(f, "{group}/{}", self.own),
            None => f.write_str(&self.own),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn a_name_is_put_together_as_criterion_does() {
        let text = |id: BenchmarkId| Name::in_group("g", &id).to_string();
        assert_eq!(text(BenchmarkId::new("iter", 10)), "g/iter/10");
        assert_eq!(text(BenchmarkId::from_parameter("fast")), "g/fast");
        assert_eq!(text("plain".into_benchmark_id()), "g/plain");
        assert_eq!(text((&String::from("by reference")).into_benchmark_id()), "g/by reference");
        assert_eq!(text(Cow::Borrowed("cow").into_benchmark_id()), "g/cow");
        assert_eq!(text(Box::<str>::from("box").into_benchmark_id()), "g/box");
        assert_eq!(text('c'.into_benchmark_id()), "g/c");
        assert_eq!(Name::alone(BenchmarkId::new("of", 8)).to_string(), "of/8");
    }
}
