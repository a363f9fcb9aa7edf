//! The kernels of one field: all its transforms, from the bytes of the data set to what is delivered.

use weighbridge::Dtype;
use weighbridge_data::{DataSet, Normalisation};

use super::super::buffer::row_bytes;
use super::lines::{LineShape, Lines, NOTE};
use super::stages::{StageKernels, stages};
use crate::workload::{Route, Touch};

/// The kernels of a field, written: each reads what the one before wrote.
#[derive(Clone, Debug)]
pub(super) struct KernelSource {
    /// What is drawn once for an element, and noted; `None` where each thread draws for itself.
    pub(super) drawing: Option<Kernel>,
    pub(super) kernels: Vec<Kernel>,
    /// The constants of `Normalize` that they read, where they do.
    pub(super) constants: Option<Normalisation>,
    /// Bytes of the notes of an element.
    pub(super) notes: usize,
}

/// A kernel, written.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) text: String,
    /// Threads of an element.
    pub(super) threads: usize,
    /// Bytes of an element that it writes, notes apart.
    pub(super) writes: usize,
}

/// What every kernel takes.
const PARAMETERS: [(&str, &str); 8] = [
    ("u64", "from"),
    ("u64", "to"),
    ("u32", "count"),
    ("u64", "element"),
    ("u64", "draws"),
    ("u64", "mean"),
    ("u64", "scale"),
    ("u64", "notes"),
];

/// The lines before the first kernel: any device since Volta takes it, and any driver since CUDA 11.
pub(super) const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\n";

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
    let source = &route.trunk[0].before;
    let shape = LineShape::new(source, route)?;
    let noted: Vec<&Touch> = route.trunk.iter().filter(|touch| LineShape::is_noted(touch)).collect();
    let bytes = |dtype: Dtype| shape.numbers * dtype.size();
    let mut standardises = false;
    let mut kernels = Vec::new();
    for (number, stage) in stages.iter().enumerate() {
        // The comment is for a fake of the driver: it runs the kernel as it is written, at the memory's
        // speed.
        let moved = (bytes(stage.from) + bytes(stage.to)) as f64 / shape.cells() as f64;
        let name = if stages.len() == 1 { name.to_owned() } else { format!("{name}_{number}") };
        let told = format!("// fake {name} run bytes_per_thread={moved}\n");
        let mut lines = Lines::begin(&shape, shape.cells(), &noted);
        lines.stage(stage, source)?;
        standardises |= lines.standardises;
        let text = told + &lines.end().finish(&name, &PARAMETERS);
        kernels.push(Kernel { name, text, threads: shape.cells(), writes: bytes(stage.to) });
    }
    // After the transforms, each of which is declined by its name.
    if route.output.shape != source.shape {
        return Err(format!("a field of another shape, `{}`", route.output.name));
    }
    if let Some(stage) = stages.iter().find(|stage| !matches!(stage.to, Dtype::U8 | Dtype::F32)) {
        return Err(format!("a field that is delivered as {}", stage.to.name()));
    }
    debug_assert_eq!((bytes(first.from), bytes(last.to)), (row_bytes(source), row_bytes(&route.output)));
    let drawing = (!noted.is_empty()).then(|| {
        let name = format!("{name}_draws");
        let told = format!("// fake {name} run bytes_per_thread={}\n", noted.len() * NOTE);
        let mut lines = Lines::begin(&shape, 1, &noted);
        lines.draw();
        let text = told + &lines.end().finish(&name, &PARAMETERS);
        Kernel { name, text, threads: 1, writes: 0 }
    });
    let constants = if standardises {
        let constants = data.normalisation(route.source);
        Some(constants.ok_or_else(|| format!("`{}` without constants of Normalize", source.name))?.clone())
    } else {
        None
    };
    Ok(Some(KernelSource { drawing, kernels, constants, notes: noted.len() * NOTE }))
}
