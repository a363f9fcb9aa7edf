//! The kernel of one field: all its transforms, number by number, from the bytes of the data set to what is delivered.

use weighbridge::{Dtype, FieldKind};

use super::super::buffer::row_bytes;
use super::formulas::{between, log1p_abs, normal, sincos, split, split_at, unit};
use super::writer::{Class, Value, Writer, double, single};
use crate::data::{DataSet, Normalisation};
use crate::workload::{Gate, Route, Touch, Transform};

/// A kernel, written.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) text: String,
    /// Numbers of an element.
    pub(super) numbers: usize,
    /// The constants of `Normalize` that it reads, where it does.
    pub(super) constants: Option<Normalisation>,
}

/// What every kernel takes.
const PARAMETERS: [(&str, &str); 7] = [
    ("u64", "from"),
    ("u64", "to"),
    ("u32", "count"),
    ("u64", "element"),
    ("u64", "draws"),
    ("u64", "mean"),
    ("u64", "scale"),
];

/// The lines before the first kernel: any device since Volta takes it, and any driver since CUDA 11.
pub(super) const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\n";

/// Writes the kernel of a route; `None` where the field is delivered as it is.
///
/// # Errors
///
/// The name of what is not made number by number.
pub(super) fn write(route: &Route, data: &DataSet, name: &str) -> Result<Option<Kernel>, String> {
    if !route.branches.is_empty() {
        return Err("merged branches".to_owned());
    }
    let Some(first) = route.trunk.first() else { return Ok(None) };
    let source = &first.before;
    let mut lines = Lines::begin(source)?;
    let mut x = lines.load(source.dtype)?;
    for touch in &route.trunk {
        let before = x;
        x = lines.touch(touch, source, x)?;
        if let Some(gate) = touch.gate {
            x = lines.gated(gate, before, x);
        }
    }
    let output = &route.output;
    if output.dtype != Dtype::F32 || output.shape != source.shape {
        return Err(format!("a field that is delivered as {}", output.dtype.name()));
    }
    let constants = if lines.standardises {
        let constants = data.normalisation(route.source);
        Some(constants.ok_or_else(|| format!("`{}` without constants of Normalize", source.name))?.clone())
    } else {
        None
    };
    let numbers = source.shape.iter().product();
    let moved = (row_bytes(source) + row_bytes(output)) as f64 / (numbers as f64).max(1.0);
    // The comment is for a stand-in of the driver: it runs the kernel as it is written, at the memory's speed.
    let told = format!("// fake {name} run bytes_per_thread={moved}\n");
    let text = told + &lines.end(x).finish(name, &PARAMETERS);
    Ok(Some(Kernel { name: name.to_owned(), text, numbers, constants }))
}

struct Lines {
    writer: Writer,
    /// The thread, which is the number's place in the batch.
    place: Value,
    /// The number's place in its element.
    number: Value,
    /// The draws of its element.
    draws: Value,
    columns: usize,
    /// Whether the constants of `Normalize` are read.
    standardises: bool,
}

impl Lines {
    fn begin(source: &FieldKind) -> Result<Self, String> {
        let numbers: usize = source.shape.iter().product();
        let numbers =
            u32::try_from(numbers).map_err(|_| "an element of more than 2^32 numbers".to_owned())?;
        let mut w = Writer::default();
        let count = w.put(Class::Word, "ld.param.u32", &[&"[count]"]);
        let block = w.put(Class::Word, "mov.u32", &[&"%ctaid.x"]);
        let threads = w.put(Class::Word, "mov.u32", &[&"%ntid.x"]);
        let thread = w.put(Class::Word, "mov.u32", &[&"%tid.x"]);
        let place = w.put(Class::Word, "mad.lo.u32", &[&block, &threads, &thread]);
        let beyond = w.put(Class::Flag, "setp.ge.u32", &[&place, &count]);
        w.line(&format!("    @{beyond} bra END;"));
        let row = w.word("div.u32", place, numbers.max(1));
        let number = w.word("rem.u32", place, numbers.max(1));
        let first = w.put(Class::Long, "ld.param.u64", &[&"[element]"]);
        let row = w.put(Class::Long, "cvt.u64.u32", &[&row]);
        let element = w.long("add.u64", first, row);
        let epoch = w.put(Class::Long, "ld.param.u64", &[&"[draws]"]);
        let draws = split(&mut w, epoch, element);
        let columns = source.shape.last().copied().unwrap_or(1).max(1);
        Ok(Self { writer: w, place, number, draws, columns, standardises: false })
    }

