//! Every predictor of Python, registered under its name. How its users would write it is in
//! `weighbridge_worker/predictors/`, in the file of its short name here.

use std::sync::Arc;

use weighbridge::Result;
use weighbridge_data::DataSet;
use weighbridge_python::registered;

use super::predictions;
use crate::contract::{PredictionLoop, Predictor};
use crate::workload::{PredictionMode, PredictionSpec};

registered! {
    impl Predictor {
        fn open(
            &mut self,
            spec: &PredictionSpec,
            how: PredictionMode,
            weights: &Arc<DataSet>,
        ) -> Result<Box<dyn PredictionLoop + '_>> {
            predictions::open_model(&mut self.0, spec, how, weights)
        }
    }

    /// Modules of `torch`, eager, with gradients tracked, or compiled by `torch.compile`.
    PyTorch: predict_torch, "PyTorch (inference)";
    /// A file in the format of ONNX that the worker writes, in a session of `onnxruntime`.
    OnnxRuntime: onnxruntime, "ONNX Runtime";
    /// The same file, compiled by OpenVINO.
    OpenVino: openvino, "OpenVINO";
    /// Functions of `jax.numpy`, compiled by `jax.jit`.
    Jax: predict_jax, "JAX";
    /// Functions of TensorFlow, compiled by `tf.function`.
    TensorFlow: predict_tensorflow, "TensorFlow (inference)";
    /// Functions of NumPy.
    NumPy: predict_numpy, "NumPy (inference)";
}
