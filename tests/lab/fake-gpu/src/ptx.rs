//! Kernels in the text of a module: their parameters, and what they cost by comments of ours.
//!
//! ```text
//! // fake spin_ns ns_arg=0 timer
//! // fake relu ns=500 ns_per_thread=0.01 bytes_per_thread=8
//! // fake block_on_flag hold_arg=0 timeout_arg=1 expired_arg=2
//! // fake stamp stamp_arg=0
//! ```
//!
//! A kernel does what a twin does for it, or what lies at an address of the host (`host`, see `nvrtc`), or
//! nothing. `timer` is work that watches the device's timer and is not slowed by its clock. A held stream
//! goes on when the 32-bit word behind `hold_arg` is not zero; when the nanoseconds in `timeout_arg` pass
//! before, it goes on after writing 1 to the word behind `expired_arg`. A stamp writes the device's timer and
//! its cycles, 64 bits each.

use std::collections::BTreeMap;

use crate::code::Code;

/// One kernel.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub name: String,
    /// Bytes of each parameter.
    pub parameters: Vec<usize>,
    pub ns: f64,
    pub ns_arg: Option<usize>,
    pub ns_per_thread: f64,
    pub bytes_per_thread: f64,
    pub timer: bool,
    pub hold_arg: Option<usize>,
    pub timeout_arg: Option<usize>,
    pub expired_arg: Option<usize>,
    pub stamp_arg: Option<usize>,
    /// The address of a function that is this kernel, compiled for the host.
    pub host: Option<usize>,
}

/// What a kernel costs that no comment speaks of, nanoseconds.
const UNTOLD: f64 = 2_000.0;

/// Reads a module.
///
/// # Errors
///
/// What the driver answers to a text that is no PTX, too new for it, or for a later device.
pub fn parse(text: &str, newest: u64, capability: u64) -> Result<BTreeMap<String, Kernel>, Code> {
    let version = directive(text, ".version").ok_or(Code::INVALID_PTX)?;
    let (major, minor) = version.split_once('.').ok_or(Code::INVALID_PTX)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| Code::INVALID_PTX);
    if number(major)? * 10 + number(minor)? > newest {
        return Err(Code::UNSUPPORTED_PTX);
    }
    let target =
        directive(text, ".target").and_then(|target| target.strip_prefix("sm_")).ok_or(Code::INVALID_PTX)?;
    if number(target.trim_end_matches(|letter: char| !letter.is_ascii_digit()))? > capability {
        return Err(Code::NO_BINARY);
    }
    let code = without_comments(text);
    let mut kernels = BTreeMap::new();
    for part in code.split(".entry").skip(1) {
        let (head, _) = part.split_once('{').ok_or(Code::INVALID_PTX)?;
        let (name, rest) = head.split_once('(').unwrap_or((head, ""));
        let name = name.trim().to_owned();
        let declared = rest.split(')').next().unwrap_or_default().split(',').map(str::trim);
        let declared = declared.filter(|parameter| !parameter.is_empty());
        let parameters = declared.map(bytes).collect::<Option<_>>().ok_or(Code::INVALID_PTX)?;
        kernels.insert(name.clone(), Kernel { name, parameters, ns: UNTOLD, ..Kernel::default() });
    }
    for line in text.lines() {
        let Some(told) = line.trim_start().strip_prefix("// fake ") else { continue };
        let mut words = told.split_whitespace();
        let kernel = words.next().and_then(|name| kernels.get_mut(name)).ok_or(Code::INVALID_PTX)?;
        kernel.ns = 0.0;
        for word in words {
            tell(kernel, word).ok_or(Code::INVALID_PTX)?;
        }
    }
    Ok(kernels)
}

fn directive<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    let line = text.lines().map(str::trim).find_map(|line| line.strip_prefix(name))?;
    line.split([' ', '\t', ',', '/']).find(|word| !word.is_empty())
}

fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The size of one declared parameter.
fn bytes(parameter: &str) -> Option<usize> {
    let kind = parameter.split_whitespace().filter_map(|word| word.strip_prefix('.')).find_map(|word| {
        let bits: usize = word.strip_prefix(['u', 's', 'b', 'f'])?.parse().ok()?;
        Some(bits / 8)
    })?;
    let count = match parameter.split_once('[') {
        Some((_, count)) => count.split(']').next()?.trim().parse().ok()?,
        None => 1,
    };
    Some(kind * count)
}

fn tell(kernel: &mut Kernel, word: &str) -> Option<()> {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    let number = || value.parse::<f64>().ok();
    let place = || value.parse::<usize>().ok().filter(|place| *place < kernel.parameters.len());
    match key {
        "ns" => kernel.ns = number()?,
        "ns_per_thread" => kernel.ns_per_thread = number()?,
        "bytes_per_thread" => kernel.bytes_per_thread = number()?,
        "ns_arg" => kernel.ns_arg = Some(place()?),
        "hold_arg" => kernel.hold_arg = Some(place()?),
        "timeout_arg" => kernel.timeout_arg = Some(place()?),
        "expired_arg" => kernel.expired_arg = Some(place()?),
        "stamp_arg" => kernel.stamp_arg = Some(place()?),
        "timer" => kernel.timer = true,
        "host" => kernel.host = Some(value.parse().ok()?),
        _ => return None,
    }
    Some(())
}

/// A launch as it was enqueued: the arguments are copied out at once, as the driver does.
#[derive(Clone, Debug)]
pub struct Launch {
    pub kernel: Kernel,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub args: Vec<Vec<u8>>,
    /// An error that was planted for it.
    pub fault: Option<Code>,
}

impl Launch {
    /// An argument as a whole number.
    pub fn number(&self, place: usize) -> u64 {
        let mut wide = [0; 8];
        let arg = &self.args[place];
        let len = arg.len().min(8);
        wide[..len].copy_from_slice(&arg[..len]);
        u64::from_le_bytes(wide)
    }

    /// Nanoseconds at the full clock; `rate` is the memory's, bytes per nanosecond.
    pub fn nanoseconds(&self, rate: u64) -> u64 {
        let all = self.grid.iter().chain(&self.block);
        let threads: f64 = all.map(|extent| f64::from(*extent)).product();
        let moved = self.kernel.bytes_per_thread * threads / rate as f64;
        let told = self.kernel.ns_arg.map_or(0.0, |place| self.number(place) as f64);
        (self.kernel.ns + told + self.kernel.ns_per_thread * threads + moved).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// fake spin ns_arg=1 timer
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(
    .param .u32 spin_param_0, // one
    .param .u64 spin_param_1,
    .param .align 8 .b8 spin_param_2[24]
) { ret; }
.visible .entry other() { ret; }
";

    #[test]
    fn parameters_and_costs_are_read_from_the_text() {
        let kernels = parse(TEXT, 90, 90).unwrap();
        let spin = &kernels["spin"];
        assert_eq!(
            (spin.parameters.as_slice(), spin.ns_arg, spin.timer),
            ([4, 8, 24].as_slice(), Some(1), true)
        );
        let launch = Launch {
            kernel: spin.clone(),
            grid: [1; 3],
            block: [1; 3],
            args: vec![vec![0; 4], 5000u64.to_le_bytes().to_vec(), vec![0; 24]],
            fault: None,
        };
        assert_eq!(launch.nanoseconds(1), 5000);
        assert!(kernels["other"].parameters.is_empty());
    }

    #[test]
    fn what_the_driver_would_refuse_is_refused() {
        let check = |from: &str, to: &str| parse(&TEXT.replace(from, to), 90, 90).unwrap_err();
        assert_eq!(check(".version", "version"), Code::INVALID_PTX);
        assert_eq!(check("7.0", "9.9"), Code::UNSUPPORTED_PTX);
        assert_eq!(check("sm_70", "sm_100"), Code::NO_BINARY);
        assert_eq!(check("fake spin", "fake nothing"), Code::INVALID_PTX);
        assert_eq!(check("ns_arg=1", "ns_arg=3"), Code::INVALID_PTX);
    }
}
