//! The keys of a suite of Orbax.

use weighbridge::suite::{Keys, Mistake, Node, Position, TableKey, Value, arrays};

use super::generators::{OrbaxGenerator, generator};
use super::policies;

/// A suite of Orbax, as it is written.
#[derive(Debug)]
pub(super) struct OrbaxSuite {
    pub(super) name: String,
    pub(super) repeats: u32,
    /// Empty where no state is given: the generator brings its own.
    pub(super) inputs: Vec<OrbaxInput>,
    pub(super) meshes: Vec<OrbaxMesh>,
    pub(super) benchmarks: Vec<OrbaxBenchmark>,
    pub(super) baseline: Option<String>,
    pub(super) save_baseline: Option<String>,
}

/// A state.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OrbaxInput {
    /// Arrays, as the catalogue's `State` reads them.
    Spec(String),
    /// A checkpoint that lies somewhere.
    Path {
        path: String,
        /// The file that says how its tensors are cut.
        cuts: Option<String>,
    },
    /// Nothing to save.
    Empty,
}

/// A mesh: each axis with its size over all devices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OrbaxMesh(pub(super) String);

/// A generator with its options. An option with several values is an axis.
#[derive(Debug)]
pub(super) struct OrbaxBenchmark {
    pub(super) generator: &'static OrbaxGenerator,
    pub(super) place: Position,
    pub(super) options: Vec<(TableKey, Vec<Node>)>,
}

/// Reads a suite. Where `ignored` is a list, keys that nobody knows go there.
///
/// # Errors
/// What is wrong, with its place.
pub(super) fn read(root: &Node, mut ignored: Option<&mut Vec<Mistake>>) -> Result<OrbaxSuite, Mistake> {
    let known = [
        "suite_name",
        "num_repeats",
        "checkpoint_config",
        "checkpoint_configs",
        "mesh_config",
        "mesh_configs",
        "benchmarks",
        "baseline_path",
        "baseline_capture_path",
    ];
    let keys = Keys::of("a suite of Orbax", root, &known, ignored.as_deref_mut())?;
    let text = |name: &str| keys.get(name).map(|node| node.text(name).map(str::to_owned)).transpose();
    let mut inputs = Vec::new();
    for node in keys.one_or_many("checkpoint_config", "checkpoint_configs")? {
        inputs.extend(input(node, ignored.as_deref_mut())?);
    }
    let mut meshes = Vec::new();
    for node in keys.one_or_many("mesh_config", "mesh_configs")? {
        meshes.push(mesh(node, ignored.as_deref_mut())?);
    }
    let mut benchmarks = Vec::new();
    for node in keys.required("benchmarks")?.list("benchmarks")? {
        benchmarks.push(benchmark(node, ignored.as_deref_mut())?);
    }
    Ok(OrbaxSuite {
        name: keys.required("suite_name")?.text("suite_name")?.to_owned(),
        repeats: keys.get("num_repeats").map_or(Ok(1), |node| node.count("num_repeats"))?,
        inputs,
        meshes,
        benchmarks,
        baseline: text("baseline_path")?,
        save_baseline: text("baseline_capture_path")?,
    })
}

fn input(node: &Node, ignored: Option<&mut Vec<Mistake>>) -> Result<Option<OrbaxInput>, Mistake> {
    let known = ["path", "spec", "random_seed", "sharding_config_path", "load_with_colocated_python"];
    let keys = Keys::of("a checkpoint_config", node, &known, ignored)?;
    keys.not_both("path", "spec")?;
    if let (Some(sharding), None) = (keys.get("sharding_config_path"), keys.get("path")) {
        return Err(Mistake::at(
            sharding.place,
            "`sharding_config_path` needs a `path`: a spec has its own sharding",
        ));
    }
    if let Some(path) = keys.get("path") {
        let path = path.text("path")?.to_owned();
        let cuts = keys.get("sharding_config_path").map(|cuts| cuts.text("sharding_config_path"));
        return Ok(Some(OrbaxInput::Path { path, cuts: cuts.transpose()?.map(str::to_owned) }));
    }
    let Some(spec) = keys.get("spec") else { return Ok(None) };
    let seed = match keys.get("random_seed").map(|seed| (&seed.value, seed)) {
        None => 0,
        Some((Value::Whole(seed), _)) if u32::try_from(*seed).is_ok() => *seed,
        Some((_, seed)) => return Err(seed.wrong("random_seed", "a whole number from 0 to 4294967295")),
    };
    let is_empty = spec.table("spec")?.is_empty();
    Ok(Some(if is_empty { OrbaxInput::Empty } else { OrbaxInput::Spec(arrays(spec, seed)?) }))
}

fn mesh(node: &Node, mut ignored: Option<&mut Vec<Mistake>>) -> Result<OrbaxMesh, Mistake> {
    let known = [
        "mesh_axes",
        "ici_parallelism",
        "dcn_parallelism",
        "allow_split_physical_axes",
        "process_is_granule",
    ];
    let keys = Keys::of("a mesh_config", node, &known, ignored.as_deref_mut())?;
    let axes = keys.required("mesh_axes")?.list("mesh_axes")?;
    let axes: Vec<&str> = axes.iter().map(|axis| axis.text("mesh_axes")).collect::<Result<_, _>>()?;
    let mut sizes: Vec<u64> = vec![1; axes.len()];
    for name in ["ici_parallelism", "dcn_parallelism"] {
        let Some(node) = keys.get(name).filter(|node| node.value != Value::Nothing) else { continue };
        let parallelism = Keys::of(name, node, &axes, ignored.as_deref_mut())?;
        for (axis, size) in axes.iter().zip(&mut sizes) {
            if let Some(factor) = parallelism.get(axis) {
                *size = size.saturating_mul(factor.count(axis)?.into());
            }
        }
    }
    let axes: Vec<String> = axes.iter().zip(sizes).map(|(axis, size)| format!("{axis}={size}")).collect();
    Ok(OrbaxMesh(axes.join("+")))
}

fn benchmark(node: &Node, mut ignored: Option<&mut Vec<Mistake>>) -> Result<OrbaxBenchmark, Mistake> {
    let keys = Keys::of("a benchmark", node, &["generator", "options"], ignored.as_deref_mut())?;
    let named = keys.required("generator")?;
    let generator = generator(named)?;
    let options = keys.required("options")?;
    let known: Vec<&str> = generator.options().collect();
    let of = format!("the options of {}", generator.class);
    let looked_up = Keys::of(&of, options, &known, ignored)?;
    looked_up.not_both("capture_digests_path", "reference_digests_path")?;
    let mut read = Vec::new();
    for (key, value) in options.table("options")? {
        if !known.contains(&&*key.name) {
            continue; // it is in the list of what is ignored
        }
        let values = match &value.value {
            Value::List(_) => value.list(&key.name)?.to_vec(),
            _ => vec![value.clone()],
        };
        if key.name == policies::OPTION {
            values.iter().try_for_each(|value| policies::policies(value).map(drop))?;
        }
        read.push((key.clone(), values));
    }
    Ok(OrbaxBenchmark { generator, place: named.place, options: read })
}
