//! What a rule found.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a rule found in the repeats of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: String,
    /// What it means for the case.
    pub severity: Severity,
    /// Numbers of the repeats that it was found in (0 is the unmeasured one); none where it is of the case as a whole.
    #[serde(default)]
    pub repeats: Vec<u32>,
    /// The evidence, in words.
    pub detail: String,
    /// What helps.
    pub remedy: String,
}

/// What a finding means for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Its figures are to be read with this in mind.
    Caveat,
    /// Its work or its clock does not verify: it is not ranked.
    Fail,
}

impl Severity {
    /// The word in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Caveat => "caveat",
            Self::Fail => "fail",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}
