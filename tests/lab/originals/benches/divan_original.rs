//! Bodies in divan's style, measured by divan: `cargo lab originals`.

include!("divan_style.rs");
