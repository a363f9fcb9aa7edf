//! The server contract: a model behind a socket of this machine, started, waited for and stopped.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weighbridge::Result;
use weighbridge_data::{DataSet, ExecutedWork};
use weighbridge_load::Target;

use crate::workload::ServingSpec;

/// A system that serves a model.
pub trait Server {
    /// Begins to start a server of this model. It need not take requests yet.
    ///
    /// A decoder is served as text, by `/v1/completions` of the `OpenAI` protocol, streamed: a letter is an
    /// id ([`letter_of`](crate::workload::letter_of)), and each one that is made is the one of the greatest
    /// logit. Any other model is served by the Open Inference Protocol: one sample, named `input`, and its
    /// logits. The folder `place` is the server's, and is removed after the repeat.
    ///
    /// # Errors
    /// A [`skip`](weighbridge::skip) for what the system cannot do, naming it. A failure for anything else.
    fn start(
        &mut self,
        spec: &ServingSpec,
        weights: &Arc<DataSet>,
        place: &Path,
    ) -> Result<Box<dyn StartedServer + '_>>;
}

/// A server that was started. One that is dropped is ended.
pub trait StartedServer {
    /// The address that takes requests, which is one of this machine.
    fn target(&self) -> &Target;

    /// Looks once whether it takes requests.
    ///
    /// # Errors
    /// That it has died, with its last words.
    fn look(&mut self) -> Result<bool>;

    /// Asks it to stop, and waits until nothing of it is left; so long at most.
    ///
    /// # Errors
    /// That it did not stop by itself: it is ended by force then.
    fn stop(&mut self, patience: Duration) -> Result<()>;

    /// Returns what it did, as it says.
    ///
    /// # Errors
    /// What is impossible in it.
    fn executed(&self, spec: &ServingSpec) -> Result<ExecutedWork>;

    /// Fields that each request of a text must have, so that it makes the ids of the greatest logits:
    /// `repeat_penalty=1.0`.
    fn fields(&self) -> &[String] {
        &[]
    }

    /// Tells whether it keeps what it computed of a prompt, and cannot do otherwise: then a cache is not
    /// looked for. No two prompts of a load begin alike.
    fn keeps_prompts(&self) -> bool {
        false
    }

    /// The process that serves, where that is not this one.
    fn process(&self) -> u32 {
        std::process::id()
    }
}
