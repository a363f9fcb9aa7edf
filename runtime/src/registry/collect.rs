//! From entries in no order to a [`Registry`] in one, with nothing doubled.

use std::any::TypeId;
use std::collections::BTreeSet;

use super::{AdapterEntry, Axis, ScenarioEntry, additions, slug};

/// All that is registered in this program.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    scenarios: Vec<&'static ScenarioEntry>,
    adapters: Vec<&'static AdapterEntry>,
}

/// An error that keeps a registry from being one: something is doubled. Every variant tells both places.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RegistryError {
    /// Two scenarios have one id.
    #[error(
        "two scenarios have the id `{}`: {} and {}; give one of them another id",
        first.id, first.location, second.location
    )]
    Id {
        /// The one that comes first, by file and line.
        first: &'static ScenarioEntry,
        /// The other.
        second: &'static ScenarioEntry,
    },
    /// Two adapters of one contract have one name.
    #[error(
        "two adapters for `{}` are called `{}`: {} and {}; give one of them another name",
        first.contract.name, second.name, first.location, second.location
    )]
    Adapter {
        /// The one that comes first, by tier and place.
        first: &'static AdapterEntry,
        /// The other.
        second: &'static AdapterEntry,
    },
    /// Two adapters of one contract say that they are the reference.
    #[error(
        "two adapters for `{}` are of tier 0, the reference: `{}` ({}) and `{}` ({}); give one of them `tier \
         = 1`",
        first.contract.name, first.name, first.location, second.name, second.location
    )]
    Reference {
        /// The one that comes first, by name.
        first: &'static AdapterEntry,
        /// The other.
        second: &'static AdapterEntry,
    },
    /// Two axes of one scenario have one name: one of its own and one of an options struct, or of two such.
    #[error(
        "the scenario `{}` ({}) has two axes called `{axis}`; rename the parameter or the field",
        scenario.id, scenario.location
    )]
    Axis {
        /// The scenario.
        scenario: &'static ScenarioEntry,
        /// The name of both axes.
        axis: &'static str,
    },
    /// An axis has a value twice.
    #[error(
        "axis `{axis}` of the scenario `{}` ({}) has the value `{value}` twice; remove or rename one of them",
        scenario.id, scenario.location
    )]
    Value {
        /// The scenario.
        scenario: &'static ScenarioEntry,
        /// The axis.
        axis: &'static str,
        /// The value.
        value: String,
    },
}

impl Registry {
    /// Returns all that the attributes of all linked crates registered.
    ///
    /// # Errors
    /// When something is doubled.
    pub fn collect() -> Result<Self, RegistryError> {
        Self::new(additions::scenarios(), additions::adapters())
    }

    /// A registry of these entries, given in any order.
    ///
    /// # Errors
    /// When something is doubled.
    pub fn new(
        scenarios: impl IntoIterator<Item = &'static ScenarioEntry>,
        adapters: impl IntoIterator<Item = &'static AdapterEntry>,
    ) -> Result<Self, RegistryError> {
        let mut scenarios: Vec<_> = scenarios.into_iter().collect();
        let mut adapters: Vec<_> = adapters.into_iter().collect();
        // By place first, so that of two doubled entries always the same one is called the first.
        scenarios.sort_unstable_by_key(|scenario| (scenario.id, scenario.location));
        adapters.sort_unstable_by_key(|adapter| (adapter.tier, adapter.name, adapter.location));
        refuse_doubled_scenarios(&scenarios)?;
        refuse_doubled_adapters(&adapters)?;
        for &scenario in &scenarios {
            refuse_doubled_axes(scenario, &scenario.axes())?;
        }
        Ok(Self { scenarios, adapters })
    }

    /// The same with the scenarios of one crate alone; adapters of all.
    pub(crate) fn of_crate(mut self, name: &str) -> Self {
        let of = |scenario: &&ScenarioEntry| scenario.location.module.split("::").next() == Some(name);
        self.scenarios.retain(of);
        self
    }

    /// The scenarios, by id.
    pub fn scenarios(&self) -> &[&'static ScenarioEntry] {
        &self.scenarios
    }

    /// The adapters of all contracts, by tier and name.
    pub fn adapters(&self) -> &[&'static AdapterEntry] {
        &self.adapters
    }

