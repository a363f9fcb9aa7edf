//! Which part of each tensor lies on which device of a mesh.

use std::ops::Range;

use super::{DeviceMesh, State, Tensor};

/// A state on a mesh. Devices are numbered along the last axis of the mesh first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The devices.
    pub mesh: DeviceMesh,
    /// The axes of the mesh that each dimension of each tensor is cut along, as in [`Tensor::sharding`].
    pub shardings: Vec<Vec<Vec<String>>>,
}

impl Placement {
    /// A state that is whole.
    pub const WHOLE: Self = Self { mesh: DeviceMesh::NONE, shardings: Vec::new() };

    /// A state as its tensors are written: what is not cut there lies on every device.
    pub fn as_written(mesh: DeviceMesh, state: &State) -> Self {
        Self { mesh, shardings: state.tensors().into_iter().map(|tensor| tensor.sharding).collect() }
    }

    /// A state that is cut as often as the mesh lets it. A tensor that is written with a cut keeps it. In any
    /// other, each axis of the mesh cuts the first dimension that it divides and that nothing cuts yet.
    pub fn spread(mesh: DeviceMesh, state: &State) -> Self {
        let cut = |shape: &[usize]| {
            let mut cuts: Vec<Vec<String>> = vec![Vec::new(); shape.len()];
            for (axis, parts) in mesh.axes() {
                let place =
                    (0..shape.len()).find(|at| cuts[*at].is_empty() && shape[*at].is_multiple_of(*parts));
                if let Some(place) = place {
                    cuts[place].push(axis.clone());
                }
            }
            cuts
        };
        let tensors = state.tensors().into_iter();
        let shardings = tensors
            .map(|tensor| if tensor.sharding.is_empty() { cut(&tensor.shape) } else { tensor.sharding });
        Self { shardings: shardings.collect(), mesh }
    }

    /// The number of devices: one where there is no mesh.
    pub fn devices(&self) -> usize {
        self.mesh.devices()
    }

    /// The bytes of the state on all devices together: what is not cut counts once for each.
    pub fn bytes(&self, state: &State) -> u64 {
        let of = |(tensor, Tensor { shape, dtype, .. }): (usize, &Tensor)| -> u64 {
            self.part(tensor, shape, 0).iter().map(|range| range.len() as u64).product::<u64>()
                * dtype.size() as u64
        };
        state.tensors().iter().enumerate().map(of).sum::<u64>() * self.devices() as u64
    }

    /// The part of a tensor that lies on a device: a range of each dimension.
    ///
    /// # Panics
    /// When the tensor is cut along an axis that the mesh lacks: [`DeviceMesh::holds`] tells it before.
    pub fn part(&self, tensor: usize, shape: &[usize], device: usize) -> Vec<Range<usize>> {
        let cuts = self.shardings.get(tensor).map_or(&[][..], Vec::as_slice);
        let axes = self.mesh.axes();
        let range = |(dimension, size): (usize, &usize)| {
            let (mut part, mut parts) = (0, 1);
            for axis in cuts.get(dimension).into_iter().flatten() {
                let place = axes.iter().position(|(name, _)| name == axis).expect("the mesh has the axis");
                let behind: usize = axes[place + 1..].iter().map(|(_, size)| size).product();
                part = part * axes[place].1 + device / behind % axes[place].1;
                parts *= axes[place].1;
            }
            let length = size / parts;
            part * length..(part + 1) * length
        };
        shape.iter().enumerate().map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(mesh: &str, state: &str) -> Placement {
        Placement::spread(mesh.parse().unwrap(), &state.parse().unwrap())
    }

    #[test]
    fn each_axis_cuts_the_first_dimension_that_it_divides_and_what_is_written_stays() {
        let placed =
            spread("data=2+model=3", "a:float32[4x6];b:float32[9x2];c:float32[6x6]{-,data};d:float32[5]");
        let cuts: Vec<String> = placed
            .shardings
            .iter()
            .map(|cuts| cuts.iter().map(|axes| axes.join("+")).collect::<Vec<_>>().join(","))
            .collect();
        assert_eq!(cuts, ["data,model", "model,data", ",data", ""]);
    }

    #[test]
    fn devices_are_numbered_along_the_last_axis_first() {
        let placed = spread("data=2+model=3", "a:float32[4x6];b:float32[5]");
        assert_eq!(placed.devices(), 6);
        let parts: Vec<_> = (0..6).map(|device| placed.part(0, &[4, 6], device)).collect();
        assert_eq!(parts[0], [0..2, 0..2]);
        assert_eq!(parts[2], [0..2, 4..6]);
        assert_eq!(parts[3], [2..4, 0..2]);
        assert_eq!(placed.part(1, &[5, 1], 4), [0..5, 0..1], "what is not cut lies on every device");
        assert_eq!(Placement::WHOLE.part(0, &[5, 1], 0), [0..5, 0..1]);
        assert_eq!(Placement::WHOLE.devices(), 1);
        assert_eq!(placed.bytes(&"a:float32[4x6];b:float32[5]".parse().unwrap()), 4 * (24 + 6 * 5));
        assert_eq!(placed.bytes(&"a:int64[4x6];b:bfloat16[5]".parse().unwrap()), 8 * 24 + 2 * 6 * 5);
    }

    #[test]
    fn of_several_axes_along_one_dimension_the_first_is_the_coarsest() {
        let state: State = "a:float32[12]{data+model};b:float32[12]{model+data}".parse().unwrap();
        let placed = Placement::as_written("data=2+model=3".parse().unwrap(), &state);
        let starts = |tensor| -> Vec<usize> {
            (0..6).map(|device| placed.part(tensor, &[12], device)[0].start).collect()
        };
        assert_eq!((starts(0), starts(1)), (vec![0, 2, 4, 6, 8, 10], vec![0, 4, 8, 2, 6, 10]));
    }
}
