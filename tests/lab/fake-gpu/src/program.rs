//! Kernels that are run as they are written: straight-line PTX, read into steps.
//!
//! What is understood is what such kernels need: loads, stores, arithmetic without flags of their own
//! rounding (`.rn` throughout), comparisons, choices, and branches forwards. A kernel that says `run` and has
//! anything else is refused when its module is loaded.

use std::collections::BTreeMap;

/// A register, a constant, or what a thread knows of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    Register(usize),
    Constant(u64),
    /// `%tid.x`
    Thread,
    /// `%ctaid.x`
    Block,
    /// `%ntid.x`
    Threads,
    /// `%nctaid.x`
    Blocks,
}

/// What an instruction does to its operands' bits.
pub type Function = fn([u64; 3]) -> u64;

#[derive(Clone, Debug)]
pub enum Action {
    Apply {
        function: Function,
        to: usize,
        from: [Source; 3],
    },
    /// A parameter by its place.
    Parameter {
        to: usize,
        place: usize,
        size: usize,
    },
    Load {
        to: usize,
        address: Source,
        offset: u64,
        size: usize,
        signed: bool,
    },
    Store {
        address: Source,
        offset: u64,
        size: usize,
        from: Source,
    },
    /// Adds to the 32 bits at an address, as no other thread sees them meanwhile.
    Add {
        address: Source,
        offset: u64,
        from: Source,
    },
    /// To a later step.
    Jump(usize),
    End,
}

/// An instruction, done by threads whose predicate allows it.
#[derive(Clone, Debug)]
pub struct Step {
    /// A register that must be true, or false.
    pub guard: Option<(usize, bool)>,
    pub action: Action,
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub steps: Vec<Step>,
    pub registers: usize,
}

/// Reads a kernel's body; `None` where something in it is not understood.
pub fn read(body: &str, parameters: &[String]) -> Option<Program> {
    let mut reader = Reader { parameters, ..Reader::default() };
    for statement in body.split(';') {
        let mut statement = statement.trim();
        while let Some((label, rest)) = statement.split_once(':') {
            reader.labels.insert(label.trim().to_owned(), reader.steps.len());
            statement = rest.trim();
        }
        if !statement.is_empty() && !statement.starts_with('.') {
            let step = reader.step(statement)?;
            reader.steps.push(step);
        }
    }
    for (place, label) in reader.jumps {
        let target = *reader.labels.get(&label)?;
        if target <= place {
            return None; // a loop
        }
        reader.steps[place].action = Action::Jump(target);
    }
    Some(Program { steps: reader.steps, registers: reader.registers.len() })
}

#[derive(Default)]
struct Reader<'text> {
    parameters: &'text [String],
    registers: BTreeMap<String, usize>,
    labels: BTreeMap<String, usize>,
    jumps: Vec<(usize, String)>,
    steps: Vec<Step>,
}

