//! The scenarios that benchmarks become: one for each group, with what is in it on one axis.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;

use weighbridge::style::{
    Axes, Axis, AxisTraits, Budget, Keep, Location, Point, Purpose, ScenarioEntry, Settings, TypedAxis,
    WrittenValue,
};
use weighbridge::{Bencher, Error, PartialBudget};

use crate::catalogue::{Catalogue, FoundBench};
use crate::memory::remember_needing;
use crate::visit::{Measuring, State, WALK, Walk, is_over};

/// The groups of the file, for processes that go through them.
pub(crate) static GROUPS: OnceLock<Vec<fn()>> = OnceLock::new();

/// The benchmarks of this program.
static FOUND: OnceLock<Catalogue> = OnceLock::new();

/// The scenarios. `by_file`: whether filters in the file hold.
pub(crate) fn entries(catalogue: Catalogue, by_file: bool) -> Vec<ScenarioEntry> {
    let catalogue = FOUND.get_or_init(|| catalogue);
    let mut scenarios: Vec<(&str, Vec<&FoundBench>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for bench in catalogue.benches.iter().filter(|bench| !(by_file && bench.filtered)) {
        let scenario = bench.group.as_deref().unwrap_or(&bench.own);
        let place = *places.entry(scenario).or_insert_with(|| {
            scenarios.push((scenario, Vec::new()));
            scenarios.len() - 1
        });
        scenarios[place].1.push(bench);
    }
    let benches = scenarios.into_iter().map(|(name, benches)| entry(name, &benches));
    let failed =
        catalogue.failed.iter().map(|failed| ScenarioEntry { run: fail, ..entry(&failed.case, &[]) });
    benches.chain(failed).collect()
}

/// One scenario. A benchmark that is called like a group stands in it without a value.
fn entry(name: &str, benches: &[&FoundBench]) -> ScenarioEntry {
    let alone = benches.iter().any(|bench| bench.group.is_none());
    let own = alone.then_some(name);
    let members = benches.iter().filter(|bench| bench.group.is_some()).map(|bench| &*bench.own);
    let labels: Vec<Option<&'static str>> =
        own.into_iter().chain(members).map(|label| Some(&*label.to_owned().leak())).collect();
    let axes: Vec<Axis> = if labels.len() == usize::from(alone) {
        Vec::new()
    } else {
        let axis = TypedAxis {
            name: "benchmark",
            all: true,
            implied: alone,
            labels: labels.leak(),
            make: WrittenValue,
            traits: AxisTraits { parse: None, display: None, debug: None },
        };
        vec![axis.erase()]
    };
    let function = benches.first().map_or("", |bench| &*bench.function);
    ScenarioEntry {
        id: name.to_owned().leak(),
        category: "criterion",
        description: "",
        sets: &[],
        equivalence: None,
        equivalence_by: None,
        contract: None,
        location: Location { module: "", file: function.to_owned().leak(), line: 0 },
        axes: Axes::Found(axes.leak()),
        keep: Keep::always,
        needs: None,
        describe: None,
        group: None,
        collective: false,
        budget: benches.first().map_or(PartialBudget::NONE, |bench| PartialBudget {
            samples: bench.samples.map(|least| least as u64),
            max_time: bench.most_time,
            ..PartialBudget::NONE
        }),
        run,
    }
}

/// The case of a function that panics outside of its closures.
fn fail(lent: &mut Bencher, _: Option<&mut dyn Any>, _: &Point) -> Result<(), Error> {
    let failed = FOUND.get().into_iter().flat_map(|found| &found.failed);
    let why =
        failed.into_iter().find(|failed| failed.case == lent.scenario()).map(|failed| failed.why.clone());
    Err(Error::new(why.unwrap_or_default()))
}

/// The benchmark that a point of a scenario is.
pub(crate) fn found(scenario: &str, point: &Point) -> Result<&'static FoundBench, Error> {
    let label = point.iter().next().map(|value| &*value.text);
    let is_meant = |bench: &&FoundBench| match (&bench.group, label) {
        (Some(group), Some(label)) => group == scenario && bench.own == label,
        (None, None) => bench.own == scenario,
        _ => false,
    };
    let found = FOUND.get().and_then(|found| found.benches.iter().find(is_meant));
    found.ok_or_else(|| Error::new(format!("there is no benchmark `{scenario}`")))
}

/// Goes through the functions of the file for the one benchmark that the bencher is for.
fn run(lent: &mut Bencher, _: Option<&mut dyn Any>, point: &Point) -> Result<(), Error> {
    let bench = found(lent.scenario(), point)?;
    let nobody = || Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
    let bencher = Box::new(std::mem::replace(lent, nobody()));
    let (mut ended, mut panic) = walk(bench, bench.closures, bencher);
    if panic.is_some()
        && !bench.closures
        && let Some(bencher) = ended.bencher.take()
    {
        // It may need what closures before it leave behind.
        bencher.begin_again();
        let (again, other) = walk(bench, true, bencher);
        if other.is_none() {
            remember_needing(&bench.wanted.0);
        }
        (ended, panic) = (again, other);
    }
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    if let Some(bencher) = ended.bencher {
        *lent = *bencher;
    }
    if ended.state == State::Over {
        return Ok(());
    }
    let said = ended.panicked.into_iter().map(|(function, text)| format!("; `{function}` panicked: {text}"));
    let said: String = said.collect();
    Err(Error::new(format!("there was a benchmark `{}`, and now there is none{said}", bench.wanted.0)))
}

type Panic = Box<dyn Any + Send>;

/// Goes through the functions; gives back the walk, and the panic of the benchmark's own closure.
fn walk(bench: &FoundBench, closures: bool, bencher: Box<Bencher>) -> (Measuring, Option<Panic>) {
    WALK.set(Walk::Measuring(Measuring::new(bench.wanted.clone(), closures, bencher)));
    let mut panic = None;
    for group in GROUPS.get().into_iter().flatten() {
        let thrown = catch_unwind(AssertUnwindSafe(group)).err();
        if is_over() {
            break;
        }
        panic = thrown;
        if panic.is_some() {
            break;
        }
    }
    match WALK.take() {
        Walk::Measuring(ended) => (ended, panic),
        _ => unreachable!("nobody else sets the walk of this thread"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(group: Option<&str>, own: &str) -> FoundBench {
        FoundBench {
            group: group.map(str::to_owned),
            own: own.to_owned(),
            wanted: (own.to_owned(), 0),
            function: "benches".to_owned(),
            closures: false,
            samples: None,
            most_time: None,
            filtered: own == "left out",
        }
    }

    #[test]
    fn a_group_is_a_scenario_and_a_benchmark_that_is_called_like_it_stands_in_it() {
        let benches = [
            bench(Some("sum"), "iter/10"),
            bench(None, "alone"),
            bench(Some("sum"), "iter/20"),
            bench(None, "sum"),
            bench(None, "left out"),
        ];
        let entries = entries(Catalogue { benches: benches.to_vec(), ..Catalogue::default() }, true);
        let shown: Vec<(&str, Vec<String>, bool)> = entries
            .iter()
            .map(|entry| {
                let axes = entry.axes();
                let values = axes.iter().flat_map(|axis| &axis.values).map(ToString::to_string);
                (entry.id, values.collect(), axes.iter().any(|axis| axis.implied))
            })
            .collect();
        let sum = ["sum", "iter/10", "iter/20"].map(str::to_owned).to_vec();
        assert_eq!(shown, [("sum", sum, true), ("alone", vec![], false)]);
    }
}
