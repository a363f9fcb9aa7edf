//! Bodies in divan's style, measured by what stands in its place: `cargo lab originals`.

include!("../../originals/benches/divan_style.rs");