    /// The address of this thread's number in an array.
    fn address(&mut self, array: &str, place: Value, size: usize) -> Value {
        let base = self.writer.put(Class::Long, "ld.param.u64", &[&format!("[{array}]")]);
        self.writer.put(Class::Long, "mad.wide.u32", &[&place, &size, &base])
    }

    /// The source as `f32`. All types become it, and only once.
    fn load(&mut self, dtype: Dtype) -> Result<Value, String> {
        let address = self.address("from", self.place, dtype.size());
        let w = &mut self.writer;
        let at = format!("[{address}]");
        let (class, load, convert) = match dtype {
            Dtype::F32 => return Ok(w.put(Class::Single, "ld.global.f32", &[&at])),
            Dtype::U8 => (Class::Word, "ld.global.u8", "cvt.rn.f32.u32"),
            Dtype::I32 => (Class::Word, "ld.global.s32", "cvt.rn.f32.s32"),
            Dtype::I64 => (Class::Long, "ld.global.s64", "cvt.rn.f32.s64"),
            Dtype::F64 => (Class::Double, "ld.global.f64", "cvt.rn.f32.f64"),
        };
        let loaded = w.put(class, load, &[&at]);
        Ok(w.put(Class::Single, convert, &[&loaded]))
    }

    /// One transform.
    fn touch(&mut self, touch: &Touch, source: &FieldKind, x: Value) -> Result<Value, String> {
        let key = |lines: &mut Self| split_at(&mut lines.writer, lines.draws, touch.position as u64);
        Ok(match touch.transform {
            Transform::CastToFloat32 => x,
            Transform::Normalize if source.dtype == Dtype::U8 => self.writer.single("div", x, single(255.0)),
            Transform::Normalize => {
                self.standardises = true;
                let column = self.writer.word("rem.u32", self.number, self.columns);
                let mean = self.address("mean", column, 4);
                let mean = self.writer.put(Class::Single, "ld.global.f32", &[&format!("[{mean}]")]);
                let scale = self.address("scale", column, 4);
                let scale = self.writer.put(Class::Single, "ld.global.f32", &[&format!("[{scale}]")]);
                let centred = self.writer.single("sub", x, mean);
                self.writer.single("mul", centred, scale)
            }
            Transform::Scale => self.writer.single("mul", x, single(Transform::SCALE)),
            Transform::Add | Transform::CheapTransform => {
                self.writer.single("add", x, single(Transform::ADD))
            }
            Transform::Multiply => self.writer.single("mul", x, single(Transform::MULTIPLY)),
            Transform::Clip => {
                // Not `max` and `min`, which lose NaN and the sign of zero.
                let low = self.writer.put(Class::Flag, "setp.lt.f32", &[&x, &single(0.0)]);
                let x = self.writer.choose(low, single(0.0), x);
                let high = self.writer.put(Class::Flag, "setp.gt.f32", &[&x, &single(1.0)]);
                self.writer.choose(high, single(1.0), x)
            }
            Transform::LogTransform => log1p_abs(&mut self.writer, x),
            Transform::ExpensiveTransform => (0..8).fold(x, |x, _| sincos(&mut self.writer, x)),
            Transform::RandomBrightness => {
                let key = key(self);
                let shift = between(&mut self.writer, key, 0, -0.2, 0.2);
                self.writer.single("add", x, shift)
            }
            Transform::RandomScale => {
                let key = key(self);
                let factor = between(&mut self.writer, key, 0, 0.8, 1.2);
                self.writer.single("mul", x, factor)
            }
            Transform::GaussianNoise => {
                let key = key(self);
                let normal = normal(&mut self.writer, key, self.number);
                let noise = self.writer.single("mul", normal, single(0.05));
                self.writer.single("add", x, noise)
            }
            other => return Err(other.name().to_owned()),
        })
    }

    /// `after` for the elements that a gate lets through.
    fn gated(&mut self, gate: Gate, before: Value, after: Value) -> Value {
        let w = &mut self.writer;
        let key = split_at(w, self.draws, gate.decided_at as u64);
        let drawn = unit(w, key, Gate::DRAW);
        let reaches = w.put(Class::Flag, "setp.ge.f64", &[&drawn, &double(gate.from)]);
        let stays = w.put(Class::Flag, "setp.lt.f64", &[&drawn, &double(gate.below)]);
        let through = w.put(Class::Flag, "and.pred", &[&reaches, &stays]);
        w.choose(through, after, before)
    }

    fn end(mut self, x: Value) -> Writer {
        let address = self.address("to", self.place, 4);
        self.writer.line(&format!("    st.global.f32 [{address}], {x};\nEND:\n    ret;"));
        self.writer
    }
}
