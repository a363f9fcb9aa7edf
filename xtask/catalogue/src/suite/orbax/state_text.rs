//! A state that is saved, as it stands in a suite or on the command line.

use weighbridge_checkpoints::workload::{DeviceMesh, State};

use super::paths::{here, store};
use super::read::OrbaxInput;

/// A state as CKPT-1 takes it: the name of a variant, or tensors; or the path of a checkpoint, as CKPT-7
/// takes it.
#[derive(Clone, Debug)]
pub(in crate::suite) struct StateText {
    pub(super) text: String,
    /// The tensors, as far as they are known: nothing of a checkpoint that lies somewhere.
    pub(super) state: Option<State>,
    /// The mesh that it lies on, where a file of its cuts says it.
    pub(super) mesh: Option<DeviceMesh>,
}

impl std::str::FromStr for StateText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let variants = [
            ("default", State::MB_268),
            ("tiny", State::MB_16),
            ("large", State::GB_1),
            ("huge", State::GB_4),
        ];
        let named = variants.into_iter().find(|(name, _)| *name == text).map(|(_, state)| state);
        let state: State = named.map_or_else(|| text.parse(), Ok)?;
        let mesh = match &state {
            State::File(file) => file.mesh().cloned(),
            State::Llama { .. } | State::Tensors { .. } => None,
        };
        Ok(Self { text: text.to_owned(), state: Some(state), mesh })
    }
}

impl StateText {
    /// The state of an input, or what is missing for it.
    pub(super) fn of(input: &OrbaxInput) -> Result<Self, String> {
        match input {
            OrbaxInput::Spec(text) => text.parse(),
            OrbaxInput::Path { path, cuts } => {
                for (what, path) in [("a checkpoint", Some(path)), ("cuts", cuts.as_ref())] {
                    if let Some(path) = path.filter(|path| path.contains("://")) {
                        return Err(format!(
                            "{what} on {}: {path} (`--input` saves another state)",
                            store(path)
                        ));
                    }
                }
                let cuts =
                    cuts.as_ref().map_or_else(String::new, |cuts| format!(" cuts={}", here(cuts).display()));
                let text = format!("path:{}{cuts}", here(path).display());
                text.parse().map_err(|why| format!("a state at {path}: {why} (`--input` saves another)"))
            }
            OrbaxInput::Empty => Err("a state to save: its spec is empty".to_owned()),
        }
    }
}
