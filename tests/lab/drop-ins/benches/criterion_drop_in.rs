//! Bodies in criterion's style, measured by what stands in its place: `cargo lab originals`.

include!("../../originals/benches/criterion_style.rs");
