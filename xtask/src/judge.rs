//! `runs judge`: the findings of a stored run by today's rules, from its evidence.

use anyhow::Result;
use weighbridge::data::{
    Agreement, CaseId, CaseRecord, ExaminedCase, Exit, Finding, FindingDetail, Outcome, Repeat, Severity,
    Work, judge_evidence,
};

use crate::command_output::CommandOutput;
use crate::place::Place;
use crate::table::Table;
use crate::{pick, stop};

pub(crate) fn run(typed: &str, write: bool, place: &Place) -> Result<CommandOutput> {
    let picked = pick::runs(place, Some(typed), None)?;
    let mut text = String::new();
    let mut remarks = picked.remarks;
    let mut fails = false;
    for manifest in &picked.runs {
        let journal = place.runs().finished(&manifest.id)?;
        let run = place.runs().load_whole(&manifest.id)?;
        let mut table = Table::new(["case", "rule", "severity", "repeats", "what was found"]);
        let mut judged = 0;
        for mut case in run.cases {
            let Some(findings) = findings(&case, &journal) else { continue };
            judged += 1;
            fails |= findings.iter().any(|finding| finding.severity == Severity::Fail);
            for finding in &findings {
                table.row(row(&case.id, finding));
            }
            // What estimates say of themselves is not of the rules, and stays.
            let (before, others): (Vec<Finding>, Vec<Finding>) =
                case.findings.iter().cloned().partition(is_of_a_rule);
            if findings != before {
                remarks.push(changed(&case.id, &before, &findings));
                if write {
                    case.findings = findings.into_iter().chain(others).collect();
                    place.runs().write_case(&manifest.id, &case)?;
                }
            }
        }
        if judged == 0 {
            let id = &manifest.id;
            return Err(stop::nothing(format!("run {id} has no case with evidence to judge")));
        }
        text.push_str(&format!(
            "{}: judged by evidence: {judged} case{}\n",
            manifest.id,
            if judged == 1 { "" } else { "s" }
        ));
        text.push_str(&table.text());
    }
    Ok(CommandOutput {
        remarks,
        exit: if fails { Exit::Failed } else { Exit::Fine },
        ..CommandOutput::fine(text)
    })
}

fn row(case: &CaseId, finding: &Finding) -> [String; 5] {
    let numbers: Vec<String> = finding.repeats.iter().map(ToString::to_string).collect();
    let severity = finding.severity.name().to_owned();
    [case.to_string(), finding.rule.clone(), severity, numbers.join(" "), finding.detail.to_string()]
}

/// In what today's findings differ from those that are stored.
fn changed(case: &CaseId, before: &[Finding], findings: &[Finding]) -> String {
    let names = |findings: &[Finding]| {
        let names: Vec<String> = findings
            .iter()
            .map(|finding| format!("{} ({})", finding.rule, finding.severity.name()))
            .collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    };
    format!("{case}: its record has {}, today's rules find {}", names(before), names(findings))
}

/// Returns whether a rule of today's found it; one that is there no more found nothing.
fn is_of_a_rule(finding: &Finding) -> bool {
    matches!(finding.detail, FindingDetail::Evidence(_))
}

/// Returns the findings of the rules in a case; `None` where it has no evidence.
fn findings(case: &CaseRecord, journal: &[(CaseId, Repeat)]) -> Option<Vec<Finding>> {
    let examined = ExaminedCase {
        equivalence: case.equivalence,
        agreement: &case.agreement,
        reference: reference(case, journal),
        repeats: &case.repeats,
    };
    examined.has_evidence().then(|| judge_evidence(&examined))
}

/// The work of the case's reference: its own where it is one, else that of the unmeasured repeat of the one
/// with its scenario and point that others agree with.
fn reference<'a>(case: &'a CaseRecord, journal: &'a [(CaseId, Repeat)]) -> Option<&'a Work> {
    if case.agreement == Agreement::Reference {
        return case.work.as_ref();
    }
    let verified = |(id, repeat): &'a (CaseId, Repeat)| {
        let same = id.scenario == case.id.scenario && id.point == case.id.point && *id != case.id;
        match &repeat.outcome {
            // A reference is held against itself: none of its elements is a stranger, and it is whole.
            Outcome::Measured { work: Some(work), evidence, .. } if same && repeat.number == 0 => {
                (evidence.compared.as_ref()?.same == Some(true)).then_some(work)
            }
            _ => None,
        }
    };
    journal.iter().find_map(verified)
}
