//! Predictors of Python behind plain HTTP, each in a process of its own. The server is
//! `weighbridge_worker/http_server.py`; the model is opened by the file of the predictor.

use std::path::Path;
use std::sync::Arc;

use weighbridge::{Availability, Error, Result, adapter};
use weighbridge_data::DataSet;
use weighbridge_load::Api;
use weighbridge_python::{Framework, serving};

use super::predictions::PredictionParts;
use crate::contract::{Server, ServerProcess, StartedServer, free_port};
use crate::workload::{PredictionMode, ServingSpec};

/// The path that is answered once a server takes requests.
const READY: &str = "/v2/health/ready";

/// Starts the server of a predictor's file.
fn start(
    short: &str,
    how: PredictionMode,
    spec: &ServingSpec,
    weights: &DataSet,
    place: &Path,
) -> Result<Box<dyn StartedServer>> {
    let parts = PredictionParts::of(&spec.prediction, how, weights)?;
    let (task, port) = (place.join("task.json"), free_port()?);
    std::fs::write(&task, serde_json::to_string(&parts)?)?;
    let mut command = serving(short, "weighbridge_worker.http_server")?;
    command.arg(short).arg(&task).arg(port.to_string()).current_dir(place);
    let (api, path) = match spec.tokens() {
        Some(_) => (Api::Completions, "/v1/completions"),
        None => (Api::Posted, "/v2/models/model/infer"),
    };
    let server = ServerProcess::start(command, port, api, path, READY)?;
    let Availability::Available { version } = Framework::availability(short) else {
        return Err(Error::new(format!("{short} was there a moment ago")));
    };
    Ok(Box::new(server.of_library(format!("{short} {version}"))))
}

macro_rules! served {
    ($($(#[$what:meta])* $type:ident: $short:ident, $name:literal, $mode:expr;)*) => {$(
        $(#[$what])*
        #[derive(Debug, Default)]
        pub struct $type;

        const _: () = {
            fn installed() -> Availability {
                Framework::availability(stringify!($short))
            }

            $(#[$what])*
            #[adapter(name = $name, tier = 1, probe = installed)]
            impl Server for $type {
                fn start(
                    &mut self,
                    spec: &ServingSpec,
                    weights: &Arc<DataSet>,
                    place: &Path,
                ) -> Result<Box<dyn StartedServer + '_>> {
                    start(stringify!($short), $mode, spec, weights, place)
                }
            }
        };
    )*};
}

served! {
    /// A file in the format of ONNX, in a session of `onnxruntime`, behind Python's own HTTP server.
    OnnxRuntimeServer: onnxruntime, "ONNX Runtime (HTTP)", PredictionMode::Compiled;
    /// Modules of `torch` under `inference_mode`, behind the same.
    PyTorchServer: predict_torch, "PyTorch (HTTP)", PredictionMode::Eager;
}
