//! What makes a build another one although its source means the same.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use weighbridge::data::SplitMix64;

/// A way of building the same source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// As it is.
    Usual,
    /// In a folder of another name: names of symbols and places of texts follow from it.
    Folder(String),
    /// Linked in an order of sections that is drawn from this seed.
    Order(u32),
    /// With a function of so many steps that nobody calls, in the crate and in its bench file.
    Function(u32),
}

/// A function has so many steps at most.
const STEPS: u32 = 40;

impl Layout {
    /// The layout of a round, for a subject: the kinds in turns, what each draws from the seed.
    pub(super) fn drawn(seed: u64, round: u32, subject: &str) -> Self {
        let name = subject.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(byte));
        let drawn = SplitMix64::new(seed ^ name ^ (u64::from(round) << 32)).draw();
        // Another number for each subject, so that no round is of one kind.
        match (u64::from(round) + subject.len() as u64) % 3 {
            0 => Self::Folder(format!("{:x}", drawn >> (drawn % 60))),
            1 => Self::Order(1 + (drawn >> 33) as u32),
            _ => Self::Function(1 + drawn as u32 % STEPS),
        }
    }

    /// Flags for the compiler of the bench target alone, where it is linked in this order too. The linker of
    /// the compiler can shuffle sections, and each function has one.
    pub(super) fn flags(&self, order: Option<u32>) -> Vec<String> {
        let own = if let Self::Order(seed) = self { Some(*seed) } else { None };
        match order.map(|order| order.wrapping_add(own.unwrap_or_default())).or(own) {
            Some(seed) => {
                vec![
                    "-Clink-arg=-fuse-ld=lld".to_owned(),
                    format!("-Clink-arg=-Wl,--shuffle-sections=*={seed}"),
                ]
            }
            None => Vec::new(),
        }
    }

    /// Puts what it adds into a source.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(super) fn put_into(&self, source: &Path) -> Result<()> {
        let Self::Function(steps) = self else { return Ok(()) };
        let text = std::fs::read_to_string(source)
            .with_context(|| format!("failed to read `{}`", source.display()))?;
        std::fs::write(source, text + &neutral(*steps))
            .with_context(|| format!("failed to write `{}`", source.display()))
    }
}

/// A function that nobody calls and that no linker leaves out.
fn neutral(steps: u32) -> String {
    let each: String =
        (1..=steps).map(|step| format!("    x = x.rotate_left({}) ^ {step};\n", step % 63)).collect();
    format!(
        "\n#[used]\nstatic NEUTRAL: fn(u64) -> u64 = neutral;\n\n/// Nobody calls it.\n#[inline(never)]\n\
         fn neutral(mut x: u64) -> u64 {{\n{each}    x\n}}\n"
    )
}

impl fmt::Display for Layout {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usual => to.write_str("as it is"),
            Self::Folder(name) => write!(to, "folder {name}"),
            Self::Order(seed) => write!(to, "order {seed}"),
            Self::Function(steps) => write!(to, "function of {steps} steps"),
        }
    }
}
