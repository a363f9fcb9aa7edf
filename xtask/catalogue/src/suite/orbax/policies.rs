//! The policies of a manager in a suite of Orbax: what is saved, what is kept, and which checkpoints must be
//! kept in the end.

use weighbridge::suite::{Keys, Mistake, Node, Value};
use weighbridge_checkpoints::contract::{KeepPolicies, KeepPolicy, SavePolicies, SavePolicy};

/// The policies that one value of `checkpoint_policies_options` asks for.
pub(super) struct OrbaxPolicies {
    pub(super) save: SavePolicies,
    pub(super) keep: KeepPolicies,
    /// Steps whose checkpoints must be there in the end.
    pub(super) expected: Vec<u64>,
}

/// The name of the option.
pub(super) const OPTION: &str = "checkpoint_policies_options";

/// Reads one value of the option. Unknown keys are mistakes, here as in Orbax.
///
/// # Errors
/// What is wrong, with its place.
pub(super) fn policies(node: &Node) -> Result<OrbaxPolicies, Mistake> {
    let known = ["preservation_policies", "save_decision_policies", "expected_preserve_checkpoints"];
    let keys = Keys::of(OPTION, node, &known, None)?;
    let save = keys.required("save_decision_policies")?.list("save_decision_policies")?;
    let keep = keys.required("preservation_policies")?.list("preservation_policies")?;
    let expected = keys.get("expected_preserve_checkpoints").filter(|node| node.value != Value::Nothing);
    Ok(OrbaxPolicies {
        save: save.iter().map(save_policy).collect::<Result<_, _>>()?,
        keep: keep.iter().map(keep_policy).collect::<Result<_, _>>()?,
        expected: expected.map_or(Ok(Vec::new()), |node| steps("expected_preserve_checkpoints", node))?,
    })
}

fn save_policy(node: &Node) -> Result<SavePolicy, Mistake> {
    let known = ["policy_type", "interval_steps", "custom_steps", "minimum_interval_secs"];
    let keys = Keys::of("a policy of `save_decision_policies`", node, &known, None)?;
    let named = keys.required("policy_type")?;
    match named.text("policy_type")? {
        "FixedIntervalPolicy" => interval(&keys).map(SavePolicy::Interval),
        "SpecificStepsPolicy" => custom_steps(&keys).map(SavePolicy::Steps),
        "ContinuousCheckpointingPolicy" => {
            Ok(SavePolicy::Continuous(number(&keys, "minimum_interval_secs")?.unwrap_or(0)))
        }
        "InitialSavePolicy" => Ok(SavePolicy::Initial),
        "PreemptionSavePolicy" => Ok(SavePolicy::Preemption),
        _ => Err(named.wrong(
            "policy_type",
            "FixedIntervalPolicy, SpecificStepsPolicy, ContinuousCheckpointingPolicy, \
             InitialSavePolicy or PreemptionSavePolicy",
        )),
    }
}

fn keep_policy(node: &Node) -> Result<KeepPolicy, Mistake> {
    let known = ["policy_type", "n", "interval_secs", "interval_steps", "custom_steps"];
    let keys = Keys::of("a policy of `preservation_policies`", node, &known, None)?;
    let named = keys.required("policy_type")?;
    match named.text("policy_type")? {
        "LatestN" => Ok(KeepPolicy::Latest(number(&keys, "n")?)),
        "EveryNSteps" => interval(&keys).map(KeepPolicy::StepInterval),
        "EveryNSeconds" => {
            keys.required("interval_secs")?;
            Ok(KeepPolicy::Seconds(number(&keys, "interval_secs")?.unwrap_or(0)))
        }
        "CustomSteps" => custom_steps(&keys).map(KeepPolicy::Steps),
        _ => Err(named.wrong("policy_type", "LatestN, EveryNSteps, EveryNSeconds or CustomSteps")),
    }
}

fn interval(keys: &Keys<'_>) -> Result<u64, Mistake> {
    keys.required("interval_steps")?.count("interval_steps").map(u64::from)
}

fn custom_steps(keys: &Keys<'_>) -> Result<Vec<u64>, Mistake> {
    steps("custom_steps", keys.required("custom_steps")?)
}

fn steps(what: &str, node: &Node) -> Result<Vec<u64>, Mistake> {
    node.list(what)?.iter().map(|step| whole(what, step)).collect()
}

/// A whole number; `None` where there is none.
fn number(keys: &Keys<'_>, name: &str) -> Result<Option<u64>, Mistake> {
    let node = keys.get(name).filter(|node| node.value != Value::Nothing);
    node.map(|node| whole(name, node)).transpose()
}

fn whole(what: &str, node: &Node) -> Result<u64, Mistake> {
    match node.value {
        Value::Whole(number) => u64::try_from(number).ok(),
        _ => None,
    }
    .ok_or_else(|| node.wrong(what, "a whole number of at least 0"))
}
