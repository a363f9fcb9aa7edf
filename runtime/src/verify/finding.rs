//! What was found in a case: by a rule in its evidence, or in what was estimated from it.

use serde::{Deserialize, Serialize};

use super::caveat::{Caveat, CaveatKind};

const MEBIBYTE: f64 = (1 << 20) as f64;

/// The rule whose finding has a case stand apart.
pub(crate) const PROCESSORS: &str = "processors";

/// A finding of a rule in the repeats of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's name, or the caveat's of an estimate.
    pub rule: String,
    /// Its weight for the case.
    pub severity: Severity,
    /// Numbers of the repeats that it was found in (0 is the unmeasured one); none where it is of the case as
    /// a whole.
    pub repeats: Vec<u32>,
    /// The evidence.
    pub detail: FindingDetail,
    /// The remedy; empty where nothing helps, or need be done.
    pub remedy: String,
    /// The amount of it, where findings of several cases can be put in order by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
}

/// The evidence of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingDetail {
    /// The sentence of the rule that found it.
    Evidence(String),
    /// A caveat of an estimate, by its numbers.
    Estimate(Caveat),
}

/// An amount of something, with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// Its unit: `%`, `MiB`.
    pub unit: String,
}

/// The weight of a finding for a case.
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

impl Caveat {
    /// The amount by which the caveat weighs, in percent or another unit, where there is one.
    fn figure(&self) -> Option<Figure> {
        let percent = |share: f64| Some(Figure { value: share * 100.0, unit: "%".into() });
        match self {
            Self::Unsteady { variation, .. } => percent(*variation),
            Self::Waited { share, .. } => percent(*share),
            Self::Skew { spread, region, .. } => percent(*spread as f64 / (*region).max(1) as f64),
            Self::Outlier { off, .. } => percent(off.abs()),
            Self::OffTarget { half, .. } => percent((*half)?),
            Self::Memory { peak, .. } => Some(Figure { value: peak / MEBIBYTE, unit: "MiB".into() }),
            Self::SampledMemory(tree) => {
                Some(Figure { value: tree.processes as f64, unit: "processes".into() })
            }
            _ => None,
        }
    }

    /// The finding of it in the case as a whole.
    pub(crate) fn of_case(self) -> Finding {
        self.of_repeats(Vec::new())
    }

    /// The finding of it in these repeats.
    pub(crate) fn of_repeats(self, repeats: Vec<u32>) -> Finding {
        let CaveatKind { name, remedy, .. } = *self.kind();
        Finding {
            rule: name.to_owned(),
            severity: Severity::Caveat,
            repeats,
            figure: self.figure(),
            detail: FindingDetail::Estimate(self),
            remedy: remedy.to_owned(),
        }
    }
}
