//! Servers that do not do what they say: for tests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Error, Result};
use weighbridge_data::{DataSet, ExecutedWork};
use weighbridge_load::Target;

use crate::adapters::native::{HyperServer, open_by_hand};
use crate::contract::{OpenModel, Server, StartedServer};
use crate::workload::{ModelInput, ServingSpec};

/// A way in which a server does other work than it says, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerLie {
    /// None.
    Honest,
    /// The answer to the request before is given again.
    TellsTheLastAnswer,
    /// What was asked once is remembered, and told at once; what is new takes its time.
    Remembers,
    /// The first id is made, and repeated.
    RepeatsTheFirst,
    /// The answer ends before it is whole.
    Breaks,
    /// It never takes requests.
    NeverReady,
    /// It dies before it takes requests.
    Dies,
    /// It does not stop.
    DoesNotStop,
    /// It is at an address of other machines too.
    IsElsewhere,
}

/// The server by hand, with a lie.
pub(super) struct LyingServer(pub(super) ServerLie);

struct LyingModel {
    lie: ServerLie,
    honest: Box<dyn OpenModel + Send>,
    asked: BTreeMap<Vec<i32>, Vec<f32>>,
    last: Vec<f32>,
    decoded: usize,
}

impl Server for LyingServer {
    fn start(
        &mut self,
        spec: &ServingSpec,
        weights: &Arc<DataSet>,
        _place: &Path,
    ) -> Result<Box<dyn StartedServer + '_>> {
        let honest = open_by_hand(&spec.prediction, weights)?;
        let (asked, last) = (BTreeMap::new(), Vec::new());
        let model = LyingModel { lie: self.0, honest, asked, last, decoded: 0 };
        let server = HyperServer::start(Box::new(model), spec)?;
        let elsewhere = Target::parse("http://192.0.2.1:1", None)?;
        Ok(Box::new(LyingStart { lie: self.0, server, elsewhere }))
    }
}

impl OpenModel for LyingModel {
    fn predict(&mut self, input: &ModelInput, batch: usize) -> Result<Vec<f32>> {
        self.honest.predict(input, batch)
    }

    fn prefill(&mut self, ids: &[i32], batch: usize) -> Result<Vec<f32>> {
        self.decoded = 0;
        if self.lie == ServerLie::Remembers {
            if let Some(known) = self.asked.get(ids) {
                return Ok(known.clone());
            }
            // What is new takes so long that any machine sees the difference.
            std::thread::sleep(Duration::from_millis(20));
        }
        let made = self.honest.prefill(ids, batch)?;
        self.asked.insert(ids.to_vec(), made.clone());
        let before = std::mem::replace(&mut self.last, made.clone());
        Ok(if self.lie == ServerLie::TellsTheLastAnswer && !before.is_empty() { before } else { made })
    }

    fn decode(&mut self, ids: &[i32]) -> Result<Vec<f32>> {
        self.decoded += 1;
        match self.lie {
            ServerLie::Breaks if self.decoded > 3 => Err(Error::new("it breaks")),
            ServerLie::RepeatsTheFirst => Ok(self.last.clone()),
            _ => self.honest.decode(ids),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.honest.settings()
    }
}

/// A server that was started, with a lie about that.
struct LyingStart {
    lie: ServerLie,
    server: HyperServer,
    elsewhere: Target,
}

impl StartedServer for LyingStart {
    fn target(&self) -> &Target {
        match self.lie {
            ServerLie::IsElsewhere => &self.elsewhere,
            _ => self.server.target(),
        }
    }

    fn look(&mut self) -> Result<bool> {
        match self.lie {
            ServerLie::NeverReady => Ok(false),
            ServerLie::Dies => Err(Error::new("the server died: exit code 3")),
            _ => self.server.look(),
        }
    }

    fn stop(&mut self, patience: Duration) -> Result<()> {
        match self.lie {
            ServerLie::DoesNotStop => Err(Error::new(format!("the server did not stop within {patience:?}"))),
            _ => self.server.stop(patience),
        }
    }

    fn executed(&self, spec: &ServingSpec) -> Result<ExecutedWork> {
        self.server.executed(spec)
    }
}
