//! What can be wrong with a request before anything runs.

use strsim::jaro_winkler;

/// The reason why no plan can be made: the user's mistake, said with the nearest right thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A name that nothing bears.
    #[error("no {what} is called `{name}`{}", hint(.nearest.as_deref(), known))]
    Unknown {
        /// The kind of thing that was looked for: `scenario`, `adapter`, `set`, `profile`, `axis`.
        what: &'static str,
        /// The name as it was typed.
        name: String,
        /// The known name that is most like it, if one is like it.
        nearest: Option<String>,
        /// All that could have been meant.
        known: Vec<String>,
    },
    /// A value that its axis does not take.
    #[error("axis `{axis}` does not take `{value}`: {why}")]
    Value {
        /// The axis.
        axis: String,
        /// The value.
        value: String,
        /// The reason, with the accepted form.
        why: String,
    },
    /// A `--param` that is not `axis=value`.
    #[error("`--param {0}` is not of the form axis=value[,value...] or SCENARIO.axis=value")]
    Param(String),
    /// A filter between slashes that cannot be a regular expression.
    #[error("the filter `/{filter}/` cannot be an expression: {why}")]
    Filter {
        /// The expression.
        filter: String,
        /// The parser's message, or that there is no parser.
        why: String,
    },
    /// A settings file that cannot be understood.
    #[error("failed to read {file}: {why}")]
    Settings {
        /// The file.
        file: String,
        /// The fault in it.
        why: String,
    },
    /// A suite file that cannot be understood or planned.
    #[error("{file}: {why}")]
    Suite {
        /// The file.
        file: String,
        /// The fault in it, with the line.
        why: String,
    },
    /// The profile and the platform do not go together.
    #[error(
        "profile `{profile}` is for platform {wanted}, but this run is on {platform}; name a profile for \
         {platform}, or a machine that has a {wanted}"
    )]
    Platform {
        /// The profile.
        profile: String,
        /// The platform that the profile is for.
        wanted: String,
        /// The platform of the run.
        platform: String,
    },
    /// Two cases that are called the same.
    #[error("the cases `{0}` and `{1}` have the same name for programs, `{2}`: rename a label or an adapter")]
    Clash(String, String, String),
}

impl PlanError {
    /// The error that no `what` bears `name`, with the nearest of `known`.
    pub fn unknown(what: &'static str, name: &str, known: &mut dyn Iterator<Item = &str>) -> Self {
        let mut known: Vec<String> = known.map(str::to_owned).collect();
        known.sort_unstable();
        known.dedup();
        let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        Self::Unknown { what, name: name.to_owned(), nearest, known }
    }
}

/// Names that are told when none of them is near.
const MOST_NAMES: usize = 12;

fn hint(nearest: Option<&str>, known: &[String]) -> String {
    match (nearest, known) {
        (Some(name), _) => format!("; did you mean `{name}`?"),
        (None, []) => String::new(),
        (None, known) => {
            let more = if known.len() > MOST_NAMES { ", ..." } else { "" };
            format!("; there is {}{more}", known[..known.len().min(MOST_NAMES)].join(", "))
        }
    }
}

/// The name that is most like `name`, if any is like it at all: seven letters of ten agree.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |other: &str| jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    known
        .into_iter()
        .map(|other| (likeness(other), other))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_gets_the_nearest_one_and_a_strange_one_gets_none() {
        let known = ["CV-1", "NLP-1", "Reference", "Reference (fused)"];
        assert_eq!(nearest("Refrence", known), Some("Reference"));
        assert_eq!(nearest("cv1", known), Some("CV-1"));
        assert_eq!(nearest("zzzzz", known), None);
        let error = PlanError::unknown("adapter", "Refrence", &mut known.into_iter());
        assert_eq!(error.to_string(), "no adapter is called `Refrence`; did you mean `Reference`?");
        let error = PlanError::unknown("scenario", "zzzzz", &mut ["CV-1", "NLP-1"].into_iter());
        assert_eq!(error.to_string(), "no scenario is called `zzzzz`; there is CV-1, NLP-1");
    }
}
