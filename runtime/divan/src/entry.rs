//! What `#[divan::bench]` and `#[divan::bench_group]` register, and the scenarios that are made of it.

use std::collections::{BTreeMap, BTreeSet};

use super::args::{Arg, DivanBody};
use super::bencher::{Bencher, DivanContext};
use super::options::{Options, overall, skipped};
use weighbridge::style::{
    Axes, Axis, AxisTraits, Keep, Location, Point, ScenarioEntry, ScenarioFn, Suite, TypedAxis, WrittenValue,
    without_modules,
};
use weighbridge::{Error, PartialBudget};

/// One bench: constants and functions.
#[derive(Debug)]
#[expect(missing_docs, reason = "written by the attribute alone")]
pub struct Bench {
    pub name: &'static str,
    pub location: Location,
    pub description: &'static str,
    pub suite: Suite,
    pub options: fn() -> Options,
    /// Every choice of its generic parameters; one without any where it has none.
    pub instances: &'static [Instance],
}

/// A bench with one choice of its generic parameters.
#[derive(Debug)]
#[expect(missing_docs, reason = "written by the attribute alone")]
pub struct Instance {
    pub type_name: Option<fn() -> &'static str>,
    pub constant: Option<fn() -> String>,
    /// True if there is such a one: of a list of constants that is elsewhere, more are written than it has.
    pub exists: bool,
    pub body: DivanBody,
}

/// A module whose benches share options.
#[derive(Debug)]
#[expect(missing_docs, reason = "written by the attribute alone")]
pub struct Group {
    /// Its path, with the crate's name.
    pub module: &'static str,
    pub name: &'static str,
    pub options: fn() -> Options,
}

/// A bench, with what the stages call.
#[derive(Debug)]
#[expect(missing_docs, reason = "written by the attribute alone")]
pub struct RegisteredBench {
    pub bench: &'static Bench,
    pub axes: fn() -> Vec<Axis>,
    pub keep: fn(&Point) -> Keep,
    pub run: ScenarioFn,
}

/// A group that is registered.
#[derive(Debug)]
pub struct RegisteredGroup(pub Group);

inventory::collect!(RegisteredBench);
inventory::collect!(RegisteredGroup);

/// All benches of the program.
pub(super) fn benches() -> impl Iterator<Item = &'static RegisteredBench> {
    inventory::iter::<RegisteredBench>.into_iter()
}

/// The scenarios of all benches, and what is to be said of them. A path that two have is numbered.
pub(super) fn scenarios(is_planned: bool) -> (Vec<ScenarioEntry>, Vec<String>) {
    // Of an empty list of types or constants there is none.
    let mut all: Vec<&RegisteredBench> =
        benches().filter(|bench| bench.bench.instances().next().is_some()).collect();
    all.sort_by_key(|bench| bench.bench.location);
    let mut notes = Vec::new();
    let mut taken: BTreeMap<String, Location> = BTreeMap::new();
    let scenarios = all.into_iter().map(|bench| {
        let (path, place) = (bench.bench.path(), bench.bench.location);
        let mut id = path.clone();
        let mut number = 1;
        while let Some(first) = taken.get(&id) {
            number += 1;
            let next = format!("{path} ({number})");
            notes.push(format!(
                "two benches are called `{path}`: {first} and {place}; the latter is `{next}` here"
            ));
            id = next;
        }
        taken.insert(id.clone(), place);
        bench.scenario(id, is_planned)
    });
    (scenarios.collect(), notes)
}

/// The names of axes; no two parts of a bench's path can be called alike.
const TYPE: &str = "type";
const CONST: &str = "const";
const ARG: &str = "arg";
const THREADS: &str = "threads";

