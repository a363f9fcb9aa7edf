//! Adapters in every way of being made.

use weighbridge::prelude::*;

use crate::contract::{Loader, Named, Width};

#[derive(Default)]
pub(crate) struct Reference;

impl Named for Reference {
    fn name(&self) -> &'static str {
        "Reference"
    }
}

/// Counts without loading.
///
/// This is not in listings.
#[adapter(name = "Reference", tier = 0)]
impl Loader for Reference {
    fn load(&mut self, count: usize) -> usize {
        count
    }
}

pub(crate) struct Opened {
    factor: usize,
}

impl Opened {
    fn open() -> Opened {
        Opened { factor: 10 }
    }
}

fn missing() -> Availability {
    Availability::Missing {
        reason: "not installed".to_owned(),
        install: "cargo catalogue peers install opened".to_owned(),
    }
}

impl Named for Opened {
    fn name(&self) -> &'static str {
        "Opened"
    }
}

#[adapter(name = "Opened", new = Opened::open, probe = missing, unequal = "counts in tens")]
impl Loader for Opened {
    fn load(&mut self, count: usize) -> usize {
        count * self.factor
    }
}

pub(crate) struct Broken;

impl Named for Broken {
    fn name(&self) -> &'static str {
        "Broken"
    }
}

fn broken() -> std::result::Result<Broken, String> {
    Err("no such file".to_owned())
}

#[adapter(name = "Broken", new = broken)]
impl Loader for Broken {
    fn load(&mut self, _: usize) -> usize {
        0
    }
}

pub(crate) struct Skipped;

impl Named for Skipped {
    fn name(&self) -> &'static str {
        "Skipped"
    }
}

fn skipped() -> Result<Skipped> {
    Err(skip("no GPU"))
}

#[adapter(name = "Skipped", new = skipped)]
impl Loader for Skipped {
    fn load(&mut self, _: usize) -> usize {
        0
    }
}

#[derive(Default)]
pub(crate) struct Queue;

#[adapter(name = "Queue")]
impl Width<u8> for Queue {
    fn bits(&self) -> usize {
        8
    }
}

#[adapter(name = "Queue")]
impl Width<u16> for Queue {
    fn bits(&self) -> usize {
        16
    }
}

/// Registers many alike, as a crate with a family of adapters does.
macro_rules! queues {
    ($($(#[$what:meta])* $name:ident, $text:literal, tier $tier:literal, $width:ty: $stays:literal;)*) => {$(
        #[derive(Default)]
        pub(crate) struct $name;

        $(#[$what])*
        #[adapter(name = $text, tier = $tier, resident = $stays)]
        impl Width<$width> for $name {
            fn bits(&self) -> usize {
                size_of::<$width>() * 8
            }
        }
    )*};
}

queues! {
    /// Four bytes.
    Wide, "Wide", tier 2, u32: true;
    /// Eight bytes.
    Wider, "Wider", tier 3, u64: false;
}
