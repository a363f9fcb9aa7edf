//! The levels as a bench binary: one scenario, a point for each level, an adapter for each server. A repeat
//! is a window.

use std::any::{Any, TypeId};
use std::process::ExitCode;
use std::sync::OnceLock;

use weighbridge::__private::{
    AdapterEntry, Additions, Axes, AxisTraits, Contract, Keep, Location, PartialBudget, Point, ScenarioEntry,
    Suite, TypedAxis, add, main,
};
use weighbridge::{Bencher, Equivalence, Error};
use weighbridge_load::{Level, Purpose, Row, Session, measures};

use super::args::LoadSide;
use super::handed::HandedLoad;
use super::search;

/// The contract that all servers are adapters of. Which one it is, the bencher says.
trait LoadedServer {}

struct NamedServer;

impl LoadedServer for NamedServer {}

const CONTRACT: Contract = Contract { id: TypeId::of::<dyn LoadedServer>, name: "Server" };

const HERE: Location = Location { module: module_path!(), file: file!(), line: line!() };

/// The levels of this process, by their names in ids.
static LEVELS: OnceLock<Vec<(String, Level)>> = OnceLock::new();

/// The settings that figures must share to be compared.
static MEANING: OnceLock<String> = OnceLock::new();

/// A level on the axis: its name is its label.
struct LevelPoint;

/// Runs as a bench binary, or as a child of one, if this process was started as one; `None` in all others.
pub(crate) fn bench() -> Option<ExitCode> {
    let HandedLoad { args, .. } = HandedLoad::told()?;
    let levels = args.levels().ok()?;
    let name = |level: &Level| args.find_rate.map_or_else(|| name(level), search::name);
    let levels = LEVELS.get_or_init(|| levels.into_iter().map(|level| (name(&level), level)).collect());
    MEANING.get_or_init(|| args.meaning());
    let adapter = |side: &LoadSide| AdapterEntry {
        name: args.name_of(*side).to_owned().leak(),
        tier: 1,
        contract: CONTRACT,
        description: args.session(*side).map(|session| described(&session)).unwrap_or_default().leak(),
        unequal: None,
        resident: false,
        version: "",
        location: HERE,
        make: || {
            let server: Box<dyn LoadedServer> = Box::new(NamedServer);
            Ok(Box::new(server))
        },
        probe: None,
    };
    let labels: Vec<Option<&'static str>> = levels.iter().map(|(name, _)| Some(name.as_str())).collect();
    let axis = TypedAxis {
        name: "load",
        all: true,
        implied: false,
        labels: labels.leak(),
        make: |_| LevelPoint,
        traits: AxisTraits {
            parse: None,
            display: None,
            debug: Some(|_| MEANING.get().cloned().unwrap_or_default()),
        },
    };
    let scenario = ScenarioEntry {
        collective: false,
        id: "LOAD",
        category: "Inference",
        description: "An inference server under load; times count from when a request was due.",
        sets: &[],
        equivalence: Some(Equivalence::None),
        equivalence_by: None,
        contract: Some(CONTRACT),
        location: HERE,
        axes: Axes::Found(vec![axis.erase()].leak()),
        keep: Keep::always,
        needs: None,
        describe: Some(|_| MEANING.get().cloned()),
        group: None,
        budget: PartialBudget::NONE,
        run,
    };
    let adapters = args.sides().iter().map(adapter).collect();
    add(Additions { scenarios: vec![scenario], adapters, alone: true });
    Some(main(Suite {
        target_tmp: None,
        package: "inference",
        version: env!("CARGO_PKG_VERSION"),
        target: "load",
        directory: ".",
        family: None,
    }))
}

/// The name of a level in ids, where `/` stands between parts.
fn name(level: &Level) -> String {
    level.load.name().replace('/', " per ")
}

/// The server in words: no query, and so no key, is in them.
fn described(session: &Session) -> String {
    let model = session.target.model.as_ref().map_or_else(String::new, |model| format!(", model {model}"));
    let fields = &session.workload.fields;
    let fields = if fields.is_empty() {
        String::new()
    } else {
        format!(", with {}", serde_json::Value::Object(fields.clone()))
    };
    format!("{}{model}{fields}", session.target)
}

/// Measures a window of the level that the point names, of the server that the bencher names.
fn run(bencher: &mut Bencher, _: Option<&mut dyn Any>, point: &Point) -> Result<(), Error> {
    let told = HandedLoad::told().ok_or_else(|| Error::new("this process was not told of the levels"))?;
    let (args, server) = (&told.args, bencher.adapter().unwrap_or_default());
    let place = args.sides().iter().position(|side| args.name_of(*side) == server);
    let place = place.ok_or_else(|| Error::new("no server has this name"))?;
    let label = point.get("load").map(|value| value.text.as_str()).unwrap_or_default();
    let levels = LEVELS.get().map(Vec::as_slice).unwrap_or_default();
    let number = levels.iter().position(|(name, _)| name == label);
    let number = number.ok_or_else(|| Error::new("no level has this name"))?;
    let mut session = args.session(args.sides()[place]).map_err(of)?;
    session.levels = vec![levels[number].1.clone()];
    let case = format!("{number}-{place}");
    let window = told.number(&case).map_err(of)?;
    // In a duel the sides are measured in turns, whose order is drawn: a drift falls on both alike.
    // A window that was broken off has taken a number too.
    let is_last = window > 0 && window + 1 >= args.windows() && args.sides().len() == 1;
    let first = if is_last { told.first(&case) } else { None };
    if let Some(range) = args.find_rate {
        return search::measure(bencher, args, &session, range, window);
    }
    let probe = told.probes.get(place).and_then(Option::as_ref);
    // Prompts differ from level to level as well.
    let place = window.saturating_mul(levels.len() as u32).saturating_add(number as u32);
    let row = session.window(place, probe, first).map_err(|error| Error::new(error.to_string()))?;
    if first.is_none() && told.first(&case).is_none() {
        told.keep_first(&case, row.figures.latency.at(0.5)).map_err(of)?;
    }
    let purpose = if args.sides().len() > 1 { Purpose::Compare } else { Purpose::State };
    hand_in(bencher, &row, purpose)
}

fn of(error: anyhow::Error) -> Error {
    Error::new(crate::stop::told(&error))
}

/// Hands the figures in, or the reasons against them.
fn hand_in(bencher: &Bencher, row: &Row, purpose: Purpose) -> Result<(), Error> {
    let reasons: Vec<String> = row.verdict.reasons().iter().map(ToString::to_string).collect();
    if !reasons.is_empty() {
        return Err(Error::new(format!("INVALID: {}{}", reasons.join("; "), failures(row))));
    }
    for measure in measures(&row.figures, &row.client, purpose) {
        bencher.metric(measure.name, measure.value, measure.unit, measure.direction);
    }
    if row.figures.failed() > 0 {
        bencher.note(&format!("requests failed{}", failures(row)));
    }
    Ok(())
}

/// The failures by their kinds.
fn failures(row: &Row) -> String {
    let kinds = row.figures.failures.iter().map(|(kind, count)| format!("{count} x {}", kind.name()));
    let kinds: Vec<String> = kinds.collect();
    if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) }
}
