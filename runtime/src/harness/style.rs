//! Benches in the style of another harness: they are found once the command line is known, and their filters
//! are regular expressions.

use std::path::{Path, PathBuf};

use super::TargetError;
use crate::registry::{Additions, ScenarioEntry, add};

/// The part of a program that finds its benches.
pub type Find = fn(&FindRequest<'_>) -> Result<FoundBenches, String>;

/// The request to find the benches of a program.
#[derive(Clone, Debug)]
pub struct FindRequest<'a> {
    /// The folder in which it may be remembered what was found.
    pub folder: PathBuf,
    /// The folder of the package, in which cargo runs its benches.
    pub directory: &'a Path,
    /// True if the command line says which benches to run.
    pub filtered: bool,
}

/// The benches of a program.
#[derive(Debug, Default)]
pub struct FoundBenches {
    /// The scenarios that they become.
    pub scenarios: Vec<ScenarioEntry>,
    /// Things to say to whoever measures.
    pub notes: Vec<String>,
    /// Variables that children are told.
    pub variables: Vec<(String, String)>,
}

/// The part of what was found that is needed once the scenarios are registered.
#[derive(Clone, Debug, Default)]
pub(super) struct Styled {
    pub(super) expressions: bool,
    pub(super) notes: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
}

impl Styled {
    /// Finds the benches and registers them; nothing where the program has none in another style.
    pub(super) fn register(find: Option<Find>, request: &FindRequest<'_>) -> Result<Self, TargetError> {
        let Some(find) = find else { return Ok(Self::default()) };
        let FoundBenches { scenarios, notes, variables } = find(request).map_err(TargetError::Find)?;
        add(Additions { scenarios, adapters: Vec::new(), alone: false });
        Ok(Self { expressions: true, notes, variables })
    }
}
