//! Cuts the way of a field into stages, one kernel each: wherever a transform looks at its neighbours or at a
//! whole image, the stage before it has written what it reads.

use weighbridge::Dtype;

use crate::workload::{Route, Touch, Transform};

/// The number of transforms that a kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StageKernels {
    /// As many as can be done without reading what another thread has written.
    Fused,
    /// One.
    OneEach,
}

/// The work of one kernel: it reads a number or a pixel, and then all goes on in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceStage<'route> {
    pub(super) reads: Reads<'route>,
    /// The changes of what was read, in order.
    pub(super) touches: &'route [Touch],
    /// The type of the numbers that it reads.
    pub(super) from: Dtype,
    /// The type of those that it writes.
    pub(super) to: Dtype,
    /// The transform for which it adds up the numbers of an element.
    pub(super) sums: Option<&'route Touch>,
}

/// The source of the pixels of a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reads<'route> {
    /// From where they are.
    Itself,
    /// From four neighbours in the window of `RandomResizedCrop`.
    Window(&'route Touch),
    /// From five neighbours of the row, for `GaussianBlur`: not yet rounded.
    AlongRow(&'route Touch),
    /// From five neighbours of the column.
    AlongColumn(&'route Touch),
}

/// The stages of a route without branches, in order; none where nothing touches it.
///
/// # Errors
///
/// The name of what no kernel does.
pub(super) fn stages(route: &Route, kernels: StageKernels) -> Result<Vec<DeviceStage<'_>>, String> {
    let trunk = &route.trunk[..];
    let Some(first) = trunk.first() else { return Ok(Vec::new()) };
    let from = first.before.dtype;
    let begun = |reads, from, to| DeviceStage { reads, touches: &[], from, to, sums: None };
    let mut now = begun(Reads::Itself, from, from);
    let mut done = Vec::new();
    // The first transform of the present stage.
    let mut start = 0;
    for (place, touch) in trunk.iter().enumerate() {
        let (before, after) = (touch.before.dtype, touch.after.dtype);
        let name = touch.transform.name();
        let is_bare = now.reads == Reads::Itself && start == place;
        let ended = DeviceStage { touches: &trunk[start..place], to: before, ..now };
        match touch.transform {
            Transform::RandomResizedCrop | Transform::GaussianBlur => {
                if touch.gate.is_some() {
                    return Err(format!("{name} for some elements alone"));
                }
                if !matches!(before, Dtype::U8 | Dtype::F32) {
                    return Err(format!("{name} of classes"));
                }
                if !is_bare {
                    done.push(ended);
                }
                now = begun(Reads::Window(touch), before, after);
                if touch.transform == Transform::GaussianBlur {
                    done.push(DeviceStage { reads: Reads::AlongRow(touch), to: Dtype::F32, ..now });
                    now = DeviceStage { reads: Reads::AlongColumn(touch), from: Dtype::F32, ..now };
                }
                start = place + 1;
            }
            Transform::ColorJitter => {
                // A sum of whole numbers is the same in any order; one of `f32` has an order, one number
                // after another.
                if before != Dtype::U8 {
                    return Err(format!("{name} of {}", before.name()));
                }
                done.push(DeviceStage { sums: Some(touch), ..ended });
                now = begun(Reads::Itself, before, after);
                start = place;
            }
            _ if kernels == StageKernels::OneEach && place > 0 => {
                done.push(ended);
                now = begun(Reads::Itself, before, after);
                start = place;
            }
            _ => {}
        }
    }
    done.push(DeviceStage { touches: &trunk[start..], to: route.output.dtype, ..now });
    Ok(done)
}

/// Tests whether a transform needs all channels of a pixel, or its place in the image.
pub(super) fn is_of_pixels(touch: &Touch) -> bool {
    use Transform::{
        AffineRotation, ColorJitter, GaussianBlur, RandomCrop, RandomFlip, RandomGrayscale, RandomResizedCrop,
    };
    matches!(
        touch.transform,
        AffineRotation
            | ColorJitter
            | GaussianBlur
            | RandomCrop
            | RandomFlip
            | RandomGrayscale
            | RandomResizedCrop
    )
}
