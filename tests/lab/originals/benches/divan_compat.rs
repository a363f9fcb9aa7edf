//! Bodies in divan's style, measured by what stands for divan here: `cargo lab originals`.

use weighbridge::divan_compat as divan;

include!("divan_style.rs");
