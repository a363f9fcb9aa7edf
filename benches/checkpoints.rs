//! Checkpoints: every scenario of `weighbridge-checkpoints` through every adapter that is there.

use weighbridge_checkpoints as _; // or the linker drops what it registered

weighbridge::main!();
