//! What became of a lie, and whether that is what had to.

use serde_json::Value;
use weighbridge::data::names;
use weighbridge::data::{Agreement, CaseRecord, CaseStatus, Comparison, Verdict};

use super::bench::Results;
use super::catalogue::{CataloguedLie, HonestTwin};

/// What became of one lie in one scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fate {
    /// Whether it stands among the others.
    pub(super) is_ranked: bool,
    /// How many times as fast as the reference it seems.
    pub(super) speed: Option<f64>,
    /// Rules that took its rank away.
    pub(super) rules: Vec<String>,
    /// What else is said of it: a failure, a caveat, a verdict.
    pub(super) words: String,
}

impl Fate {
    /// What became of a lie in a scenario; nothing where it was not tried there.
    pub(super) fn of(lie: &CataloguedLie, scenario: &str, results: &Results) -> Option<Self> {
        match results {
            Results::Run(cases) => Self::in_run(lie, scenario, cases),
            Results::Duel(comparison) => Self::in_duel(lie, scenario, comparison),
        }
    }

    /// That of an adapter, or of a value, in a run.
    fn in_run(lie: &CataloguedLie, scenario: &str, cases: &[CaseRecord]) -> Option<Self> {
        let case = cases.iter().find(|case| case.id.scenario == scenario && is_of(case, lie.name))?;
        let findings = findings(case);
        let of = |severity: &str| {
            let of = findings.iter().filter(|finding| finding["severity"] == severity);
            let mut rules: Vec<String> =
                of.filter_map(|finding| finding["rule"].as_str().map(str::to_owned)).collect();
            rules.dedup();
            rules
        };
        let (rules, caveats) = (of("fail"), of("caveat"));
        let words = match (&case.status, &case.agreement) {
            (CaseStatus::Failed(why), _) => format!("failed: {}", cause(&why.to_string())),
            (CaseStatus::Skipped(why), _) => format!("skipped: {why}"),
            (CaseStatus::Incomplete, _) => "incomplete".to_owned(),
            (CaseStatus::Measured, Agreement::Differs(what)) => format!("differs: {}", what.join("; ")),
            (CaseStatus::Measured, Agreement::Unverified(why)) => format!("unverified: {why}"),
            (CaseStatus::Measured, _) if caveats.is_empty() => String::new(),
            (CaseStatus::Measured, _) => format!("caveat: {}", caveats.join(", ")),
        };
        let is_ranked = case.ranked() && rules.is_empty();
        let speed = cases
            .iter()
            .find(|other| other.tier == Some(0) && other.group() == case.group())
            .and_then(|reference| Some(throughput(case)? / throughput(reference)?));
        Some(Self { is_ranked, speed, rules, words })
    }

    /// That of an adapter in a duel with the reference: what is weighed is ranked.
    fn in_duel(lie: &CataloguedLie, scenario: &str, comparison: &Comparison) -> Option<Self> {
        let mut rows = comparison.rows.iter();
        let row =
            rows.find(|row| row.case.scenario == scenario && row.case.adapter.as_deref() == Some(lie.name))?;
        let failure = comparison.failures.iter().find(|failure| failure.case == row.case);
        let is_ranked = failure.is_none() && !matches!(row.verdict, Verdict::Incomparable(_));
        let said = serde_json::to_value(&row.verdict).unwrap_or_default();
        let verdict = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
        let words = failure.map_or(verdict, |failure| format!("failed: {failure}"));
        let speed = row.effect.map(|effect| 1.0 / (1.0 + effect.estimate));
        Some(Self { is_ranked, speed, rules: Vec::new(), words })
    }

