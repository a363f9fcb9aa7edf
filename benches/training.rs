//! Training: every scenario of `weighbridge-training` through every adapter that is there, fed by every
//! loader.

use weighbridge_training as _; // or the linker drops what it registered

weighbridge::main!(scenarios = "weighbridge_training");
