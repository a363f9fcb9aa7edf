//! Two work reports side by side: did both do the same work, as far as the scenario asks?

use serde::{Deserialize, Serialize};

use super::UnverifiedReason;
use crate::bencher::{Content, Evidence, FieldKind, Moments, Work};
use crate::registry::Equivalence;

/// The standing of the work of a case to the reference's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// It is the reference.
    Reference,
    /// It agrees, as far as the scenario asks.
    Agrees,
    /// It differs: in what.
    Differs(Vec<String>),
    /// It differs as the adapter said it would: listed apart, no failure.
    Declared(String),
    /// There was nothing to compare: why.
    Unverified(UnverifiedReason),
    /// The scenario does not ask.
    NotAsked,
}

/// Tells how `work` stands to the `reference`'s.
///
/// The input must agree always, and whether batches are handed over on the host or on a device: who delivers
/// elsewhere has another transfer. [`Equivalence::Exact`] asks for the same elements bit by bit and the same
/// transforms, [`Equivalence::Approx`] for the same counts, fields and transforms and for moments within the
/// tolerance, [`Equivalence::Alike`] for the same counts, fields and transforms and for traits that are
/// spread alike, [`Equivalence::Shape`] for the same counts and fields, [`Equivalence::None`] for nothing
/// more. Work that differs in spite of that differs in words, or as its work report declares.
pub fn agree(work: &Work, reference: &Work, equivalence: Equivalence) -> Agreement {
    let mut found = WorkDifferences::default();
    let (report, expected) = (&work.report, &reference.report);
    found.check("input", &or_none(report.input.as_ref()), &or_none(expected.input.as_ref()));
    found.check("delivered to", &report.delivery.place(), &expected.delivery.place());
    match equivalence {
        Equivalence::Exact => {
            found.transforms(&report.transforms, &expected.transforms);
            found.shape(&work.content, &reference.content);
            found.digest(&work.content, &reference.content);
        }
        Equivalence::Approx(tolerance) => {
            found.transforms(&report.transforms, &expected.transforms);
            found.shape(&work.content, &reference.content);
            found.moments(&work.content, &reference.content, tolerance);
        }
        Equivalence::Alike(tolerance) => {
            found.transforms(&report.transforms, &expected.transforms);
            found.shape(&work.content, &reference.content);
            found.0.extend(unlike(&work.content, &reference.content, tolerance, None));
        }
        Equivalence::Shape => found.shape(&work.content, &reference.content),
        Equivalence::None => {}
    }
    match (found.0.is_empty(), &report.unequal, equivalence) {
        (true, _, Equivalence::None) => Agreement::NotAsked,
        (true, ..) => Agreement::Agrees,
        (false, Some(why), _) => Agreement::Declared(why.clone()),
        (false, None, _) => Agreement::Differs(found.0),
    }
}

/// The difference between the answers of a body and the reference's, where they are others: the first one of
/// both, if that differs.
pub fn other_answers(evidence: &Evidence) -> Option<String> {
    let compared = evidence.compared.as_ref().filter(|compared| compared.same == Some(false))?;
    let (own, there) = (evidence.answers.as_ref()?, compared.answers.as_ref()?);
    Some(match own.shown == there.shown {
        true => "its answers to some of the inputs that were drawn are not the reference's".to_owned(),
        false => {
            format!("its answer to a drawn input is `{}`, the reference's is `{}`", own.shown, there.shown)
        }
    })
}

/// Differences that were found, in words, each with the value of the work and the reference's.
#[derive(Default)]
struct WorkDifferences(Vec<String>);

impl WorkDifferences {
    fn check<T: PartialEq + std::fmt::Display>(&mut self, what: &str, here: &T, there: &T) {
        if here != there {
            self.0.push(format!("{what}: {here}, the reference has {there}"));
        }
    }

    fn transforms(&mut self, here: &[String], there: &[String]) {
        self.check("transforms", &list(here), &list(there));
    }

