//! A program's part of a duel, as it tells it to whoever judges: its cases, and how they are measured.

use std::env;

use serde::{Deserialize, Serialize};

use super::args::BenchArgs;
use super::python::PYTHON;
use super::session::{build, device, on_device, planned};
use super::smoke::program;
use super::{Context, TargetError};
use crate::json;
use crate::plan::{CaseId, Plan};
use crate::record::{Build, Environment, RunPlan};
use crate::run::{DuelCase, DuelSettings};

/// A program's part of a duel.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DuelPlan {
    /// The version of its package.
    pub(super) version: String,
    /// The profile that it is measured under.
    pub(super) profile: String,
    pub(super) settings: DuelSettings,
    /// The cases that it would measure.
    pub(super) cases: Vec<DuelCase>,
    /// The cases that it lists under the same selection, whatever the profile takes.
    pub(super) listed: Vec<CaseId>,
    /// Variables that its children are told.
    pub(super) variables: Vec<(String, String)>,
    /// Its whole plan, for whoever goes on with the duel.
    pub(super) planned: RunPlan,
    /// The facts that it knows of its build.
    pub(super) build: Build,
    /// The name of the backend that serves the platform.
    pub(super) backend: String,
    /// The facts of the device.
    pub(super) device: Environment,
}

/// This program's part, as one line of JSON: of the plan that it would measure, and of its listing.
///
/// # Errors
/// That no device serves the platform.
pub(super) fn told(context: &Context<'_>, plan: &Plan, listed: &Plan) -> Result<String, TargetError> {
    let device = device(plan.run.platform)?;
    let mut variables = program(context)?.variables;
    // This process has it in its own environment, which its children would have.
    let python = context.args.python.as_ref().and_then(|_| env::var(PYTHON).ok());
    variables.extend(python.map(|path| (PYTHON.to_owned(), path)));
    let own = DuelPlan {
        version: context.suite.version.to_owned(),
        profile: plan.profile.clone(),
        settings: DuelSettings::of(plan),
        cases: plan.cases.iter().filter(|case| case.measured).map(DuelCase::of).collect(),
        listed: listed.cases.iter().map(|case| case.id.clone()).collect(),
        variables,
        planned: planned(plan),
        build: build(context.suite),
        backend: device.backend.platform().name().to_owned(),
        device: on_device(&device),
    };
    Ok(json::write(&own).expect("texts and numbers are always JSON") + "\n")
}

/// The arguments of the listing: what a profile leaves out is there all the same.
pub(super) fn listing(args: &BenchArgs) -> BenchArgs {
    BenchArgs { profile: None, ..args.clone() }
}
