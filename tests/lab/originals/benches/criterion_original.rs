//! Bodies in criterion's style, measured by criterion: `cargo lab originals`.

include!("criterion_style.rs");