impl RegisteredBench {
    /// The scenario that it becomes, by this id. `is_planned`: whether its budget is looked at, which a
    /// child's is not.
    fn scenario(&self, id: String, is_planned: bool) -> ScenarioEntry {
        let budget = if is_planned { self.bench.all_options().budget() } else { PartialBudget::NONE };
        ScenarioEntry {
            id: id.leak(),
            category: "divan",
            description: self.bench.description,
            sets: &[],
            equivalence: None,
            equivalence_by: None,
            contract: None,
            location: self.bench.location,
            axes: Axes::Written(self.axes),
            keep: self.keep,
            needs: None,
            describe: None,
            group: None,
            collective: false,
            budget,
            run: self.run,
        }
    }
}

impl Bench {
    /// The groups that it is in, from the outermost.
    fn groups(&self) -> impl Iterator<Item = (usize, &'static Group)> {
        let modules: Vec<&str> = self.location.module.split("::").collect();
        (1..=modules.len()).filter_map(move |depth| {
            let path = modules[..depth].join("::");
            let mut all = inventory::iter::<RegisteredGroup>.into_iter();
            all.find(|group| group.0.module == path).map(|group| (depth - 1, &group.0))
        })
    }

    /// `module::bench`, without the crate, and with the names that groups have.
    fn path(&self) -> String {
        let mut parts: Vec<&str> = self.location.module.split("::").map(plain).collect();
        for (at, group) in self.groups() {
            parts[at] = plain(group.name);
        }
        parts.push(plain(self.name));
        parts[1..].join("::")
    }

    /// The options that hold for it: the program's, its own, those of its groups from the innermost.
    fn all_options(&self) -> Options {
        let groups: Vec<_> = self.groups().collect();
        let own = overall().or((self.options)());
        groups.iter().rev().fold(own, |options, (_, group)| options.or((group.options)()))
    }

    /// The one of this type and this constant, by the texts that stand in a point.
    fn instance(&self, ty: Option<String>, constant: Option<String>) -> Option<&'static Instance> {
        let all: Vec<&Instance> = self.instances().collect();
        let both = |instance: &&Instance| instance.type_name() == ty && instance.constant() == constant;
        let texts = |of: fn(&Instance) -> Option<String>| {
            numbered(all.iter().filter_map(|instance| of(instance)).collect())
        };
        let place = match (&ty, &constant) {
            (Some(ty), None) => texts(Instance::type_name).iter().position(|text| text == ty),
            (None, Some(constant)) => texts(Instance::constant).iter().position(|text| text == constant),
            _ => all.iter().position(both),
        };
        place.map(|at| all[at])
    }

    fn instances(&self) -> impl Iterator<Item = &'static Instance> + use<> {
        self.instances.iter().filter(|instance| instance.exists)
    }
}

impl Instance {
    fn constant(&self) -> Option<String> {
        self.constant.map(|text| text())
    }

    fn type_name(&self) -> Option<String> {
        self.type_name.map(|name| without_modules(name()))
    }

    /// Its arguments, each under a text of its own.
    fn args(&self) -> Vec<Arg> {
        let DivanBody::Args(make) = self.body else { return Vec::new() };
        let mut args = make();
        let texts = numbered(args.iter().map(|arg| arg.text.clone()).collect());
        args.iter_mut().zip(texts).for_each(|(arg, text)| arg.text = text);
        args
    }
}

/// The same texts, with a number behind each that was there before.
fn numbered(texts: Vec<String>) -> Vec<String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let one = |text: String| {
        let mut own = text.clone();
        let mut number = 1;
        while !taken.insert(own.clone()) {
            number += 1;
            own = format!("{text} ({number})");
        }
        own
    };
    texts.into_iter().map(one).collect()
}