    /// The adapters that a scenario can be run through, by tier and name; none for an ordinary benchmark.
    pub fn adapters_for(&self, scenario: &ScenarioEntry) -> impl Iterator<Item = &'static AdapterEntry> {
        let wanted = scenario.contract;
        self.adapters.iter().copied().filter(move |adapter| Some(adapter.contract) == wanted)
    }
}

/// The scenario with this id, by one look at each: what a child process starts with, so nothing is sorted.
pub fn find_scenario(id: &str) -> Option<&'static ScenarioEntry> {
    additions::scenarios().find(|scenario| scenario.id == id)
}

/// The adapter of this contract with this name, by one look at each.
pub fn find_adapter(contract: TypeId, name: &str) -> Option<&'static AdapterEntry> {
    additions::adapters().find(|adapter| adapter.name == name && (adapter.contract.id)() == contract)
}

fn refuse_doubled_scenarios(scenarios: &[&'static ScenarioEntry]) -> Result<(), RegistryError> {
    match scenarios.windows(2).find(|pair| pair[0].id == pair[1].id) {
        Some(pair) => Err(RegistryError::Id { first: pair[0], second: pair[1] }),
        None => Ok(()),
    }
}

fn refuse_doubled_adapters(adapters: &[&'static AdapterEntry]) -> Result<(), RegistryError> {
    let slugs: Vec<String> = adapters.iter().map(|adapter| slug(adapter.name)).collect();
    for (place, &second) in adapters.iter().enumerate() {
        let contract = (second.contract.id)();
        for (&first, slug) in adapters[..place].iter().zip(&slugs) {
            if (first.contract.id)() != contract {
                continue;
            }
            if *slug == slugs[place] {
                return Err(RegistryError::Adapter { first, second });
            }
            if first.tier == 0 && second.tier == 0 {
                return Err(RegistryError::Reference { first, second });
            }
        }
    }
    Ok(())
}

fn refuse_doubled_axes(scenario: &'static ScenarioEntry, axes: &[Axis]) -> Result<(), RegistryError> {
    for (index, axis) in axes.iter().enumerate() {
        if axes[..index].iter().any(|earlier| earlier.name == axis.name) {
            return Err(RegistryError::Axis { scenario, axis: axis.name });
        }
        let mut seen = BTreeSet::new();
        if let Some(doubled) = axis.values.iter().find(|value| !seen.insert((&value.text, value.labelled))) {
            return Err(RegistryError::Value { scenario, axis: axis.name, value: doubled.text.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Axes, AxisTraits, AxisValue, Contract, Keep, Location, Probe, TypedAxis, kind::*};
    use super::*;
    use crate::bencher::PartialBudget;

    trait Loader {}
    trait Saver {}

    const LOADER: Contract = Contract { id: TypeId::of::<dyn Loader>, name: "Loader" };
    const SAVER: Contract = Contract { id: TypeId::of::<dyn Saver>, name: "Saver" };

    fn at(line: u32) -> Location {
        Location { module: "suite::vision", file: "benches/suite.rs", line }
    }

    fn scenario(id: &'static str, line: u32) -> ScenarioEntry {
        ScenarioEntry {
            id,
            category: "Uncategorised",
            description: "",
            sets: &[],
            equivalence: None,
            equivalence_by: None,
            contract: Some(LOADER),
            location: at(line),
            axes: Axes::NONE,
            keep: Keep::always,
            needs: None,
            describe: None,
            group: None,
            collective: false,
            budget: PartialBudget::NONE,
            run: |_, _, _| Ok(()),
        }
    }

    fn adapter(contract: Contract, name: &'static str, tier: u8, line: u32) -> AdapterEntry {
        AdapterEntry {
            name,
            tier,
            contract,
            description: "",
            unequal: None,
            resident: false,
            version: "1.2.3",
            location: at(line),
            make: || Ok(Box::new(())),
            probe: None,
        }
    }

    /// Entries live as long as the program; those of a test are leaked.
    fn registry(
        scenarios: Vec<ScenarioEntry>,
        adapters: Vec<AdapterEntry>,
    ) -> Result<Registry, RegistryError> {
        Registry::new(&*scenarios.leak(), &*adapters.leak())
    }

    fn refused(scenarios: Vec<ScenarioEntry>, adapters: Vec<AdapterEntry>, expected: &str) {
        assert_eq!(registry(scenarios, adapters).unwrap_err().to_string(), expected);
    }

    #[test]
    fn scenarios_are_sorted_by_id_and_adapters_by_tier_and_name() {
        let registry = registry(
            vec![scenario("NLP-1", 1), scenario("CV-1", 2)],
            vec![
                adapter(LOADER, "Torch", 1, 3),
                adapter(SAVER, "Orbax", 0, 4),
                adapter(LOADER, "Grain", 1, 5),
                adapter(LOADER, "Reference", 0, 6),
            ],
        )
        .unwrap();
        let ids: Vec<_> = registry.scenarios().iter().map(|scenario| scenario.id).collect();
        assert_eq!(ids, ["CV-1", "NLP-1"]);
        let loaders: Vec<_> =
            registry.adapters_for(registry.scenarios()[0]).map(|adapter| adapter.name).collect();
        assert_eq!(loaders, ["Reference", "Grain", "Torch"]);
        assert_eq!(registry.adapters().len(), 4);
    }

    #[test]
    fn an_ordinary_benchmark_has_no_adapters() {
        let ordinary = ScenarioEntry { contract: None, ..scenario("SORT-1", 1) };
        let registry = registry(vec![ordinary], vec![adapter(LOADER, "Reference", 0, 2)]).unwrap();
        assert_eq!(registry.adapters_for(&ordinary).count(), 0);
    }

    #[test]
    fn a_doubled_id_names_both_places() {
        refused(
            vec![scenario("CV-1", 9), scenario("CV-1", 4)],
            vec![],
            "two scenarios have the id `CV-1`: benches/suite.rs:4 and benches/suite.rs:9; give one of them \
             another id",
        );
    }

    #[test]
    fn ids_that_file_names_do_not_tell_apart_are_two() {
        assert_eq!(
            registry(vec![scenario("CV-1", 4), scenario("cv_1", 9)], vec![]).unwrap().scenarios().len(),
            2
        );
    }

    #[test]
    fn one_contract_has_one_adapter_of_a_name() {
        refused(
            vec![],
            vec![adapter(LOADER, "Google Grain", 1, 4), adapter(LOADER, "google-grain", 2, 9)],
            "two adapters for `Loader` are called `google-grain`: benches/suite.rs:4 and benches/suite.rs:9; \
             give one of them another name",
        );
        registry(vec![], vec![adapter(LOADER, "Reference", 0, 4), adapter(SAVER, "Reference", 0, 9)])
            .unwrap();
    }

    #[test]
    fn one_contract_has_one_reference() {
        refused(
            vec![],
            vec![adapter(LOADER, "Slices", 0, 4), adapter(LOADER, "Reference", 0, 9)],
            "two adapters for `Loader` are of tier 0, the reference: `Reference` (benches/suite.rs:9) and \
             `Slices` (benches/suite.rs:4); give one of them `tier = 1`",
        );
    }

    fn numbers(name: &'static str) -> TypedAxis<f64> {
        TypedAxis {
            name,
            all: false,
            implied: false,
            labels: &[None, None],
            make: |index| [0.5, -0.5][index],
            traits: AxisTraits {
                parse: (&&&Probe::<f64>::NEW).parser(),
                display: (&&Probe::<f64>::NEW).display(),
                debug: (&&Probe::<f64>::NEW).debug(),
            },
        }
    }

    #[test]
    fn an_axis_of_an_options_struct_may_not_be_called_like_one_of_the_scenario() {
        let doubled = ScenarioEntry {
            axes: Axes::Written(|| vec![numbers("ratio").erase(), numbers("ratio").erase()]),
            ..scenario("MIX-1", 4)
        };
        refused(
            vec![doubled],
            vec![],
            "the scenario `MIX-1` (benches/suite.rs:4) has two axes called `ratio`; rename the parameter or \
             the field",
        );
    }

    #[test]
    fn a_value_that_is_there_twice_is_doubled() {
        let doubled = ScenarioEntry {
            axes: Axes::Written(|| {
                let mut axis = numbers("ratio").erase();
                axis.values.push(AxisValue { text: "0.5".to_owned(), ..axis.values[0].clone() });
                vec![axis]
            }),
            ..scenario("MIX-1", 4)
        };
        refused(
            vec![doubled],
            vec![],
            "axis `ratio` of the scenario `MIX-1` (benches/suite.rs:4) has the value `0.5` twice; remove \
             or rename one of them",
        );
    }

    #[test]
    fn without_a_probe_the_version_is_that_of_the_authors_crate() {
        let version = "1.2.3".to_owned();
        assert_eq!(
            adapter(LOADER, "Reference", 0, 1).availability(),
            crate::registry::Availability::Available { version }
        );
    }
}
