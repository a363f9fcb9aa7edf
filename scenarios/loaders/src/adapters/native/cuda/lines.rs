//! The lines of one kernel: where its thread's cell is, what is drawn and noted, and each transform of it.

use weighbridge::{Dtype, FieldKind};

use super::formulas::{between, coin, log1p_abs, normal, sincos, split, split_at, unit};
use super::images::{
    ImageWindow, beside, blend, blur_weights, byte, cell_at, five, grayscale, jitter, limit, neighbours,
    random_window, range, settle, split_cell,
};
use super::moves::{MoveOrigin, is_move, origin};
use super::stages::{DeviceStage, Reads, is_of_pixels};
use super::writer::{ParamClass, Writer, WriterValue, double, single};
use crate::workload::{Route, Touch, Transform, TransformGate};

/// Bytes of a note of any kind: six times 64 bits, of which a window needs all.
pub(super) const NOTE: usize = 48;

/// How the numbers of an element lie. A thread makes one cell of them: a pixel where a transform asks for
/// pixels, else a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineShape {
    pub(super) numbers: usize,
    /// Numbers of a cell.
    wide: usize,
    /// The last axis.
    last: usize,
    /// Of an image.
    rows: usize,
    columns: usize,
}

impl LineShape {
    pub(super) fn new(kind: &FieldKind, route: &Route) -> Result<Self, String> {
        let numbers: usize = kind.shape.iter().product();
        let is_summed = route.trunk.iter().any(|touch| touch.transform == Transform::ColorJitter);
        let most = if is_summed { u32::MAX / 255 } else { u32::MAX };
        if numbers > most as usize {
            return Err(format!("an element of more than {most} numbers"));
        }
        let last = kind.shape.last().copied().unwrap_or(1).max(1);
        let (rows, columns, wide) = match kind.shape[..] {
            [rows, columns, channels] if route.trunk.iter().any(is_of_pixels) => (rows, columns, channels),
            _ => (0, 0, 1),
        };
        Ok(Self { numbers, wide: wide.max(1), last, rows, columns })
    }

    /// Threads of an element.
    pub(super) fn cells(&self) -> usize {
        (self.numbers / self.wide).max(1)
    }

    /// Whether something is drawn or added up once for an element.
    pub(super) fn is_noted(touch: &Touch) -> bool {
        use Transform::{ColorJitter, GaussianBlur, RandomResizedCrop};
        matches!(touch.transform, ColorJitter | GaussianBlur | RandomResizedCrop)
    }
}

/// The lines of one kernel.
pub(super) struct Lines<'route> {
    writer: Writer,
    shape: &'route LineShape,
    /// The element's place in the batch.
    row: WriterValue,
    /// The cell's place in its element.
    cell: WriterValue,
    /// The draws of its element.
    draws: WriterValue,
    /// Whose notes there are, in their order.
    noted: &'route [&'route Touch],
    /// Whether the constants of `Normalize` are read.
    pub(super) standardises: bool,
}

