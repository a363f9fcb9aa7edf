//! Bodies in criterion's style, measured by what stands for criterion here: `cargo lab originals`.

use weighbridge::criterion_compat as criterion;

include!("criterion_style.rs");