impl Reader<'_> {
    fn register(&mut self, name: &str) -> Option<usize> {
        let next = self.registers.len();
        name.starts_with('%').then(|| *self.registers.entry(name.to_owned()).or_insert(next))
    }

    fn source(&mut self, text: &str) -> Option<Source> {
        Some(match text {
            "%tid.x" => Source::Thread,
            "%ctaid.x" => Source::Block,
            "%ntid.x" => Source::Threads,
            "%nctaid.x" => Source::Blocks,
            _ if text.starts_with('%') => Source::Register(self.register(text)?),
            _ => Source::Constant(constant(text)?),
        })
    }

    /// `[%rd1+4]`
    fn address(&mut self, text: &str) -> Option<(Source, u64)> {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
        Some((self.source(base.trim())?, offset.trim().parse().ok()?))
    }

    fn step(&mut self, statement: &str) -> Option<Step> {
        let (guard, statement) = match statement.strip_prefix('@') {
            None => (None, statement),
            Some(guarded) => {
                let (guard, rest) = guarded.split_once(char::is_whitespace)?;
                let wanted = !guard.starts_with('!');
                (Some((self.register(guard.trim_start_matches('!'))?, wanted)), rest.trim())
            }
        };
        let (name, operands) = statement.split_once(char::is_whitespace).unwrap_or((statement, ""));
        let operands: Vec<&str> =
            operands.split(',').map(str::trim).filter(|operand| !operand.is_empty()).collect();
        let action = self.action(name, &operands)?;
        Some(Step { guard, action })
    }

    fn action(&mut self, name: &str, operands: &[&str]) -> Option<Action> {
        let words: Vec<&str> = name.split('.').collect();
        let kind = *words.last()?;
        match (words[0], operands) {
            ("ret", []) => Some(Action::End),
            ("bra", [label]) => {
                self.jumps.push((self.steps.len(), (*label).to_owned()));
                Some(Action::End)
            }
            ("ld", [to, from]) if words[1] == "param" => {
                let inner = from.strip_prefix('[')?.strip_suffix(']')?;
                let place = self.parameters.iter().position(|parameter| parameter == inner)?;
                Some(Action::Parameter { to: self.register(to)?, place, size: size(kind)? })
            }
            ("ld", [to, from]) => {
                let (address, offset) = self.address(from)?;
                let signed = kind.starts_with('s');
                Some(Action::Load { to: self.register(to)?, address, offset, size: size(kind)?, signed })
            }
            ("st", [to, from]) => {
                let (address, offset) = self.address(to)?;
                Some(Action::Store { address, offset, size: size(kind)?, from: self.source(from)? })
            }
            ("red", [to, from]) if name == "red.global.add.u32" => {
                let (address, offset) = self.address(to)?;
                Some(Action::Add { address, offset, from: self.source(from)? })
            }
            (_, [to, from @ ..]) if from.len() <= 3 => {
                let function = function(&words)?;
                let mut sources = [Source::Constant(0); 3];
                for (source, text) in sources.iter_mut().zip(from) {
                    *source = self.source(text)?;
                }
                Some(Action::Apply { function, to: self.register(to)?, from: sources })
            }
            _ => None,
        }
    }
}

/// Bytes of a type, by its letters.
fn size(kind: &str) -> Option<usize> {
    let bits: usize = kind.trim_start_matches(['u', 's', 'b', 'f']).parse().ok()?;
    [8, 16, 32, 64].contains(&bits).then_some(bits / 8)
}

