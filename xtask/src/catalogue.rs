//! `catalogue`: the page of every scenario with its variants, sets and adapters, made from what the bench targets list.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;
use weighbridge::data::Exit;

use crate::cli::Catalogue;
use crate::place::Place;
use crate::said::Said;

const FITS: &str = "a String takes all that is written";

const HEAD: &str = "\
# The catalogue

Written by `cargo xtask catalogue` from what the bench targets list; `cargo xtask catalogue --check` fails when it is stale.
The first variant of a scenario is the one that a plain run takes. An adapter is named where it is registered for the
scenario's contract; what it declines of a variant is a recorded skip with its reason. One that a build or a machine lacks is
named too: the plan says what brings it. With `delivery` device (docs/gpu.md) a batch's way to the device is timed as well.
";

pub(crate) fn run(args: &Catalogue, place: &Place) -> Result<Said> {
    let listings = match &args.from {
        Some(file) => {
            vec![fs::read_to_string(file).with_context(|| format!("failed to read `{}`", file.display()))?]
        }
        None => place
            .suites
            .iter()
            .map(|suite| suite.list(place, &["--format", "json"]))
            .collect::<Result<_>>()?,
    };
    let listings = listings.iter().map(|text| serde_json::from_str(text));
    let listings: Vec<Value> = listings.collect::<Result<_, _>>().context("failed to read a listing")?;
    let (page, count) = page(&listings);
    let path = path(place);
    let shown = path.display();
    if !args.check {
        fs::write(&path, page).with_context(|| format!("failed to write `{shown}`"))?;
        return Ok(Said::fine(format!("{shown} has {count} scenarios\n")));
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    if there == page {
        return Ok(Said::fine(format!("{shown} is true ({count} scenarios)\n")));
    }
    let stale = first_difference(&there, &page);
    let text = format!("{shown} is stale: `cargo xtask catalogue` writes it anew\n{stale}");
    Ok(Said { exit: Exit::NothingToJudge, ..Said::fine(text) })
}

fn path(place: &Place) -> PathBuf {
    place.root.join("docs").join("catalogue.md")
}

/// The first line that differs, of both.
fn first_difference(there: &str, page: &str) -> String {
    let mut lines = (there.lines().map(Some).chain(std::iter::repeat(None)))
        .zip(page.lines().map(Some).chain([None]))
        .enumerate();
    let differs = lines.find(|(_, (there, page))| there != page);
    differs.map_or_else(String::new, |(at, (there, page))| {
        let or_end = |line: Option<&str>| line.unwrap_or("(the end)").to_owned();
        format!("line {}\n- {}\n+ {}\n", at + 1, or_end(there), or_end(page))
    })
}

/// The page, and how many scenarios are on it.
fn page(listings: &[Value]) -> (String, usize) {
    let mut scenarios: Vec<(&Value, &Value)> = listings
        .iter()
        .flat_map(|listing| list(&listing["scenarios"]).map(move |one| (one, listing)))
        .collect();
    let key = |scenario: &Value| (text(&scenario["category"]).to_owned(), text(&scenario["id"]).to_owned());
    scenarios.sort_by_key(|(scenario, _)| key(scenario));
    scenarios.dedup_by_key(|(scenario, _)| key(scenario));
    let mut page = HEAD.to_owned();
    page.push_str(&sets(&scenarios));
    let mut category = "";
    for (scenario, listing) in &scenarios {
        if text(&scenario["category"]) != category {
            category = text(&scenario["category"]);
            writeln!(page, "\n## {category}").expect(FITS);
        }
        add(&mut page, scenario, listing);
    }
    (page, scenarios.len())
}

/// The table of sets.
fn sets(scenarios: &[(&Value, &Value)]) -> String {
    let mut sets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (scenario, _) in scenarios {
        for set in list(&scenario["sets"]).map(text).chain(["all"]) {
            sets.entry(set).or_default().push(text(&scenario["id"]));
        }
    }
    let mut table = "\n| set | scenarios |\n|---|---|\n".to_owned();
    for (set, mut ids) in sets {
        ids.sort_unstable();
        writeln!(table, "| `{set}` ({}) | {} |", ids.len(), ids.join(", ")).expect(FITS);
    }
    table
}

fn add(page: &mut String, scenario: &Value, listing: &Value) {
    let (id, description) = (text(&scenario["id"]), text(&scenario["description"]));
    writeln!(page, "\n### {id}\n\n{description}\n").expect(FITS);
    let sets: Vec<String> = list(&scenario["sets"]).map(|set| format!("`{}`", text(set))).collect();
    let sets = if sets.is_empty() { "`all` alone".to_owned() } else { sets.join(", ") };
    writeln!(page, "- Sets: {sets}").expect(FITS);
    let others = scenario["equivalence_with"].as_object().into_iter().flatten();
    let others =
        others.map(|(with, rule)| format!("; with `{with}` {}", equivalence(rule))).collect::<String>();
    writeln!(page, "- Work must agree: {}{others}", equivalence(&scenario["equivalence"])).expect(FITS);
    let adapters: BTreeSet<(u64, &str)> = list(&listing["adapters"])
        .filter(|adapter| adapter["contract"] == scenario["contract"])
        // Those that stay in a process of their own are on a page of their own, with what each can do.
        .filter(|adapter| adapter["resident"] != true)
        .map(|adapter| (adapter["tier"].as_u64().unwrap_or_default(), text(&adapter["name"])))
        .collect();
    let adapters: Vec<String> = adapters.iter().map(|(tier, name)| format!("{name} (tier {tier})")).collect();
    let adapters =
        if adapters.is_empty() { "none: it measures itself".to_owned() } else { adapters.join(", ") };
    writeln!(page, "- Adapters: {adapters}").expect(FITS);
    let file = text(&scenario["file"]);
    let name = file.rsplit('/').next().unwrap_or(file);
    writeln!(page, "- Written in [{name}](../{file})").expect(FITS);
    for axis in list(&scenario["axes"]) {
        let values: Vec<&str> = list(&axis["values"]).map(|value| text(&value["text"])).collect();
        let descriptions = axis["descriptions"].as_object().filter(|known| !known.is_empty());
        match descriptions {
            None => {
                let implied = if axis["implied"] == true { "; the first is implied" } else { "" };
                writeln!(page, "- Axis `{}`: {}{implied}", text(&axis["name"]), values.join(", "))
                    .expect(FITS);
            }
            Some(known) => {
                writeln!(page, "\n| {} | what it does |\n|---|---|", text(&axis["name"])).expect(FITS);
                for value in values {
                    let does = known.get(value).map_or("", text).replace('|', "\\|");
                    writeln!(page, "| `{value}` | {does} |").expect(FITS);
                }
                page.push('\n');
            }
        }
    }
    while page.ends_with("\n\n") {
        page.pop();
    }
}

fn equivalence(value: &Value) -> String {
    match value {
        Value::String(name) => name.clone(),
        Value::Object(one) => one.iter().map(|(name, share)| format!("{name}, within {share}")).collect(),
        other => other.to_string(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Value {
        serde_json::json!({
            "scenarios": [{
                "id": "CV-1", "category": "Vision", "description": "Images.", "sets": ["gate"],
                "equivalence": "exact", "contract": "Loader", "file": "src/cv1.rs", "line": 3,
                "axes": [
                    { "name": "variant", "all": false, "values": [{"text": "small"}, {"text": "large"}],
                      "descriptions": { "small": "10 images", "large": "99 images" } },
                    { "name": "workers", "all": true, "values": [{"text": "0"}, {"text": "2"}], "descriptions": {} },
                ],
            }],
            "adapters": [
                { "name": "Reference", "tier": 0, "contract": "Loader", "description": "" },
                { "name": "Other", "tier": 1, "contract": "Sorter", "description": "" },
            ],
            "cases": [],
        })
    }

    #[test]
    fn a_scenario_has_its_sets_adapters_variants_and_file() {
        let (page, count) = page(&[listing()]);
        assert_eq!(count, 1);
        let expected = "
| set | scenarios |
|---|---|
| `all` (1) | CV-1 |
| `gate` (1) | CV-1 |

## Vision

### CV-1

Images.

- Sets: `gate`
- Work must agree: exact
- Adapters: Reference (tier 0)
- Written in [cv1.rs](../src/cv1.rs)

| variant | what it does |
|---|---|
| `small` | 10 images |
| `large` | 99 images |

- Axis `workers`: 0, 2
";
        assert_eq!(page.strip_prefix(HEAD), Some(expected));
    }

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), "line 2\n- b\n+ c\n");
        assert_eq!(first_difference("a\n", "a\nc\n"), "line 2\n- (the end)\n+ c\n");
        assert_eq!(first_difference("a\nb\n", "a\n"), "line 2\n- b\n+ (the end)\n");
    }
}
