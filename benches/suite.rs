//! The catalogue: every scenario of `weighbridge-scenarios` through every adapter that is there.

use weighbridge_scenarios as _; // or the linker drops what it registered

weighbridge::main!();