fn constant(text: &str) -> Option<u64> {
    if let Some(bits) = text.strip_prefix("0f").or_else(|| text.strip_prefix("0F")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    if let Some(bits) = text.strip_prefix("0d").or_else(|| text.strip_prefix("0D")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    if let Some(bits) = text.strip_prefix("0x") {
        return u64::from_str_radix(bits, 16).ok();
    }
    match text.strip_prefix('-') {
        Some(positive) => positive.parse::<i64>().ok().map(|value| value.wrapping_neg().cast_unsigned()),
        None => text.parse().ok(),
    }
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

fn of(x: f32) -> u64 {
    u64::from(x.to_bits())
}

#[expect(clippy::float_cmp, reason = "it is what the instruction does")]
fn equal(a: f32, b: f32) -> bool {
    a == b
}

/// The function of an instruction by its words. Floating point is rounded to nearest, each operation by
/// itself; where PTX would contract two into one, the words say `.rn`, and what does not say it is not
/// understood.
fn function(words: &[&str]) -> Option<Function> {
    let rounded = words.contains(&"rn");
    let name = words.iter().filter(|word| **word != "rn").copied().collect::<Vec<_>>().join(".");
    let to_float = |kind: &str| kind == "f32" || kind == "f64";
    let rounds = match words[0] {
        "add" | "sub" | "mul" | "div" | "sqrt" => to_float(words[words.len() - 1]),
        "cvt" => {
            // To a whole number it is rounded as the words say, and not to nearest.
            let is_whole = words[1] == "rmi" || words[1] == "rzi";
            let is_float = words.iter().any(|word| *word == "f32" || *word == "f64");
            is_float && !is_whole && !name.starts_with("cvt.f64.f32")
        }
        _ => false,
    };
    if rounds != rounded {
        return None;
    }
    Some(match name.as_str() {
        "mov.u32" | "mov.b32" | "mov.f32" | "mov.s32" => |[a, ..]| a & 0xffff_ffff,
        "mov.u64" | "mov.b64" | "mov.f64" | "mov.s64" => |[a, ..]| a,
        "add.f32" => |[a, b, _]| of(f(a) + f(b)),
        "sub.f32" => |[a, b, _]| of(f(a) - f(b)),
        "mul.f32" => |[a, b, _]| of(f(a) * f(b)),
        "div.f32" => |[a, b, _]| of(f(a) / f(b)),
        "sqrt.f32" => |[a, ..]| of(f(a).sqrt()),
        "sqrt.f64" => |[a, ..]| d(a).sqrt().to_bits(),
        "neg.f32" => |[a, ..]| (a ^ 0x8000_0000) & 0xffff_ffff,
        "abs.f32" => |[a, ..]| a & 0x7fff_ffff,
        "add.f64" => |[a, b, _]| (d(a) + d(b)).to_bits(),
        "sub.f64" => |[a, b, _]| (d(a) - d(b)).to_bits(),
        "mul.f64" => |[a, b, _]| (d(a) * d(b)).to_bits(),
        "div.f64" => |[a, b, _]| (d(a) / d(b)).to_bits(),
        "add.u32" | "add.s32" => |[a, b, _]| u64::from((a as u32).wrapping_add(b as u32)),
        "sub.u32" | "sub.s32" => |[a, b, _]| u64::from((a as u32).wrapping_sub(b as u32)),
        "min.u32" => |[a, b, _]| u64::from((a as u32).min(b as u32)),
        "min.s32" => |[a, b, _]| u64::from((a as i32).min(b as i32).cast_unsigned()),
        "max.s32" => |[a, b, _]| u64::from((a as i32).max(b as i32).cast_unsigned()),
        "mul.lo.u32" | "mul.lo.s32" => |[a, b, _]| u64::from((a as u32).wrapping_mul(b as u32)),
        "mad.lo.u32" | "mad.lo.s32" => {
            |[a, b, c]| u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32))
        }
        "div.u32" => |[a, b, _]| u64::from((a as u32).checked_div(b as u32).unwrap_or(u32::MAX)),
        "rem.u32" => |[a, b, _]| u64::from((a as u32).checked_rem(b as u32).unwrap_or(a as u32)),
        "mul.wide.u32" => |[a, b, _]| u64::from(a as u32) * u64::from(b as u32),
        "mad.wide.u32" => |[a, b, c]| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c),
        "add.u64" | "add.s64" => |[a, b, _]| a.wrapping_add(b),
        "sub.u64" | "sub.s64" => |[a, b, _]| a.wrapping_sub(b),
        "mul.lo.u64" | "mul.lo.s64" => |[a, b, _]| a.wrapping_mul(b),
        "mul.hi.u64" => |[a, b, _]| ((u128::from(a) * u128::from(b)) >> 64) as u64,
        "and.b32" | "and.b64" | "and.pred" => |[a, b, _]| a & b,
        "or.b32" | "or.b64" | "or.pred" => |[a, b, _]| a | b,
        "xor.b32" | "xor.b64" | "xor.pred" => |[a, b, _]| a ^ b,
        "not.pred" => |[a, ..]| a ^ 1,
        // Shifts by the width or more give what is left of shifting bit by bit.
        "shl.b32" => |[a, b, _]| u64::from((a as u32).checked_shl(b as u32).unwrap_or(0)),
        "shr.u32" => |[a, b, _]| u64::from((a as u32).checked_shr(b as u32).unwrap_or(0)),
        "shr.s32" => |[a, b, _]| u64::from(((a as i32) >> (b as u32).min(31)).cast_unsigned()),
        "shl.b64" => |[a, b, _]| a.checked_shl(b as u32).unwrap_or(0),
        "shr.u64" => |[a, b, _]| a.checked_shr(b as u32).unwrap_or(0),
        "cvt.f32.u32" => |[a, ..]| of(a as u32 as f32),
        "cvt.f32.s32" => |[a, ..]| of(a as i32 as f32),
        "cvt.f32.u64" => |[a, ..]| of(a as f32),
        "cvt.f32.s64" => |[a, ..]| of(a.cast_signed() as f32),
        "cvt.f32.f64" => |[a, ..]| of(d(a) as f32),
        "cvt.f64.f32" => |[a, ..]| f64::from(f(a)).to_bits(),
        "cvt.f64.u64" => |[a, ..]| (a as f64).to_bits(),
        "cvt.f64.u32" => |[a, ..]| f64::from(a as u32).to_bits(),
        "cvt.rmi.f64.f64" => |[a, ..]| d(a).floor().to_bits(),
        "cvt.rzi.u32.f64" => |[a, ..]| u64::from(d(a) as u32),
        "cvt.u64.u32" => |[a, ..]| a & 0xffff_ffff,
        "cvt.u32.u64" => |[a, ..]| a & 0xffff_ffff,
        "selp.f32" | "selp.b32" | "selp.u32" => |[a, b, p]| (if p == 0 { b } else { a }) & 0xffff_ffff,
        "selp.b64" | "selp.u64" | "selp.f64" => |[a, b, p]| if p == 0 { b } else { a },
        "setp.lt.f32" => |[a, b, _]| u64::from(f(a) < f(b)),
        "setp.gt.f32" => |[a, b, _]| u64::from(f(a) > f(b)),
        "setp.eq.f32" => |[a, b, _]| u64::from(equal(f(a), f(b))),
        "setp.ge.f32" => |[a, b, _]| u64::from(f(a) >= f(b)),
        "setp.le.f64" => |[a, b, _]| u64::from(d(a) <= d(b)),
        "setp.lt.f64" => |[a, b, _]| u64::from(d(a) < d(b)),
        "setp.ge.f64" => |[a, b, _]| u64::from(d(a) >= d(b)),
        "setp.ge.u32" => |[a, b, _]| u64::from(a as u32 >= b as u32),
        "setp.lt.u32" => |[a, b, _]| u64::from((a as u32) < b as u32),
        "setp.eq.u32" => |[a, b, _]| u64::from(a as u32 == b as u32),
        "setp.ne.u32" => |[a, b, _]| u64::from(a as u32 != b as u32),
        "setp.ge.u64" => |[a, b, _]| u64::from(a >= b),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_that_could_be_contracted_is_not_understood() {
        for (text, understood) in [
            ("add.rn.f32 %f1, %f1, %f2", true),
            ("add.f32 %f1, %f1, %f2", false),
            ("fma.rn.f32 %f1, %f1, %f2, %f3", false),
            ("cvt.rn.f32.u32 %f1, %r1", true),
            ("cvt.f32.u32 %f1, %r1", false),
            ("cvt.rzi.u32.f64 %r1, %d1", true),
            ("cvt.u32.f64 %r1, %d1", false),
            ("setp.lt.f32 %p1, %f1, %f2", true),
            ("ex2.approx.f32 %f1, %f1", false),
        ] {
            assert_eq!(read(text, &[]).is_some(), understood, "{text}");
        }
    }

    #[test]
    fn branches_go_forwards() {
        assert!(read("@%p1 bra END; mov.u32 %r1, 1; END: ret;", &[]).is_some());
        assert!(read("AGAIN: mov.u32 %r1, 1; @%p1 bra AGAIN;", &[]).is_none());
        assert!(read("bra NOWHERE;", &[]).is_none());
    }

    #[test]
    fn constants_are_read_by_their_notation() {
        for (text, bits) in [("7", 7), ("-1", u64::MAX), ("0f3F800000", 0x3f80_0000), ("0xff", 255)] {
            assert_eq!(constant(text), Some(bits), "{text}");
        }
        assert_eq!(constant("0d3FF0000000000000"), Some(1f64.to_bits()));
        assert_eq!(constant("END"), None);
    }
}