/// A name without the mark of a raw identifier.
fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// The axes of a bench: its types, its constants, its arguments, and its numbers of threads where there are
/// several.
pub fn axes(bench: &'static Bench) -> Vec<Axis> {
    let mut axes = Vec::new();
    let mut add = |name, texts: Vec<String>| {
        if !texts.is_empty() {
            axes.push(axis(name, texts));
        }
    };
    // One type for all constants, and the other way round.
    let once = |texts: Vec<String>| {
        let mut kept: Vec<String> = Vec::new();
        for text in texts {
            if !kept.contains(&text) {
                kept.push(text);
            }
        }
        kept
    };
    let has_both = |instance: &Instance| instance.type_name.is_some() && instance.constant.is_some();
    let is_product = bench.instances().next().is_some_and(has_both);
    let texts = |of: fn(&Instance) -> Option<String>| {
        let texts = bench.instances().filter_map(of).collect();
        if is_product { once(texts) } else { numbered(texts) }
    };
    add(TYPE, texts(Instance::type_name));
    add(CONST, texts(Instance::constant));
    if let Some(first) = bench.instances().next() {
        add(ARG, first.args().into_iter().map(|arg| arg.text).collect());
    }
    let threads = bench.all_options().threads();
    if threads.len() > 1 {
        add(THREADS, threads.iter().map(thread_text).collect());
    }
    axes
}

fn thread_text(count: &usize) -> String {
    format!("t={count}")
}

/// An axis of which all run, each under its text.
fn axis(name: &'static str, texts: Vec<String>) -> Axis {
    let labels: Vec<Option<&'static str>> = texts.into_iter().map(|text| Some(&*text.leak())).collect();
    let traits = AxisTraits { parse: None, display: None, debug: None };
    TypedAxis { name, all: true, implied: false, labels: labels.leak(), make: WrittenValue, traits }.erase()
}

/// Tells whether a point of a bench is run.
pub fn keep(bench: &'static Bench, point: &Point) -> Keep {
    let values = point.iter().map(|value| format!("::{}", value.text));
    if skipped(&(bench.path() + &values.collect::<String>())) {
        return Keep::Drop;
    }
    bench.all_options().refusal().map_or(Keep::Yes, |why| Keep::Skip(why.to_owned()))
}

/// Runs a bench at a point.
///
/// # Errors
/// When the point is none of the bench's any more, and when what the bench asks for cannot be measured.
pub fn run(bench: &'static Bench, lent: &weighbridge::Bencher, point: &Point) -> Result<(), Error> {
    let options = bench.all_options();
    let at = |axis: &str| point.get(axis).map(|value| value.text.clone());
    let gone = || Error::new(format!("there was `{point}` of `{}`, and now there is none", bench.path()));
    let instance = bench.instance(at(TYPE), at(CONST)).ok_or_else(gone)?;
    let mut threads = options.threads().into_iter();
    let threads = match at(THREADS) {
        Some(text) => threads.find(|count| thread_text(count) == text),
        None => threads.next(),
    };
    let mut context = DivanContext {
        bencher: lent,
        threads: threads.ok_or_else(gone)?,
        sample_size: options.sample_size,
        counts: options.counters,
        refused: None,
    };
    state_budget(lent, options.budget());
    match instance.body {
        DivanBody::Plain(body) => body(Bencher::new(&mut context)),
        DivanBody::Args(_) => {
            let wanted = at(ARG);
            let arg = instance
                .args()
                .into_iter()
                .find(|arg| Some(&arg.text) == wanted.as_ref())
                .ok_or_else(gone)?;
            (arg.run)(Bencher::new(&mut context));
        }
    }
    context.refused.map_or(Ok(()), Err)
}

fn state_budget(bencher: &weighbridge::Bencher, budget: PartialBudget) {
    if let Some(samples) = budget.samples {
        bencher.samples(samples as usize);
    }
    if let Some(least) = budget.min_time {
        bencher.min_time(least);
    }
    if let Some(most) = budget.max_time {
        bencher.max_time(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_twice_is_numbered() {
        let texts = ["a", "b", "a", "a", "a (2)"].map(str::to_owned).to_vec();
        assert_eq!(numbered(texts), ["a", "b", "a (2)", "a (3)", "a (2) (2)"]);
    }
}
