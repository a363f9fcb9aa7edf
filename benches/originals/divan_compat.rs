//! Bodies in divan's style, measured by what stands for divan here: `cargo xtask originals`.

use weighbridge::divan_compat as divan;

include!("divan_style.rs");