    /// The rule or the words of a failure that had to name the lie, if one does.
    fn told(&self, expected: &[&'static str]) -> Option<&'static str> {
        let failed = self.words.starts_with("failed: ") || self.words.starts_with("differs: ");
        let names =
            |name: &&str| self.rules.iter().any(|rule| rule == name) || (failed && self.words.contains(name));
        expected.iter().copied().find(names)
    }

    /// What is wrong with what became of it; nothing, where that is what had to.
    pub(super) fn wrong(&self, lie: &CataloguedLie) -> Option<String> {
        match (lie.truth, self.is_ranked) {
            (HonestTwin::Honest, false) => Some(format!("is honest and is not ranked: {}", self.found())),
            (HonestTwin::Lie(_), true) => Some("is a lie and is ranked".to_owned()),
            (HonestTwin::Lie(expected), false) if self.told(expected).is_none() => {
                Some(format!("is told by {} and not by {}", self.found(), expected.join(" or ")))
            }
            (HonestTwin::Honest, true) | (HonestTwin::Lie(_), false) => None,
            (HonestTwin::Words, _) if self.words.starts_with("skipped: ") => None,
            (HonestTwin::Words, _) => Some(format!("was to be skipped, and is not: {}", self.found())),
        }
    }

    /// What was found, in few words.
    pub(super) fn found(&self) -> String {
        match (self.rules.is_empty(), self.words.is_empty()) {
            (true, true) => "nothing".to_owned(),
            (true, false) => first_line(&self.words),
            // What differs from the reference has a rule.
            (false, _) => self.rules.join(", "),
        }
    }
}

/// The cases of a run that lost their rank, each with what the rules say of it.
pub(super) fn accused(results: &Results) -> Vec<String> {
    let Results::Run(cases) = results else { return Vec::new() };
    let fails = |case: &CaseRecord| case.failed_rules().map(ToString::to_string).collect::<Vec<_>>();
    let accused = cases.iter().map(|case| (case, fails(case))).filter(|(_, said)| !said.is_empty());
    accused.map(|(case, said)| format!("{} lost its rank: {}", case.id, said.join("; "))).collect()
}

/// What a failure says after which repeat it was and where.
fn cause(why: &str) -> &str {
    let after = why.split_once(" in the ").and_then(|(_, place)| place.split_once(": "));
    after.map_or(why, |(_, cause)| cause)
}

/// Whether a case is of an adapter, or of a value of an axis, of this name.
fn is_of(case: &CaseRecord, name: &str) -> bool {
    case.id.adapter.as_deref() == Some(name) || case.id.point.iter().any(|value| value.text == name)
}

/// What the rules say of a case, as it stands in its file.
fn findings(case: &CaseRecord) -> Vec<Value> {
    let record = serde_json::to_value(case).unwrap_or_default();
    record["findings"].as_array().cloned().unwrap_or_default()
}

/// Elements in a second of the clock, by which a lie is the faster.
fn throughput(case: &CaseRecord) -> Option<f64> {
    case.metric(names::THROUGHPUT)?.estimate.map(|estimate| estimate.median)
}

/// The first line without what a terminal would obey, cut where it gets long.
fn first_line(text: &str) -> String {
    let line: String =
        text.chars().take_while(|letter| *letter != '\n').filter(|letter| !letter.is_control()).collect();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

/// Characters of what is said in a table.
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge::data::{
        AxisValue, CaseId, Direction, Estimate, FailureReason, MetricRecord, Point, Reading, Unit,
    };

    /// A measured case of the reference, or of what agrees with it, at so many elements in a second.
    fn case(scenario: &str, adapter: &str, rate: f64) -> CaseRecord {
        let small = AxisValue { axis: "variant".into(), text: "small".into(), labelled: true, debug: None };
        let throughput = MetricRecord {
            name: names::THROUGHPUT.into(),
            unit: Unit::ELEMENTS_PER_SECOND,
            direction: Direction::Higher,
            estimate: Estimate::of(&[rate; 7]),
            values: vec![Reading::Value(rate); 7],
            looped: None,
        };
        CaseRecord {
            id: CaseId {
                scenario: scenario.into(),
                point: Point(vec![small]),
                adapter: Some(adapter.into()),
                told_apart: false,
            },
            category: "Computer vision".into(),
            description: "Images to normalised float batches.".into(),
            beside: None,
            tier: Some(0),
            version: None,
            status: CaseStatus::Measured,
            primary_metric: names::THROUGHPUT.into(),
            metrics: vec![throughput],
            ranks: Vec::new(),
            processes: Vec::new(),
            median_repeat: None,
            work: None,
            agreement: Agreement::Reference,
            findings: Vec::new(),
            equivalence: weighbridge::Equivalence::None,
            stationarity: None,
            stopped: None,
            attached: Vec::new(),
            repeats: Vec::new(),
        }
    }

    fn lie(truth: HonestTwin) -> CataloguedLie {
        CataloguedLie { class: "later-passes", name: "zeros", scenarios: &["CV-1"], truth }
    }

    fn fate(rules: &[&str], words: &str) -> Fate {
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        Fate { is_ranked: rules.is_empty() && words.is_empty(), speed: None, rules, words: words.to_owned() }
    }

    #[test]
    fn a_lie_that_is_ranked_or_told_by_another_rule_is_wrong() {
        let seen = lie(HonestTwin::Lie(&["spot-check", "showed"]));
        assert_eq!(fate(&["spot-check"], "").wrong(&seen), None);
        assert_eq!(fate(&["spot-check", "count"], "").wrong(&seen), None);
        assert_eq!(fate(&[], "failed: the source showed 40").wrong(&seen), None);
        assert_eq!(fate(&[], "").wrong(&seen).as_deref(), Some("is a lie and is ranked"));
        let by_chance = fate(&["outside"], "").wrong(&seen);
        assert_eq!(by_chance.as_deref(), Some("is told by outside and not by spot-check or showed"));
        let skipped = fate(&[], "skipped: it showed nothing").wrong(&seen);
        assert!(skipped.is_some_and(|wrong| wrong.contains("skipped")), "a skip names no lie");
    }

    #[test]
    fn whoever_lost_his_rank_is_named_with_the_rules_words() {
        use weighbridge::data::{Finding, FindingDetail, Severity};
        let mut accused = case("CV-1", "Reference", 100.0);
        accused.findings = vec![Finding {
            rule: "outside".into(),
            severity: Severity::Fail,
            repeats: Vec::new(),
            detail: FindingDetail::Evidence("opening took long".into()),
            remedy: String::new(),
            figure: None,
        }];
        let said = super::accused(&Results::Run(vec![case("TAB-1", "Reference", 1.0), accused]));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("CV-1") && said[0].contains("opening took long"), "{said:?}");
    }

    #[test]
    fn an_honest_twin_is_ranked() {
        let honest = lie(HonestTwin::Honest);
        assert_eq!(fate(&[], "").wrong(&honest), None);
        assert!(fate(&["outside"], "").wrong(&honest).is_some());
    }

    #[test]
    fn what_became_of_a_lie_is_read_from_its_case() {
        let mut told = case("CV-1", "zeros", 300.0);
        told.tier = Some(2);
        let cases = [case("CV-1", "Reference", 100.0), told];
        let fate = Fate::in_run(&lie(HonestTwin::Honest), "CV-1", &cases).expect("it was run");
        assert!(fate.is_ranked && fate.speed.is_some_and(|speed| (2.9..3.1).contains(&speed)), "{fate:?}");
        assert_eq!(Fate::in_run(&lie(HonestTwin::Honest), "TAB-1", &cases), None);
        let [reference, mut failed] = cases;
        failed.status = CaseStatus::Failed(FailureReason::Unwritable("repeat 1 panicked\nat once".into()));
        let fate = Fate::in_run(&lie(HonestTwin::Honest), "CV-1", &[reference, failed]).expect("it was run");
        assert_eq!((fate.is_ranked, fate.found().as_str()), (false, "failed: repeat 1 panicked"));
        assert_eq!(
            cause("repeat 1 did work that does not verify in the tear-down: so: and so"),
            "so: and so"
        );
    }
}