impl<'route> Lines<'route> {
    pub(super) fn begin(shape: &'route LineShape, threads: usize, noted: &'route [&'route Touch]) -> Self {
        let mut w = Writer::default();
        let count = w.put(ParamClass::Word, "ld.param.u32", &[&"[count]"]);
        let block = w.put(ParamClass::Word, "mov.u32", &[&"%ctaid.x"]);
        let size = w.put(ParamClass::Word, "mov.u32", &[&"%ntid.x"]);
        let thread = w.put(ParamClass::Word, "mov.u32", &[&"%tid.x"]);
        let place = w.put(ParamClass::Word, "mad.lo.u32", &[&block, &size, &thread]);
        let beyond = w.put(ParamClass::Flag, "setp.ge.u32", &[&place, &count]);
        w.line(&format!("    @{beyond} bra END;"));
        let row = w.word("div.u32", place, threads);
        let cell = w.word("rem.u32", place, threads);
        let first = w.put(ParamClass::Long, "ld.param.u64", &[&"[element]"]);
        let long = w.put(ParamClass::Long, "cvt.u64.u32", &[&row]);
        let element = w.long("add.u64", first, long);
        let epoch = w.put(ParamClass::Long, "ld.param.u64", &[&"[draws]"]);
        let draws = split(&mut w, epoch, element);
        Self { writer: w, shape, row, cell, draws, noted, standardises: false }
    }

    pub(super) fn end(mut self) -> Writer {
        self.writer.line("END:\n    ret;");
        self.writer
    }

    /// All of a stage.
    pub(super) fn stage(&mut self, stage: &DeviceStage<'_>, source: &FieldKind) -> Result<(), String> {
        // A transform that moves pixels says where each comes from: so cells are found from the last to the
        // first.
        let mut cell = self.cell;
        let mut origins = Vec::new();
        for touch in stage.touches.iter().rev() {
            let origin = if is_move(touch.transform) {
                self.origin(touch, cell)
            } else {
                MoveOrigin { cell, exists: None }
            };
            origins.push((cell, origin.exists));
            cell = origin.cell;
        }
        let mut x = self.read(stage, cell);
        for (touch, (cell, exists)) in stage.touches.iter().zip(origins.into_iter().rev()) {
            if is_move(touch.transform) {
                // Its pixel was read from where it comes from.
                if let Some(exists) = exists {
                    x = each(&x, |x| self.writer.choose(exists, x, single(0.0)));
                }
                continue;
            }
            let after = self.touch(touch, source, &x, cell)?;
            x = match touch.gate {
                Some(gate) => {
                    let through = self.passes(gate);
                    x.iter().zip(&after).map(|(x, after)| self.writer.choose(through, after, x)).collect()
                }
                None => after,
            };
        }
        self.write(stage.to, &x);
        if let Some(touch) = stage.sums {
            self.sum(touch, &x);
        }
        Ok(())
    }

    /// What is drawn once for an element, and a sum that begins.
    pub(super) fn draw(&mut self) {
        let noted = self.noted;
        for touch in noted {
            let key = self.key(touch);
            let note = self.note(touch);
            let w = &mut self.writer;
            let store = |w: &mut Writer, kind: &str, place: usize, value: WriterValue| {
                w.line(&format!("    st.global.{kind} [{note}+{}], {value};", 8 * place));
            };
            match touch.transform {
                Transform::RandomResizedCrop => {
                    let window = random_window(w, key, self.shape.rows, self.shape.columns);
                    let places = [window.top, window.left, window.rows, window.columns];
                    for (place, value) in places.into_iter().enumerate() {
                        store(w, "u32", place, value);
                    }
                    store(w, "f64", 4, window.row_scale);
                    store(w, "f64", 5, window.column_scale);
                }
                Transform::GaussianBlur => {
                    for (place, weight) in blur_weights(w, key).into_iter().enumerate() {
                        store(w, "f32", place, weight);
                    }
                }
                _ => {
                    let nothing = w.put(ParamClass::Word, "mov.u32", &[&0]);
                    store(w, "u32", 0, nothing);
                }
            }
        }
    }

    /// The key of a transform's draws for this element.
    fn key(&mut self, touch: &Touch) -> WriterValue {
        split_at(&mut self.writer, self.draws, touch.position as u64)
    }

    /// The address of this element's note for a transform.
    fn note(&mut self, touch: &Touch) -> WriterValue {
        let place = self.noted.iter().position(|noted| *noted == touch).expect("what needs a note has one");
        let notes = self.writer.put(ParamClass::Long, "ld.param.u64", &[&"[notes]"]);
        let own = self.writer.put(
            ParamClass::Long,
            "mad.wide.u32",
            &[&self.row, &(self.noted.len() * NOTE), &notes],
        );
        self.writer.long("add.u64", own, place * NOTE)
    }

    /// What is noted at a place of a note.
    fn noted(&mut self, class: ParamClass, kind: &str, note: WriterValue, place: usize) -> WriterValue {
        self.writer.put(class, &format!("ld.global.{kind}"), &[&format!("[{note}+{}]", 8 * place)])
    }

    /// The address of something in an array.
    fn address(&mut self, array: &str, place: WriterValue, size: usize) -> WriterValue {
        let base = self.writer.put(ParamClass::Long, "ld.param.u64", &[&format!("[{array}]")]);
        self.writer.put(ParamClass::Long, "mad.wide.u32", &[&place, &size, &base])
    }

    /// The address of a cell of this element.
    fn cell_address(&mut self, array: &str, cell: WriterValue, dtype: Dtype) -> WriterValue {
        let place = self.writer.put(ParamClass::Word, "mad.lo.u32", &[&self.row, &self.shape.cells(), &cell]);
        self.address(array, place, self.shape.wide * dtype.size())
    }

    /// The numbers of a cell as `f32`. All types become it, and only once.
    fn load(&mut self, dtype: Dtype, cell: WriterValue) -> Vec<WriterValue> {
        let address = self.cell_address("from", cell, dtype);
        let w = &mut self.writer;
        let one = |channel: usize| {
            let at = format!("[{address}+{}]", channel * dtype.size());
            let (class, load, convert) = match dtype {
                Dtype::F32 => return w.put(ParamClass::Single, "ld.global.f32", &[&at]),
                Dtype::U8 => (ParamClass::Word, "ld.global.u8", "cvt.rn.f32.u32"),
                Dtype::I32 => (ParamClass::Word, "ld.global.s32", "cvt.rn.f32.s32"),
                Dtype::I64 => (ParamClass::Long, "ld.global.s64", "cvt.rn.f32.s64"),
                Dtype::BF16 => unreachable!("states alone have it, and nothing transforms those"),
                Dtype::F64 => (ParamClass::Double, "ld.global.f64", "cvt.rn.f32.f64"),
            };
            let loaded = w.put(class, load, &[&at]);
            w.put(ParamClass::Single, convert, &[&loaded])
        };
        (0..self.shape.wide).map(one).collect()
    }

    /// What a stage begins with.
    fn read(&mut self, stage: &DeviceStage<'_>, cell: WriterValue) -> Vec<WriterValue> {
        match stage.reads {
            Reads::Itself => self.load(stage.from, cell),
            Reads::Window(touch) => self.resized(touch, stage.from, cell),
            Reads::AlongRow(touch) => self.blurred(touch, stage, cell),
            Reads::AlongColumn(touch) => {
                let blurred = self.blurred(touch, stage, cell);
                let settle = |x: WriterValue| settle(&mut self.writer, x, touch.after.dtype);
                blurred.into_iter().map(settle).collect()
            }
        }
    }

    /// Where a transform that moves pixels takes the one at a cell from.
    fn origin(&mut self, touch: &Touch, cell: WriterValue) -> MoveOrigin {
        let key = self.key(touch);
        let moved =
            origin(&mut self.writer, touch.transform, key, cell, [self.shape.rows, self.shape.columns]);
        let Some(gate) = touch.gate else { return moved };
        let through = self.passes(gate);
        let w = &mut self.writer;
        let exists = moved.exists.map(|exists| {
            let stays = w.put(ParamClass::Flag, "not.pred", &[&through]);
            w.put(ParamClass::Flag, "or.pred", &[&exists, &stays])
        });
        MoveOrigin { cell: w.put(ParamClass::Word, "selp.b32", &[&moved.cell, &cell, &through]), exists }
    }

    /// A pixel of the window that was noted, resized to the image.
    fn resized(&mut self, touch: &Touch, dtype: Dtype, cell: WriterValue) -> Vec<WriterValue> {
        let note = self.note(touch);
        let [top, left, rows, columns] =
            [0, 1, 2, 3].map(|place| self.noted(ParamClass::Word, "u32", note, place));
        let [row_scale, column_scale] =
            [4, 5].map(|place| self.noted(ParamClass::Double, "f64", note, place));
        let window = ImageWindow { top, left, rows, columns, row_scale, column_scale };
        let (row, column) = split_cell(&mut self.writer, cell, self.shape.columns);
        let w = &mut self.writer;
        let (upper, lower, down) = neighbours(w, row, window.row_scale, window.rows);
        let (first, second, right) = neighbours(w, column, window.column_scale, window.columns);
        let [upper, lower] = [upper, lower].map(|row| w.word("add.u32", row, window.top));
        let [first, second] = [first, second].map(|column| w.word("add.u32", column, window.left));
        let [upper, lower] = [upper, lower].map(|row| {
            let pixels = [first, second].map(|column| {
                let cell = cell_at(&mut self.writer, row, column, self.shape.columns);
                self.load(dtype, cell)
            });
            let pairs = pixels[0].iter().zip(&pixels[1]);
            pairs.map(|(from, to)| blend(&mut self.writer, *from, *to, right)).collect::<Vec<_>>()
        });
        let w = &mut self.writer;
        let one = |(upper, lower): (&WriterValue, &WriterValue)| {
            let x = blend(w, *upper, *lower, down);
            settle(w, x, dtype)
        };
        upper.iter().zip(&lower).map(one).collect()
    }

    /// A pixel blurred along one axis, by the weights that were noted.
    fn blurred(&mut self, touch: &Touch, stage: &DeviceStage<'_>, cell: WriterValue) -> Vec<WriterValue> {
        let note = self.note(touch);
        let weights = [0, 1, 2].map(|place| self.noted(ParamClass::Single, "f32", note, place));
        let (row, column) = split_cell(&mut self.writer, cell, self.shape.columns);
        let pixels = [-2, -1, 0, 1, 2].map(|offset| {
            let cell = if stage.reads == Reads::AlongRow(touch) {
                let column = beside(&mut self.writer, column, offset, self.shape.columns);
                cell_at(&mut self.writer, row, column, self.shape.columns)
            } else {
                let row = beside(&mut self.writer, row, offset, self.shape.rows);
                cell_at(&mut self.writer, row, column, self.shape.columns)
            };
            self.load(stage.from, cell)
        });
        let one =
            |channel: usize| five(&mut self.writer, pixels.each_ref().map(|pixel| pixel[channel]), weights);
        (0..self.shape.wide).map(one).collect()
    }

    /// One transform that leaves a cell where it is, on its numbers.
    fn touch(
        &mut self,
        touch: &Touch,
        source: &FieldKind,
        x: &[WriterValue],
        cell: WriterValue,
    ) -> Result<Vec<WriterValue>, String> {
        use Transform::{
            Add, CastToFloat32, CheapTransform, Clip, ColorJitter, ExpensiveTransform, GaussianNoise,
            LogTransform, Multiply, Normalize, RandomBrightness, RandomGrayscale, RandomScale,
            RandomSolarize, Scale,
        };
        // What nobody draws from has no lines.
        let key = match touch.transform {
            RandomBrightness | RandomScale | GaussianNoise | RandomSolarize | RandomGrayscale
            | ColorJitter => self.key(touch),
            _ => self.draws,
        };
        let w = &mut self.writer;
        let dtype = touch.before.dtype;
        Ok(match touch.transform {
            CastToFloat32 => x.to_vec(),
            Normalize if source.dtype == Dtype::U8 => each(x, |x| w.single("div", x, single(255.0))),
            Normalize => self.standardised(x, cell),
            Scale => each(x, |x| w.single("mul", x, single(Transform::SCALE))),
            Add | CheapTransform => each(x, |x| w.single("add", x, single(Transform::ADD))),
            Multiply => each(x, |x| w.single("mul", x, single(Transform::MULTIPLY))),
            Clip => each(x, |x| limit(w, x, 1.0)),
            LogTransform => each(x, |x| log1p_abs(w, x)),
            ExpensiveTransform => each(x, |x| (0..8).fold(x, |x, _| sincos(w, x))),
            RandomBrightness => {
                let shift = between(w, key, 0, -0.2, 0.2);
                each(x, |x| w.single("add", x, shift))
            }
            RandomScale => {
                let factor = between(w, key, 0, 0.8, 1.2);
                each(x, |x| w.single("mul", x, factor))
            }
            GaussianNoise => {
                let one = |(channel, x): (usize, &WriterValue)| {
                    let number = self.number(cell, channel);
                    let normal = normal(&mut self.writer, key, number);
                    let noise = self.writer.single("mul", normal, single(0.05));
                    self.writer.single("add", *x, noise)
                };
                x.iter().enumerate().map(one).collect()
            }
            RandomSolarize => {
                let does = coin(w, key, 0);
                let (half, top) = range(dtype);
                let top = w.put(ParamClass::Single, "mov.f32", &[&single(top)]);
                each(x, |x| {
                    let bright = w.put(ParamClass::Flag, "setp.ge.f32", &[&x, &single(half)]);
                    let turns = w.put(ParamClass::Flag, "and.pred", &[&bright, &does]);
                    let turned = w.single("sub", top, x);
                    w.choose(turns, turned, x)
                })
            }
            RandomGrayscale => grayscale(w, key, x, dtype),
            ColorJitter => {
                let note = self.note(touch);
                let sum = self.noted(ParamClass::Word, "u32", note, 0);
                jitter(&mut self.writer, key, x, sum, self.shape.numbers)
            }
            other => return Err(other.name().to_owned()),
        })
    }

    /// `Normalize` of what is `f32` in the data set.
    fn standardised(&mut self, x: &[WriterValue], cell: WriterValue) -> Vec<WriterValue> {
        self.standardises = true;
        let one = |(channel, x): (usize, &WriterValue)| {
            let number = self.number(cell, channel);
            let column = self.writer.word("rem.u32", number, self.shape.last);
            let [mean, scale] = ["mean", "scale"].map(|array| {
                let address = self.address(array, column, 4);
                self.writer.put(ParamClass::Single, "ld.global.f32", &[&format!("[{address}]")])
            });
            let centred = self.writer.single("sub", *x, mean);
            self.writer.single("mul", centred, scale)
        };
        x.iter().enumerate().map(one).collect()
    }

    /// The place of a cell's number in its element.
    fn number(&mut self, cell: WriterValue, channel: usize) -> WriterValue {
        if self.shape.wide == 1 {
            return cell;
        }
        let first = self.writer.word("mul.lo.u32", cell, self.shape.wide);
        self.writer.word("add.u32", first, channel)
    }

    /// Whether a gate lets this element through.
    fn passes(&mut self, gate: TransformGate) -> WriterValue {
        let w = &mut self.writer;
        let key = split_at(w, self.draws, gate.decided_at as u64);
        let drawn = unit(w, key, TransformGate::DRAW);
        let reaches = w.put(ParamClass::Flag, "setp.ge.f64", &[&drawn, &double(gate.from)]);
        let stays = w.put(ParamClass::Flag, "setp.lt.f64", &[&drawn, &double(gate.below)]);
        w.put(ParamClass::Flag, "and.pred", &[&reaches, &stays])
    }

    /// Stores the cell as what the stage writes.
    fn write(&mut self, dtype: Dtype, x: &[WriterValue]) {
        let address = self.cell_address("to", self.cell, dtype);
        for (channel, x) in x.iter().enumerate() {
            let at = format!("[{address}+{}]", channel * dtype.size());
            if dtype == Dtype::U8 {
                let byte = byte(&mut self.writer, *x);
                self.writer.line(&format!("    st.global.u8 {at}, {byte};"));
            } else {
                self.writer.line(&format!("    st.global.f32 {at}, {x};"));
            }
        }
    }

    /// Adds a pixel of bytes to the sum of its element: whole numbers, whose order does not matter.
    fn sum(&mut self, touch: &Touch, x: &[WriterValue]) {
        let note = self.note(touch);
        let w = &mut self.writer;
        let mut sum = w.put(ParamClass::Word, "mov.u32", &[&0]);
        for x in x {
            let bits = byte(w, *x);
            let byte = w.word("and.b32", bits, 255);
            sum = w.word("add.u32", sum, byte);
        }
        w.line(&format!("    red.global.add.u32 [{note}], {sum};"));
    }
}

fn each(x: &[WriterValue], one: impl FnMut(WriterValue) -> WriterValue) -> Vec<WriterValue> {
    x.iter().copied().map(one).collect()
}
