//! Data loaders: every scenario of `weighbridge-loaders` through every adapter that is there.

use weighbridge_loaders as _; // or the linker drops what it registered

weighbridge::main!();
