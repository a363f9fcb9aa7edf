//! Bodies in divan's style, measured by divan: `cargo lab originals`.

use ::divan; // so that modules find it where they find what stands for it

include!("divan_style.rs");