    /// Counts and fields.
    fn shape(&mut self, here: &Content, there: &Content) {
        self.check("elements", &here.elements, &there.elements);
        let kinds = |content: &Content| list(&content.fields.iter().map(kind).collect::<Vec<_>>());
        self.check("fields", &kinds(here), &kinds(there));
        let mut names: Vec<&str> =
            here.moments.keys().chain(there.moments.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let count = |content: &Content| content.moments.get(name).map_or(0, |moments| moments.count);
            self.check(&format!("numbers in `{name}`"), &count(here), &count(there));
        }
    }

    fn digest(&mut self, here: &Content, there: &Content) {
        let hex = |content: &Content| format!("{:032x}", content.digest);
        self.check("digest of all elements", &hex(here), &hex(there));
    }

    fn moments(&mut self, here: &Content, there: &Content, tolerance: f64) {
        for (name, reference) in &there.moments {
            // A field that is missing was told with the fields.
            let Some(moments) = here.moments.get(name) else { continue };
            let scale = reference.min.abs().max(reference.max.abs());
            for (part, here, there) in [
                ("mean", moments.mean(), reference.mean()),
                ("deviation", moments.deviation(), reference.deviation()),
                ("least", moments.min, reference.min),
                ("greatest", moments.max, reference.max),
            ] {
                if !near(here, there, tolerance, scale) {
                    self.0.push(format!(
                        "{part} of `{name}`: {here}, the reference has {there} (tolerance {tolerance} of \
                         {scale})"
                    ));
                }
            }
        }
    }
}

/// Standard errors by which means and deviations of traits may differ by chance: of two hundred figures of
/// honest work one in a million is further off, if figures are normal; they have heavier tails, which the
/// margin is for.
const CHANCE: f64 = 5.5;

/// Tolerances by which the least and the greatest number of a field may differ: each is one number of
/// millions.
const EXTREMES: f64 = 12.0;

/// Returns the traits of elements that are not spread as the reference's.
///
/// With a scale `r`, the greatest absolute number of the field in the reference, and the mean `m`, deviation
/// `s` and count `n` of a trait on either side, means and deviations may each differ by
/// `tolerance * r + 5.5 * sqrt(s1^2 / n1 + s2^2 / n2)`: what interpolation and rounding do to each element,
/// and what a sample of so many does by chance. (The deviation of a deviation is `s * sqrt((k - 1) / 4n)` for
/// a kurtosis `k`: below `s / sqrt(n)` up to a kurtosis of 5.) `different` says how many different elements a
/// sample has, where that is not all.
pub(super) fn unlike(here: &Content, there: &Content, tolerance: f64, different: Option<f64>) -> Vec<String> {
    let mut found = Vec::new();
    if there.traits.is_empty() {
        found.push("the reference has no traits of elements to compare with".to_owned());
    }
    for (name, reference) in &there.traits {
        let field = name.split(": ").next().unwrap_or_default();
        let Some(scale) = there.moments.get(field).map(|all| all.min.abs().max(all.max.abs())) else {
            continue;
        };
        let Some(moments) = here.traits.get(name).filter(|moments| moments.count > 0) else {
            found.push(format!("no element has the trait `{name}`"));
            continue;
        };
        if moments.not_finite > reference.not_finite {
            found.push(format!("`{name}` is no number in {} elements", moments.not_finite));
        }
        let sample = different.unwrap_or(moments.count as f64).min(moments.count as f64).max(1.0);
        let variance = |moments: &Moments, count: f64| moments.deviation().powi(2) / count;
        // Of a sample that has next to no spread by chance, the reference's counts.
        let own = variance(moments, sample).max(variance(reference, sample));
        let chance = CHANCE * (own + variance(reference, reference.count as f64)).sqrt();
        let allowed = tolerance * scale + chance;
        for (part, here, there) in [
            ("mean", moments.mean(), reference.mean()),
            ("deviation", moments.deviation(), reference.deviation()),
        ] {
            let one = part == "deviation" && sample < 2.0;
            let within = (here - there).abs() <= allowed; // what is no number is not
            if !one && !within {
                found.push(format!(
                    "{part} of `{name}` over elements: {here:.5}, the reference has {there:.5} (allowed \
                     {allowed:.5}: {tolerance} of {scale} and chance)"
                ));
            }
        }
    }
    for (field, reference) in &there.moments {
        let Some(moments) = here.moments.get(field) else { continue };
        let scale = reference.min.abs().max(reference.max.abs());
        let slack = EXTREMES * tolerance * scale;
        for (part, value, bound, beyond) in [
            ("least", moments.min, reference.min, moments.min < reference.min - slack),
            ("greatest", moments.max, reference.max, moments.max > reference.max + slack),
        ] {
            if beyond {
                found.push(format!("{part} of `{field}`: {value}, the reference has {bound}"));
            }
        }
    }
    found
}

