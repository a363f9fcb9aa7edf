//! Inference: every scenario of `weighbridge-inference` through every adapter that is there.

use weighbridge_inference as _;

weighbridge::main!(scenarios = "weighbridge_inference");
