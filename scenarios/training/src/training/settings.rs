//! What a system has really set, beside what the configuration asks for.

use std::collections::BTreeMap;

use weighbridge::{Error, Result};

use crate::workload::TrainingSpec;

/// The share of a number by which it may be off: `f32` has 24 bits.
const ROUNDED: f64 = 1e-6;

/// Refuses a training that is set otherwise than its configuration says.
///
/// # Errors
/// The first keys that differ, each with both values; a key that is not told.
pub(super) fn check_settings(spec: &TrainingSpec, settings: &BTreeMap<String, String>) -> Result<()> {
    let size = spec.layers()?.size()? as f64;
    let mut numbers = vec![("batch".to_owned(), spec.batch as f64), ("parameters".to_owned(), size)];
    numbers.extend(spec.optimiser.settings().into_iter().map(|(key, number)| (key.to_owned(), number)));
    numbers.extend(spec.schedule.settings(spec.optimiser.rate()));
    let mut wrong = Vec::new();
    let words = [("optimiser", spec.optimiser.name().to_owned()), ("precision", spec.precision.to_string())];
    for (key, asked) in words {
        match settings.get(key) {
            Some(set) if *set == asked => {}
            set => wrong.push((key.to_owned(), said(set), asked)),
        }
    }
    for (key, asked) in numbers {
        let set = settings.get(&key);
        let number = set.and_then(|set| set.parse::<f64>().ok());
        if !number.is_some_and(|number| (number - asked).abs() <= ROUNDED * asked.abs()) {
            wrong.push((key, said(set), asked.to_string()));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let each: Vec<String> = wrong
        .into_iter()
        .map(|(key, set, asked)| format!("`{key}` is {set} where the configuration has {asked}"))
        .collect();
    Err(Error::new(format!("the system trains with other settings: {}", each.join("; "))))
}

fn said(set: Option<&String>) -> String {
    set.map_or_else(|| "not told".to_owned(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Optimiser, Schedule, TrainingSpec};

    fn tiny() -> TrainingSpec {
        let optimiser = Optimiser::Adamw { rate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-6, decay: 0.05 };
        TrainingSpec { optimiser, ..TrainingSpec::read(TrainingSpec::TINY).unwrap() }
    }

    fn told() -> BTreeMap<String, String> {
        let size = tiny().layers().unwrap().size().unwrap().to_string();
        let pairs = [
            ("optimiser", "adamw"),
            ("precision", "f32"),
            ("batch", "32"),
            ("parameters", &size),
            ("optimiser.rate", "0.0010000000474974513"), // as `f32` has it
            ("optimiser.beta1", "0.9"),
            ("optimiser.beta2", "0.999"),
            ("optimiser.epsilon", "1e-06"),
            ("optimiser.decay", "0.05"),
        ];
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn what_is_set_as_asked_passes_also_where_it_is_rounded_to_f32() {
        check_settings(&tiny(), &told()).unwrap();
    }

    #[test]
    fn a_rate_that_changes_otherwise_with_the_steps_is_named_by_its_step() {
        let spec = TrainingSpec { schedule: Schedule::Cosine { warmup: 1, until: 3, least: 0.0 }, ..tiny() };
        let said = check_settings(&spec, &told()).unwrap_err().to_string();
        assert!(
            said.contains("`optimiser.rate of step 0` is not told where the configuration has 0.0005"),
            "{said}"
        );
        let rates = spec.schedule.settings(1e-3).into_iter().map(|(key, rate)| (key, rate.to_string()));
        let mut settings: BTreeMap<String, String> = told().into_iter().chain(rates).collect();
        check_settings(&spec, &settings).unwrap();
        settings.insert("optimiser.rate of step 2".into(), "0.001".into());
        let said = check_settings(&spec, &settings).unwrap_err().to_string();
        assert!(
            said.contains("`optimiser.rate of step 2` is 0.001 where the configuration has 0.0005"),
            "{said}"
        );
    }

    #[test]
    fn each_key_that_differs_is_named_with_both_values() {
        for (key, other, asked) in [
            ("optimiser.epsilon", "1e-07", "0.000001"),
            ("optimiser", "sgd", "adamw"),
            ("precision", "bf16", "f32"),
            ("batch", "31", "32"),
            ("parameters", "1", "467946"),
        ] {
            let mut settings = told();
            settings.insert(key.into(), other.into());
            let said = check_settings(&tiny(), &settings).unwrap_err().to_string();
            assert!(
                said.contains(&format!("`{key}` is {other} where the configuration has {asked}")),
                "{said}"
            );
            settings.remove(key);
            let said = check_settings(&tiny(), &settings).unwrap_err().to_string();
            assert!(said.contains(&format!("`{key}` is not told")), "{said}");
        }
    }
}