/// Tells whether two values agree within a share of the field's scale. What is no finite number agrees with
/// its like alone.
pub(super) fn near(here: f64, there: f64, tolerance: f64, scale: f64) -> bool {
    let alike = here.total_cmp(&there).is_eq() || (here.is_nan() && there.is_nan());
    alike || (scale.is_finite() && (here - there).abs() <= tolerance * scale)
}

pub(super) fn kind(field: &FieldKind) -> String {
    format!("{}: {} {:?}", field.name, field.dtype.name(), field.shape)
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

fn or_none(text: Option<&String>) -> &str {
    text.map_or("none", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{AnswerReading, ReferenceComparison};
    use crate::bencher::{Delivery, Dtype, FieldCopy, ItemCopy, WorkReport};

    fn work(values: &[f32]) -> Work {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let field = FieldCopy { name: "x".into(), dtype: Dtype::F32, shape: vec![], bytes };
        let mut content = Content::default();
        content.add(&ItemCopy { elements: values.len(), fields: vec![field] }).unwrap();
        let report = WorkReport {
            input: Some("d1".into()),
            transforms: vec!["normalize".into(), "cast".into()],
            ..WorkReport::default()
        };
        Work { report, content }
    }

    fn changed(change: impl FnOnce(&mut Work)) -> Work {
        let mut work = work(&[1.0, 2.0, 3.0]);
        change(&mut work);
        work
    }

    #[track_caller]
    fn check(other: &Work, equivalence: Equivalence, expected: &[&str]) {
        match agree(other, &work(&[1.0, 2.0, 3.0]), equivalence) {
            Agreement::Agrees | Agreement::NotAsked => assert!(expected.is_empty(), "it agrees"),
            Agreement::Differs(found) => assert_eq!(found, expected),
            other => panic!("{other:?}"),
        }
    }

    const ALL: [Equivalence; 4] =
        [Equivalence::Exact, Equivalence::Approx(0.01), Equivalence::Shape, Equivalence::None];

    #[test]
    fn answers_that_are_others_are_shown_beside_the_references() {
        let shown = |text: &str| AnswerReading { shown: text.to_owned(), ..AnswerReading::default() };
        let of = |own: &str, there: &str, same| {
            let answers = Some(shown(there));
            let compared = Some(ReferenceComparison { answers, same, ..ReferenceComparison::default() });
            other_answers(&Evidence { answers: Some(shown(own)), compared, ..Evidence::default() })
        };
        let said = of("[2]", "[1]", Some(false)).unwrap();
        assert_eq!(said, "its answer to a drawn input is `[2]`, the reference's is `[1]`");
        assert!(of("[1]", "[1]", Some(false)).unwrap().starts_with("its answers to some of the inputs"));
        assert_eq!((of("[1]", "[1]", Some(true)), of("[2]", "[1]", None)), (None, None));
    }

    #[test]
    fn equal_work_agrees_in_any_order_of_elements() {
        for equivalence in ALL {
            check(&work(&[3.0, 1.0, 2.0]), equivalence, &[]);
        }
        assert_eq!(agree(&work(&[1.0]), &work(&[2.0]), Equivalence::None), Agreement::NotAsked);
    }

    #[test]
    fn the_input_must_agree_always() {
        for equivalence in ALL {
            let other = changed(|work| work.report.input = Some("d2".into()));
            check(&other, equivalence, &["input: d2, the reference has d1"]);
            let other = changed(|work| work.report.input = None);
            check(&other, equivalence, &["input: none, the reference has d1"]);
        }
    }

    #[test]
    fn where_batches_are_handed_over_must_agree_always() {
        for equivalence in ALL {
            let viewed = changed(|work| work.report.delivery = Delivery::View);
            check(&viewed, equivalence, &[]);
            let stays = changed(|work| work.report.delivery = Delivery::Device);
            check(&stays, equivalence, &["delivered to: the device, the reference has the host"]);
        }
    }

    #[test]
    fn a_changed_value_disagrees_exactly_and_agrees_approximately() {
        let other = work(&[1.0, 2.0, 3.001]);
        check(&other, Equivalence::Approx(0.01), &[]);
        check(&other, Equivalence::Shape, &[]);
        let Agreement::Differs(found) = agree(&other, &work(&[1.0, 2.0, 3.0]), Equivalence::Exact) else {
            panic!("it agrees");
        };
        assert!(found.len() == 1 && found[0].starts_with("digest of all elements: "), "{found:?}");
    }

    #[test]
    fn moments_that_lie_too_far_off_are_told_one_by_one() {
        check(
            &work(&[1.0, 2.0, 6.0]),
            Equivalence::Approx(0.5),
            &["greatest of `x`: 6, the reference has 3 (tolerance 0.5 of 3)"],
        );
        check(&work(&[1.0, 2.0, 6.0]), Equivalence::Shape, &[]);
    }

    #[test]
    fn numbers_that_are_not_finite_agree_with_their_like_alone() {
        let (plain, broken) = (work(&[1.0, 2.0]), work(&[1.0, f32::NAN]));
        assert_eq!(agree(&broken, &broken, Equivalence::Approx(0.1)), Agreement::Agrees);
        assert!(matches!(agree(&broken, &plain, Equivalence::Approx(0.1)), Agreement::Differs(_)));
        assert!(matches!(agree(&plain, &broken, Equivalence::Approx(0.1)), Agreement::Differs(_)));
        let endless = work(&[1.0, f32::INFINITY]);
        assert!(matches!(agree(&plain, &endless, Equivalence::Approx(0.1)), Agreement::Differs(_)));
    }

    #[test]
    fn a_missing_element_a_dtype_and_a_field_name_disagree_in_shape() {
        let told = ["elements: 2, the reference has 3", "numbers in `x`: 2, the reference has 3"];
        check(&work(&[1.0, 2.0]), Equivalence::Shape, &told);
        let other = changed(|work| work.content.fields[0].dtype = Dtype::F64);
        check(&other, Equivalence::Shape, &["fields: [x: f64 []], the reference has [x: f32 []]"]);
        let other = changed(|work| work.content.fields[0].name = "y".into());
        check(&other, Equivalence::Shape, &["fields: [y: f32 []], the reference has [x: f32 []]"]);
    }

    #[test]
    fn the_transforms_must_be_the_same_list_in_the_same_order() {
        let other = changed(|work| work.report.transforms.reverse());
        let told = ["transforms: [cast, normalize], the reference has [normalize, cast]"];
        check(&other, Equivalence::Exact, &told);
        check(&other, Equivalence::Approx(0.1), &told);
        check(&other, Equivalence::Shape, &[]);
    }

    #[test]
    fn a_declared_difference_is_no_disagreement_and_a_needless_declaration_agrees() {
        let declare = |work: &mut Work| work.report.unequal = Some("skips the blur".into());
        let other = changed(|work| {
            declare(work);
            work.content.elements = 2;
        });
        let reference = work(&[1.0, 2.0, 3.0]);
        let declared = Agreement::Declared("skips the blur".into());
        assert_eq!(agree(&other, &reference, Equivalence::Exact), declared);
        assert_eq!(agree(&changed(declare), &reference, Equivalence::Exact), Agreement::Agrees);
    }
}
