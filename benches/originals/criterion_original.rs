//! Bodies in criterion's style, measured by criterion: `cargo xtask originals`.

include!("criterion_style.rs");
