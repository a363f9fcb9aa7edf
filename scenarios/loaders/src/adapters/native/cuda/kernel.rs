//! The kernels of one field: all its transforms, from the bytes of the data set to what is delivered. Each is
//! one call of a function of `kernels.cu`, with constant tables of what it does.

use weighbridge::{Dtype, FieldKind};
use weighbridge_data::{DataSet, Normalisation};

use super::super::buffer::row_bytes;
use super::stages::{DeviceStage, Reads, StageKernels, is_of_pixels, stages};
use crate::workload::{Route, Touch, Transform, TransformGate};

/// The functions that every kernel is made of.
pub(super) const FUNCTIONS: &str = include_str!("kernels.cu");

/// Bytes of a `Note`.
const NOTE: usize = 32;

/// The kernels of a field: each reads what the one before wrote.
#[derive(Clone, Debug)]
pub(super) struct KernelSource {
    /// The kernel that draws once for an element, and notes it; `None` where each thread draws for itself.
    pub(super) drawing: Option<Kernel>,
    pub(super) kernels: Vec<Kernel>,
    /// The constants of `Normalize` that they read, where they do.
    pub(super) constants: Option<Normalisation>,
    /// Bytes of the notes of an element.
    pub(super) notes: usize,
}

/// A kernel, as it is compiled behind the functions.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) text: String,
    /// Threads of an element.
    pub(super) threads: usize,
    /// Bytes of an element that it writes, notes apart.
    pub(super) writes: usize,
}

impl Kernel {
    fn new(name: String, touches: &str, call: &str, threads: usize, writes: usize) -> Self {
        let text = format!(
            "\nextern \"C\" __global__ void {name}(Batch batch) {{
    constexpr Touch touches[] = {{{touches}}};
    {call};\n}}\n"
        );
        Self { name, text, threads, writes }
    }
}

/// Writes the kernels of a route; `None` where the field is delivered as it is.
///
/// # Errors
///
/// The name of what is not made on the device.
pub(super) fn write(
    route: &Route,
    data: &DataSet,
    name: &str,
    kernels: StageKernels,
) -> Result<Option<KernelSource>, String> {
    if !route.branches.is_empty() {
        return Err("merged branches".to_owned());
    }
    let stages = stages(route, kernels)?;
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else { return Ok(None) };
    let field = KernelField::new(route)?;
    let mut kernels = Vec::new();
    for (number, stage) in stages.iter().enumerate() {
        let name = if stages.len() == 1 { name.to_owned() } else { format!("{name}_{number}") };
        kernels.push(field.stage(name, stage)?);
    }
    // After the transforms, each of which is declined by its name.
    if route.output.shape != field.source.shape {
        return Err(format!("a field of another shape, `{}`", route.output.name));
    }
    if let Some(stage) = stages.iter().find(|stage| !matches!(stage.to, Dtype::U8 | Dtype::F32)) {
        return Err(format!("a field that is delivered as {}", stage.to.name()));
    }
    debug_assert_eq!(field.numbers * first.from.size(), row_bytes(field.source));
    debug_assert_eq!(field.numbers * last.to.size(), row_bytes(&route.output));
    let standardises = route.trunk.iter().any(|touch| field.transform(touch) == "Standardise");
    let constants = if standardises {
        let constants = data.normalisation(route.source);
        let missing = || format!("`{}` without constants of Normalize", field.source.name);
        Some(constants.ok_or_else(missing)?.clone())
    } else {
        None
    };
    let drawing = if field.noted.is_empty() { None } else { Some(field.drawing(format!("{name}_draws"))?) };
    Ok(Some(KernelSource { drawing, kernels, constants, notes: field.noted.len() * NOTE }))
}

/// The facts of a field that its kernels are made for.
struct KernelField<'route> {
    /// The field in the data set.
    source: &'route FieldKind,
    numbers: usize,
    /// Numbers of a cell. A thread makes one cell: a pixel where a transform asks for pixels, else a number.
    wide: usize,
    /// Rows and columns of an image.
    image: [usize; 2],
    /// The transforms for which something is drawn or added up once for an element, in the order of notes.
    noted: Vec<&'route Touch>,
}

