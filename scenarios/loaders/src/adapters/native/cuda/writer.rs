//! Writes straight-line PTX: every value has a register of its own.

use std::fmt;

/// The registers that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParamClass {
    /// `f32`
    Single,
    /// `f64`
    Double,
    /// 32 bits
    Word,
    /// 64 bits
    Long,
    /// True or false
    Flag,
}

impl ParamClass {
    const ALL: [Self; 5] = [Self::Single, Self::Double, Self::Word, Self::Long, Self::Flag];

    /// The letters of its registers, and its type in declarations.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Single => ("f", "f32"),
            Self::Double => ("d", "f64"),
            Self::Word => ("r", "b32"),
            Self::Long => ("l", "b64"),
            Self::Flag => ("p", "pred"),
        }
    }
}

/// A register that was written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriterValue {
    class: ParamClass,
    number: usize,
}

impl fmt::Display for WriterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}{}", self.class.names().0, self.number)
    }
}

/// An `f32` as PTX writes it: its bits.
pub(super) fn single(x: f32) -> String {
    format!("0f{:08X}", x.to_bits())
}

/// An `f64` likewise.
pub(super) fn double(x: f64) -> String {
    format!("0d{:016X}", x.to_bits())
}

/// The body of a kernel.
#[derive(Debug, Default)]
pub(super) struct Writer {
    body: String,
    used: [usize; 5],
}

impl Writer {
    /// An instruction with a result.
    pub(super) fn put(
        &mut self,
        class: ParamClass,
        instruction: &str,
        operands: &[&dyn fmt::Display],
    ) -> WriterValue {
        let place = ParamClass::ALL.iter().position(|one| *one == class).expect("all are listed");
        let value = WriterValue { class, number: self.used[place] };
        self.used[place] += 1;
        let operands: String = operands.iter().map(|operand| format!(", {operand}")).collect();
        self.body.push_str(&format!("    {instruction} {value}{operands};\n"));
        value
    }

    /// A line as it is.
    pub(super) fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    /// `a op b` on `f32`, rounded.
    pub(super) fn single(&mut self, op: &str, a: WriterValue, b: impl fmt::Display) -> WriterValue {
        self.put(ParamClass::Single, &format!("{op}.rn.f32"), &[&a, &b])
    }

    /// `a op b` on `f64`, rounded.
    pub(super) fn double(&mut self, op: &str, a: WriterValue, b: impl fmt::Display) -> WriterValue {
        self.put(ParamClass::Double, &format!("{op}.rn.f64"), &[&a, &b])
    }

    /// `a op b` on 64 bits.
    pub(super) fn long(&mut self, op: &str, a: WriterValue, b: impl fmt::Display) -> WriterValue {
        self.put(ParamClass::Long, op, &[&a, &b])
    }

    /// `a op b` on 32 bits.
    pub(super) fn word(&mut self, op: &str, a: WriterValue, b: impl fmt::Display) -> WriterValue {
        self.put(ParamClass::Word, op, &[&a, &b])
    }

    /// `then` where a flag is set, else `other`.
    pub(super) fn choose(
        &mut self,
        flag: WriterValue,
        then: impl fmt::Display,
        other: impl fmt::Display,
    ) -> WriterValue {
        self.put(ParamClass::Single, "selp.f32", &[&then, &other, &flag])
    }

    /// The kernel with its declarations.
    pub(super) fn finish(self, name: &str, parameters: &[(&str, &str)]) -> String {
        let list: Vec<_> =
            parameters.iter().map(|(kind, name)| format!("    .param .{kind} {name}")).collect();
        let declared = ParamClass::ALL.iter().zip(self.used).map(|(class, used)| {
            let (letters, kind) = class.names();
            format!("    .reg .{kind} %{letters}<{}>;\n", used.max(1))
        });
        let declared: String = declared.collect();
        format!(".visible .entry {name}(\n{}\n)\n{{\n{declared}{}}}\n", list.join(",\n"), self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_declares_the_registers_that_it_uses() {
        let mut writer = Writer::default();
        let a = writer.put(ParamClass::Single, "mov.f32", &[&single(1.0)]);
        let b = writer.single("add", a, single(0.1));
        writer.single("mul", b, a);
        writer.line("    ret;");
        let text = writer.finish("one", &[("u64", "from"), ("u32", "count")]);
        for line in [
            ".visible .entry one(\n    .param .u64 from,\n    .param .u32 count\n)",
            "    .reg .f32 %f<3>;",
            "    mov.f32 %f0, 0f3F800000;",
            "    add.rn.f32 %f1, %f0, 0f3DCCCCCD;",
            "    mul.rn.f32 %f2, %f1, %f0;",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
