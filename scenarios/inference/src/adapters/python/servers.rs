//! Predictors of Python behind plain HTTP, each in a process of its own. The server is
//! `weighbridge_worker/http_server.py`; the model is opened by the file of the predictor.

use std::path::Path;
use std::sync::Arc;

use weighbridge::{Availability, Error, Result, adapter, skip};
use weighbridge_data::DataSet;
use weighbridge_load::Api;
use weighbridge_python::{Framework, serving};

use super::predictions::PredictionParts;
use crate::contract::{Server, ServerProcess, StartedServer, free_port};
use crate::workload::{PredictionMode, PredictionPrecision, PredictionSpec, ServingSpec};

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
    if spec.prediction.precision != PredictionPrecision::F32 {
        let asked = spec.prediction.precision;
        return Err(skip(format!("precision {asked}: its file of a predictor is of f32")));
    }
    let parts = PredictionParts::of(&spec.prediction, how, weights)?;
    let (task, port) = (place.join("task.json"), free_port()?);
    std::fs::write(&task, serde_json::to_string(&parts)?)?;
    let mut command = serving(short, "weighbridge_worker.http_server")?;
    command.arg(short).arg(&task).arg(port.to_string()).current_dir(place);
    let (api, path) = match spec.tokens() {
        Some(_) => (Api::Completions, "/v1/completions"),
        None => (Api::Posted, "/v2/models/model/infer"),
    };
    told(short, ServerProcess::start(command, port, api, path, READY)?)
}

/// A server that tells its library.
fn told(short: &str, server: ServerProcess) -> Result<Box<dyn StartedServer>> {
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

/// The server of `llama-cpp-python`, on a model in the format of GGUF that is written for it, in `f16`.
#[derive(Debug, Default)]
pub struct LlamaServer;

fn llama() -> Availability {
    Framework::availability(LLAMA)
}

const LLAMA: &str = "llama_cpp";

/// The server of llama.cpp.
#[adapter(name = "llama.cpp", tier = 1, probe = llama)]
impl Server for LlamaServer {
    fn start(
        &mut self,
        spec: &ServingSpec,
        weights: &Arc<DataSet>,
        place: &Path,
    ) -> Result<Box<dyn StartedServer + '_>> {
        if spec.tokens().is_none() {
            return Err(skip(format!("model {}: llama.cpp generates texts", spec.prediction.name)));
        }
        if spec.prediction.precision != PredictionPrecision::F16 {
            let asked = spec.prediction.precision;
            return Err(skip(format!("precision {asked}: llama.cpp looks `gelu` up in a table of f16")));
        }
        // The numbers are told to the file as they are, and become those of the precision there.
        let exact = PredictionSpec { precision: PredictionPrecision::F32, ..spec.prediction.clone() };
        let parts = PredictionParts::of(&exact, PredictionMode::Eager, weights)?;
        let (task, port) = (place.join("task.json"), free_port()?);
        std::fs::write(&task, serde_json::to_string(&parts)?)?;
        let mut command = serving(LLAMA, "weighbridge_worker.llama_server")?;
        command.arg(&task).arg(port.to_string()).current_dir(place);
        let server = ServerProcess::start(command, port, Api::Completions, "/v1/completions", "/v1/models")?;
        // Its server changes logits of ids that came before, unless it is told not to.
        let server = server.with_field("repeat_penalty=1.0");
        // It finds the longest beginning that it has in common with the text before.
        told(LLAMA, server.keeping_prompts())
    }
}