impl<'route> KernelField<'route> {
    fn new(route: &'route Route) -> Result<Self, String> {
        use Transform::{ColorJitter, GaussianBlur, RandomResizedCrop};
        let source = &route.trunk[0].before;
        let numbers: usize = source.shape.iter().product();
        let is_summed = route.trunk.iter().any(|touch| touch.transform == ColorJitter);
        let most = if is_summed { u32::MAX / 255 } else { u32::MAX };
        if numbers > most as usize {
            return Err(format!("an element of more than {most} numbers"));
        }
        let (image, wide) = match source.shape[..] {
            [rows, columns, channels] if route.trunk.iter().any(is_of_pixels) => ([rows, columns], channels),
            _ => ([0, 0], 1),
        };
        let is_noted =
            |touch: &&Touch| matches!(touch.transform, ColorJitter | GaussianBlur | RandomResizedCrop);
        let noted = route.trunk.iter().filter(is_noted).collect();
        Ok(Self { source, numbers, wide: wide.max(1), image, noted })
    }

    /// The kernel that draws once for an element.
    fn drawing(&self, name: String) -> Result<Kernel, String> {
        let touches = self.touches(self.noted.iter().copied())?;
        Ok(Kernel::new(name, &touches, &format!("draw(batch, {}, touches)", self.shape()), 1, 0))
    }

    /// The kernel of a stage.
    fn stage(&self, name: String, stage: &DeviceStage<'_>) -> Result<Kernel, String> {
        let (reads, of) = match stage.reads {
            Reads::Itself => ("Itself", None),
            Reads::Window(touch) => ("Window", Some(touch)),
            Reads::AlongRow(touch) => ("AlongRow", Some(touch)),
            Reads::AlongColumn(touch) => ("AlongColumn", Some(touch)),
        };
        let of_bytes = of.is_some_and(|touch| touch.after.dtype == Dtype::U8);
        let source = format!("{{{reads}, {}, {of_bytes}}}", of.map_or(0, |touch| self.note(touch)));
        let sums = stage.sums.map_or_else(|| "-1".to_owned(), |touch| self.note(touch).to_string());
        let (from, to) = (c_type(stage.from), c_type(stage.to));
        let call =
            format!("stage<{from}, {to}, {}>(batch, {}, {source}, touches, {sums})", self.wide, self.shape());
        let threads = (self.numbers / self.wide).max(1);
        Ok(Kernel::new(name, &self.touches(stage.touches)?, &call, threads, self.numbers * stage.to.size()))
    }

    /// A `Shape`.
    fn shape(&self) -> String {
        let last = self.source.shape.last().copied().unwrap_or(1).max(1);
        let [rows, columns] = self.image;
        format!("{{{}, {last}, {rows}, {columns}, {}}}", self.numbers, self.noted.len())
    }

    /// A list of `Touch`. No list is empty, as C++ wants it: a cast does nothing to what is read as `f32`.
    fn touches<'a>(&self, touches: impl IntoIterator<Item = &'a Touch>) -> Result<String, String> {
        let list = touches.into_iter().map(|touch| self.touch(touch)).collect::<Result<Vec<_>, _>>()?;
        Ok(if list.is_empty() { "{CastToFloat32}".to_owned() } else { list.join(", ") })
    }

    /// A `Touch`.
    fn touch(&self, touch: &Touch) -> Result<String, String> {
        use Transform::{
            CausalMaskGeneration, CreateAttentionMask, DecodeResizedCrop, DynamicPad, HashEmbeddingIndex,
            MultiScaleResize,
        };
        if matches!(
            touch.transform,
            CausalMaskGeneration
                | CreateAttentionMask
                | DecodeResizedCrop
                | DynamicPad
                | HashEmbeddingIndex
                | MultiScaleResize
        ) {
            return Err(touch.transform.name().to_owned());
        }
        let gate =
            touch.gate.map_or_else(String::new, |TransformGate { decided_at, from, below, .. }| {
                format!(", true, {decided_at}, {from:?}, {below:?}")
            });
        let (transform, of_bytes) = (self.transform(touch), touch.before.dtype == Dtype::U8);
        Ok(format!("{{{transform}, {}, {}, {of_bytes}{gate}}}", touch.position, self.note(touch)))
    }

    /// The name of a transform among the functions, which have two of `Normalize`.
    fn transform(&self, touch: &Touch) -> &'static str {
        match touch.transform {
            Transform::Normalize if self.source.dtype != Dtype::U8 => "Standardise",
            other => other.name(),
        }
    }

    /// The place of a transform's note; 0 where it has none.
    fn note(&self, touch: &Touch) -> usize {
        self.noted.iter().position(|noted| *noted == touch).unwrap_or(0)
    }
}

fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::U8 => "u8",
        Dtype::I32 => "i32",
        Dtype::I64 => "i64",
        Dtype::F32 => "float",
        Dtype::F64 => "double",
        Dtype::BF16 => unreachable!("states alone have it, and nothing transforms those"),
    }
}
