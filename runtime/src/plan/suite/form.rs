//! What a suite file of our own form says.

use std::fmt::Write as _;

use serde::Serialize;

use super::keys::Keys;
use super::node::{Mistake, Node, Position, TableKey, Value};

/// A suite: benchmarks at chosen values of their axes.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteFile {
    /// The suite's name.
    pub name: String,
    /// Measured repeats of each case.
    pub repeats: Option<u32>,
    /// The profile that it runs under.
    pub profile: Option<String>,
    /// The baseline that the run is judged against.
    pub baseline: Option<String>,
    /// The baseline that the run becomes.
    pub save_baseline: Option<String>,
    /// The benchmarks that run. Never empty.
    pub benchmarks: Vec<SuiteBenchmark>,
}

/// A scenario, its adapters and values of its axes.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteBenchmark {
    /// The scenario's id.
    pub scenario: WrittenText,
    /// Adapters by name; all of them where there are none.
    pub adapters: Vec<WrittenText>,
    /// Axes with their values, each axis once.
    pub options: Vec<(TableKey, Vec<WrittenText>)>,
}

/// A text, and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenText {
    /// The text.
    pub text: String,
    /// Its position in the file.
    pub place: Position,
}

impl SuiteFile {
    /// Reads a suite.
    ///
    /// # Errors
    /// What is wrong, with its place: unknown and doubled keys, values of another kind, an axis without
    /// values, a state with both a `path` and a `spec`.
    pub fn read(root: &Node) -> Result<Self, Mistake> {
        if let Value::Table(entries) = &root.value
            && let Some((key, _)) = entries.iter().find(|(key, _)| key.name == "suite_name")
        {
            let tool = crate::tool();
            let what =
                format!("`suite_name` begins a suite of Orbax: `{tool} suite run FILE` plans and runs that");
            return Err(Mistake::at(key.place, what));
        }
        let known = [
            "name",
            "repeats",
            "profile",
            "baseline",
            "save_baseline",
            "input",
            "inputs",
            "mesh",
            "meshes",
            "benchmarks",
        ];
        let keys = Keys::of("a suite", root, &known, None)?;
        let text = |name: &str| keys.get(name).map(|node| node.text(name).map(str::to_owned)).transpose();
        keys.not_both("baseline", "save_baseline")?;
        let shared = [
            axis("variant", keys.one_or_many("input", "inputs")?, input)?,
            axis("mesh", keys.one_or_many("mesh", "meshes")?, mesh)?,
        ];
        let benchmarks = keys.required("benchmarks")?.list("benchmarks")?;
        Ok(Self {
            name: keys.required("name")?.text("name")?.to_owned(),
            repeats: keys.get("repeats").map(|node| node.count("repeats")).transpose()?,
            profile: text("profile")?,
            baseline: text("baseline")?,
            save_baseline: text("save_baseline")?,
            benchmarks: benchmarks
                .iter()
                .map(|node| SuiteBenchmark::read(node, &shared))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The same as a file of TOML.
    pub fn to_toml(&self) -> String {
        #[derive(Serialize)]
        struct Scalars<'a> {
            name: &'a str,
            repeats: Option<u32>,
            profile: Option<&'a str>,
            baseline: Option<&'a str>,
            save_baseline: Option<&'a str>,
        }
        let scalars = Scalars {
            name: &self.name,
            repeats: self.repeats,
            profile: self.profile.as_deref(),
            baseline: self.baseline.as_deref(),
            save_baseline: self.save_baseline.as_deref(),
        };
        let list = |texts: &[WrittenText]| {
            let quoted: Vec<String> = texts.iter().map(|written| quoted(&written.text)).collect();
            format!("[{}]", quoted.join(", "))
        };
        // Texts and a number are always TOML.
        let mut file = basic_toml::to_string(&scalars).unwrap_or_default();
        for benchmark in &self.benchmarks {
            let _ = write!(file, "\n[[benchmarks]]\nscenario = {}\n", quoted(&benchmark.scenario.text));
            if !benchmark.adapters.is_empty() {
                let _ = writeln!(file, "adapters = {}", list(&benchmark.adapters));
            }
            for (key, values) in &benchmark.options {
                let _ = writeln!(file, "options.{} = {}", quoted(&key.name), list(values));
            }
        }
        file
    }
}

/// A text as TOML writes it. What `Debug` escapes otherwise than TOML stands in no name and in no value of an
/// axis.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

impl SuiteBenchmark {
    fn read(node: &Node, shared: &[Option<(TableKey, Vec<WrittenText>)>]) -> Result<Self, Mistake> {
        let keys = Keys::of("a benchmark", node, &["scenario", "adapters", "options"], None)?;
        let scenario = keys.required("scenario")?;
        let adapters = keys.get("adapters").map_or(&[][..], Node::each);
        let mut options: Vec<(TableKey, Vec<WrittenText>)> = shared.iter().flatten().cloned().collect();
        for (key, values) in keys.get("options").map_or(Ok(&[][..]), |node| node.table("options"))? {
            if let Some((shared, _)) = options.iter().find(|(shared, _)| shared.name == key.name) {
                let what = format!(
                    "`{}` is chosen twice: for this benchmark, and for all of them at {}",
                    key.name, shared.place
                );
                return Err(Mistake::at(key.place, what));
            }
            let values = match &values.value {
                Value::List(_) => values.list(&key.name)?,
                _ => values.each(),
            };
            let values = values.iter().map(|value| scalar(&key.name, value)).collect::<Result<_, _>>()?;
            options.push((key.clone(), values));
        }
        Ok(Self {
            scenario: text("scenario", scenario)?,
            adapters: adapters.iter().map(|node| text("adapters", node)).collect::<Result<_, _>>()?,
            options,
        })
    }
}

fn text(what: &str, node: &Node) -> Result<WrittenText, Mistake> {
    Ok(WrittenText { text: node.text(what)?.to_owned(), place: node.place })
}

fn scalar(what: &str, node: &Node) -> Result<WrittenText, Mistake> {
    let form = "a text, a number, true or false, or a list of those";
    let text = node.scalar().ok_or_else(|| node.wrong(what, form))?;
    Ok(WrittenText { text, place: node.place })
}

/// Values of an axis that all benchmarks have, if there are any.
fn axis(
    name: &str,
    nodes: &[Node],
    value: impl Fn(&Node) -> Result<String, Mistake>,
) -> Result<Option<(TableKey, Vec<WrittenText>)>, Mistake> {
    let Some(first) = nodes.first() else { return Ok(None) };
    let written = |node: &Node| Ok(WrittenText { text: value(node)?, place: node.place });
    let values = nodes.iter().map(written).collect::<Result<_, _>>()?;
    Ok(Some((TableKey { name: name.to_owned(), place: first.place }, values)))
}

/// An input: the name of a variant; the arrays of a state; or the path of one.
fn input(node: &Node) -> Result<String, Mistake> {
    if let Some(label) = node.scalar() {
        return Ok(label);
    }
    let known = ["path", "cuts", "spec", "seed", "capture_digests", "check_digests"];
    let keys = Keys::of("an input", node, &known, None)?;
    keys.not_both("path", "spec")?;
    keys.not_both("path", "seed")?;
    keys.not_both("capture_digests", "check_digests")?;
    for digests in ["capture_digests", "check_digests"] {
        if let (Some(node), None) = (keys.get(digests), keys.get("path")) {
            return Err(Mistake::at(
                node.place,
                format!("`{digests}` needs a `path`: a spec has digests of its own"),
            ));
        }
    }
    if let (Some(node), None) = (keys.get("cuts"), keys.get("path")) {
        return Err(Mistake::at(node.place, "`cuts` needs a `path`: a spec has its own sharding"));
    }
    match (keys.get("path"), keys.get("spec")) {
        (Some(path), _) => {
            let mut text = format!("path:{}", path.text("path")?);
            for (key, word) in [("cuts", "cuts"), ("capture_digests", "capture"), ("check_digests", "check")]
            {
                if let Some(place) = keys.get(key) {
                    text += &format!(" {word}={}", place.text(key)?);
                }
            }
            Ok(text)
        }
        (None, Some(spec)) => {
            let seed = keys.get("seed").map(|seed| match seed.value {
                Value::Whole(number) if u32::try_from(number).is_ok() => Ok(number),
                _ => Err(seed.wrong("seed", "a whole number from 0 to 4294967295")),
            });
            arrays(spec, seed.transpose()?.unwrap_or(0))
        }
        (None, None) => Err(Mistake::at(node.place, "an input needs a `spec` or a `path`")),
    }
}

/// The arrays of a spec in one line: `a:float32[32x16]{data,-};b:float32[8] seed=7`, as `State` in the
/// catalogue reads it. A leaf that is no array is `step:int`.
///
/// # Errors
/// What is wrong, with its place.
pub fn arrays(spec: &Node, seed: i64) -> Result<String, Mistake> {
    let mut texts = Vec::new();
    for (name, array) in spec.table("spec")? {
        if name.name.is_empty()
            || name.name.contains([':', ';', '[', ']', '{', '}', ','])
            || name.name.contains(' ')
        {
            let what =
                format!("an array cannot be called `{}`: no blanks, none of : ; , [ ] {{ }}", name.name);
            return Err(Mistake::at(name.place, what));
        }
        if let Value::Text(leaf) = &array.value {
            if !["int", "str"].contains(&leaf.as_str()) {
                let what = "a table of `dtype` and `shape`, or `int` or `str` for a value that is no array";
                return Err(array.wrong(&name.name, what));
            }
            texts.push(format!("{}:{leaf}", name.name));
            continue;
        }
        let keys = Keys::of(&format!("array `{}`", name.name), array, &["dtype", "shape", "sharding"], None)?;
        let dtype = keys.required("dtype")?.text("dtype")?;
        let shape: Vec<String> = match &keys.required("shape")?.value {
            Value::List(sizes) => {
                sizes.iter().map(|size| size.count("shape").map(|size| size.to_string())).collect()
            }
            _ => Err(keys.required("shape")?.wrong("shape", "a list of whole numbers")),
        }?;
        let mut text = format!("{}:{dtype}[{}]", name.name, shape.join("x"));
        if let Some(sharding) = keys.get("sharding") {
            let Value::List(axes) = &sharding.value else {
                let form = "a list with an axis of the mesh, a list of those, or null, for each dimension";
                return Err(sharding.wrong("sharding", form));
            };
            if axes.len() > shape.len() {
                let what =
                    format!("`sharding` is of {} dimensions, and the array has {}", axes.len(), shape.len());
                return Err(Mistake::at(sharding.place, what));
            }
            let axis = |node: &Node| match &node.value {
                Value::Nothing => Ok("-".to_owned()),
                Value::List(several) if !several.is_empty() => {
                    let several = several.iter().map(|axis| axis.text("sharding"));
                    Ok(several.collect::<Result<Vec<_>, _>>()?.join("+"))
                }
                _ => node.text("sharding").map(str::to_owned),
            };
            let axes = axes.iter().map(axis).collect::<Result<Vec<_>, _>>()?;
            let _ = write!(text, "{{{}}}", axes.join(","));
        }
        texts.push(text);
    }
    if texts.is_empty() {
        return Err(Mistake::at(spec.place, "`spec` has no arrays"));
    }
    let seed = if seed == 0 { String::new() } else { format!(" seed={seed}") };
    Ok(format!("{}{seed}", texts.join(";")))
}

/// A mesh: its name, or its axes with their sizes.
fn mesh(node: &Node) -> Result<String, Mistake> {
    if let Some(name) = node.scalar() {
        return Ok(name);
    }
    let axes = node.table("mesh")?;
    if axes.is_empty() {
        return Err(Mistake::at(node.place, "a mesh needs an axis"));
    }
    let axis = |(key, size): &(TableKey, Node)| Ok(format!("{}={}", key.name, size.count(&key.name)?));
    Ok(axes.iter().map(axis).collect::<Result<Vec<String>, Mistake>>()?.join("+"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::suite::nodes;

    fn read(text: &str) -> Result<SuiteFile, Mistake> {
        SuiteFile::read(&nodes("a.toml", text)?)
    }

    const WHOLE: &str = r#"
name = "what a save costs"
repeats = 3
inputs = [
    "tiny",
    { spec = { a = { dtype = "float32", shape = [32, 16], sharding = [["data", "model"]] } }, seed = 7 },
]
mesh = { data = 2, model = 4 }

[[benchmarks]]
scenario = "CKPT-1"
adapters = "Orbax"

[benchmarks.options]
operation = ["save", "load"]
saving = "blocking"
ahead = [0, 2.5, true]
"#;

    #[test]
    fn a_list_is_an_axis_and_inputs_and_meshes_are_axes_of_all_benchmarks() {
        let suite = read(WHOLE).unwrap();
        assert_eq!((suite.name.as_str(), suite.repeats), ("what a save costs", Some(3)));
        let benchmark = &suite.benchmarks[0];
        assert_eq!(benchmark.adapters[0].text, "Orbax");
        let options: Vec<(String, Vec<String>)> = benchmark
            .options
            .iter()
            .map(|(key, values)| (key.name.clone(), values.iter().map(|value| value.text.clone()).collect()))
            .collect();
        let of = |name: &str, values: &[&str]| {
            (name.to_owned(), values.iter().map(|text| (*text).to_owned()).collect())
        };
        assert_eq!(
            options,
            [
                of("variant", &["tiny", "a:float32[32x16]{data+model} seed=7"]),
                of("mesh", &["data=2+model=4"]),
                of("operation", &["save", "load"]),
                of("saving", &["blocking"]),
                of("ahead", &["0", "2.5", "true"]),
            ]
        );
    }

    #[test]
    fn a_suite_that_is_written_is_the_suite_that_is_read() {
        let suite = read(WHOLE).unwrap();
        let again = read(&suite.to_toml()).unwrap_or_else(|mistake| panic!("{mistake}\n{}", suite.to_toml()));
        let plain = |suite: &SuiteFile| {
            let text = format!("{suite:?}");
            let mut kept = String::new();
            for (at, part) in text.split("Position {").enumerate() {
                kept.push_str(if at == 0 { part } else { part.split_once('}').map_or("", |(_, rest)| rest) });
            }
            kept
        };
        assert_eq!(plain(&again), plain(&suite));
    }

    #[test]
    fn each_mistake_is_told_with_its_place_and_what_was_probably_meant() {
        let one = "name = 'x'\n[[benchmarks]]\nscenario = 'A'\n";
        for (text, told) in [
            (
                format!("nmae = 'x'\n{one}"),
                "line 1, column 1: unknown key `nmae` in a suite; did you mean `name`?",
            ),
            (
                format!("{one}adapter = 'B'\n"),
                "line 4, column 1: unknown key `adapter` in a benchmark; did you mean `adapters`?",
            ),
            (
                format!("zzz = 1\n{one}"),
                "line 1, column 1: unknown key `zzz` in a suite; there is name, repeats,",
            ),
            ("name = 'x'\n".to_owned(), "line 1, column 1: a suite lacks the key `benchmarks`"),
            ("name = 'x'\nbenchmarks = []\n".to_owned(), "line 2, column 14: `benchmarks` has no values"),
            (
                "name = 'x'\nbenchmarks = [{}]\n".to_owned(),
                "line 2, column 15: a benchmark lacks the key `scenario`",
            ),
            (
                format!("repeats = 0\n{one}"),
                "line 1, column 11: `repeats` is a whole number of at least 1, not `0`",
            ),
            (format!("{one}options.len = []\n"), "line 4, column 15: `len` has no values"),
            (
                format!("{one}options.len = [[1]]\n"),
                "line 4, column 16: `len` is a text, a number, true or false",
            ),
            (
                format!("input = 'a'\ninputs = ['b']\n{one}"),
                "line 2, column 10: `input` and `inputs` say the same",
            ),
            (
                format!("input = {{ path = 'p', spec = {{}} }}\n{one}"),
                "line 1, column 30: `path` and `spec` exclude each other in an input",
            ),
            (
                format!("input = {{ path = 'p', capture_digests = 'a', check_digests = 'b' }}\n{one}"),
                "line 1, column 62: `capture_digests` and `check_digests` exclude each other in an input",
            ),
            (
                format!("input = {{ spec = {{ a = 'float' }} }}\n{one}"),
                "line 1, column 24: `a` is a table of `dtype` and `shape`, or `int` or `str` for a value \
                 that is no array, not `float`",
            ),
            (
                format!("input = {{ spec = {{}}, cuts = 'b' }}\n{one}"),
                "line 1, column 29: `cuts` needs a `path`: a spec has its own sharding",
            ),
            (
                format!("input = {{ spec = {{}}, check_digests = 'b' }}\n{one}"),
                "line 1, column 38: `check_digests` needs a `path`: a spec has digests of its own",
            ),
            (format!("input = {{ spec = {{}} }}\n{one}"), "line 1, column 18: `spec` has no arrays"),
            (
                format!(
                    "input = {{ spec = {{ a = {{ dtype = 'f', shape = [2], sharding = ['x', 'y'] }} }} \
                     }}\n{one}"
                ),
                "line 1, column 63: `sharding` is of 2 dimensions, and the array has 1",
            ),
            (
                format!("input = 'a'\n{one}options.variant = 'b'\n"),
                "line 5, column 9: `variant` is chosen twice: for this benchmark, and for all of them at \
                 line 1, column 9",
            ),
            (
                format!("baseline = 'a'\nsave_baseline = 'b'\n{one}"),
                "line 2, column 17: `baseline` and `save_baseline` exclude each other in a suite",
            ),
            ("suite_name = 'x'\n".to_owned(), "line 1, column 1: `suite_name` begins a suite of Orbax"),
        ] {
            let mistake = read(&text).unwrap_err().to_string();
            assert!(mistake.starts_with(told), "{text}\n{mistake}");
        }
    }

    #[test]
    fn yaml_is_refused_with_the_command_that_reads_it() {
        let told = nodes("a.yaml", "name: x").unwrap_err().to_string();
        assert!(told.ends_with(" suite run a.yaml` reads YAML and hands it on"), "{told}");
    }
}
