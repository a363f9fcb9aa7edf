//! An honest case, and what becomes of it when one thing is changed.

use super::judge;
use crate::bencher::{
    Account, Content, Delivery, Dtype, Evidence, ExpectedEpoch, FieldCopy, ItemCopy, Purpose,
    ReferenceComparison, UnstoppedEpoch, Work, WorkReport,
};
use crate::metric::{Observation, SampleKind};
use crate::registry::Equivalence;
use crate::run::{Outcome, Repeat};
use crate::verify::{Agreement, ExaminedCase, Finding, Severity};

/// 1000 elements in batches of 64, from 3 KiB to 12 KiB each.
pub(super) const EPOCH: ExpectedEpoch = ExpectedEpoch {
    elements: 5_000,
    batch: 50,
    bytes: 5_000 * 12 * 1024,
    source: 5_000 * 3 * 1024,
    transforms: true,
    in_order: true,
    in_memory: true,
    makers: 1,
    keeps: false,
    renewed: false,
};

pub(super) fn work(values: &[f32]) -> Work {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let field = FieldCopy { name: "x".into(), dtype: Dtype::F32, shape: vec![], bytes };
    let mut content = Content::default();
    content.add(&ItemCopy { elements: values.len(), fields: vec![field] }).unwrap();
    Work { report: WorkReport { delivery: Delivery::Owned, ..WorkReport::default() }, content }
}

/// A measured repeat: 20 batches of 50 elements in a millisecond each.
pub(super) struct Case {
    pub(super) equivalence: Equivalence,
    pub(super) agreement: Agreement,
    pub(super) seen: Observation,
    pub(super) evidence: Evidence,
    /// The evidence of the unmeasured repeat; `None` where there is no such repeat.
    pub(super) unmeasured: Option<Evidence>,
    pub(super) work: Work,
    /// Nanoseconds of the whole repeat.
    pub(super) slot: u64,
    /// The number of repeats there are, all alike.
    pub(super) repeats: u32,
    /// Of them, those of which a worker does not tell a second.
    pub(super) untold: u32,
}

pub(super) fn honest() -> Case {
    let seen = Observation {
        taken: Some(SampleKind::Items),
        samples: vec![1_000_000; 20],
        iterations_per_sample: 1,
        passes: 1,
        warmup: 3,
        elements: 1_000,
        wall: 20_000_000,
        ..Observation::default()
    };
    let evidence = Evidence {
        expected: Some(EPOCH),
        begun: 1,
        compared: Some(ReferenceComparison {
            elements: 200,
            places: 200,
            distinct: 200,
            independent: 200.0,
            unique: 1.0,
            ..ReferenceComparison::default()
        }),
        unstopped: Some(UnstoppedEpoch {
            wall: 106_000_000,
            begin: 1_000_000,
            first: 5_000_000,
            elements: 5_000,
            batches: 100,
            ended: true,
            ..UnstoppedEpoch::default()
        }),
        view: Some(false),
        ..Evidence::default()
    };
    Case {
        equivalence: Equivalence::Exact,
        agreement: Agreement::Agrees,
        seen,
        evidence,
        unmeasured: None,
        work: work(&[1.0, 2.0, 3.0]),
        slot: 100_000_000,
        repeats: 1,
        untold: 0,
    }
}

/// A worker's.
pub(super) fn honest_worker() -> Case {
    let mut case = honest();
    case.evidence.claimed = Some(1_000);
    case.evidence.account = Some(Account {
        passed: 30_000_000,
        claimed: 29_900_000,
        cpu: Some(30_000_000),
        all_seen: true,
        cpu_claimed: Some(29_000_000),
        samples: 20_000_000,
        wall: 20_000_000,
        count: 20,
        running: Some(20_000_000),
        batch: 1_000_000,
        ..Account::default()
    });
    case
}

impl Case {
    pub(super) fn judged(&self) -> Vec<Finding> {
        let outcome = |number| {
            let mut evidence = self.evidence.clone();
            if let Some(account) = evidence.account.as_mut().filter(|_| number <= self.untold) {
                account.passed += 1_000_000_000;
            }
            Outcome::Measured {
                seen: Box::new(self.seen.clone()),
                work: Some(self.work.clone()),
                evidence: Box::new(evidence),
            }
        };
        let repeat = |number| Repeat {
            number,
            purpose: Purpose::Measure,
            slot: self.slot,
            start: None,
            tree: None,
            utilisation: None,
            surroundings: 0,
            outcome: outcome(number),
        };
        let unmeasured = self.unmeasured.as_ref().map(|evidence| Repeat {
            purpose: Purpose::Verify,
            outcome: Outcome::Measured {
                seen: Box::new(Observation::default()),
                work: Some(self.work.clone()),
                evidence: Box::new(evidence.clone()),
            },
            ..repeat(0)
        });
        let repeats: Vec<Repeat> = unmeasured.into_iter().chain((1..=self.repeats).map(repeat)).collect();
        judge(&ExaminedCase {
            equivalence: self.equivalence,
            agreement: &self.agreement,
            reference: Some(&work(&[1.0, 2.0, 3.0])),
            repeats: &repeats,
        })
    }
}

/// Returns the finding of a case that is changed so: the rule, and whether it fails; `None` where nothing is
/// found.
#[track_caller]
pub(super) fn found(mut case: Case, change: impl FnOnce(&mut Case)) -> Option<(String, bool, String)> {
    assert_eq!(case.judged(), [], "it is honest before it is changed");
    change(&mut case);
    let findings = case.judged();
    assert!(findings.len() < 2, "{findings:?}");
    let finding = findings.into_iter().next()?;
    Some((finding.rule, finding.severity == Severity::Fail, finding.detail.to_string()))
}

/// That a change is found by this rule, which takes the rank away and says so.
#[track_caller]
pub(super) fn fails(case: Case, change: impl FnOnce(&mut Case), rule: &str, says: &str) {
    let (by, fail, said) = found(case, change).expect("it is found");
    assert_eq!((&*by, fail), (rule, true), "{said}");
    assert!(said.contains(says), "{said}");
}

/// That nothing is found of a change.
#[track_caller]
pub(super) fn passes(case: Case, change: impl FnOnce(&mut Case)) {
    assert_eq!(found(case, change), None);
}
