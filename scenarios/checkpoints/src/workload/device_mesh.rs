//! Devices in a grid whose axes have names, as a state lies on them.

use std::fmt;
use std::str::FromStr;

use super::DeviceCount;

/// A grid of devices: each axis with its size. Without axes there is no grid, and a state lies in memory
/// whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceMesh {
    pub(super) axes: Vec<(String, usize)>,
}

impl DeviceMesh {
    /// No grid.
    pub const NONE: Self = Self { axes: Vec::new() };

    /// A line of devices along the axis `data`.
    pub fn line(devices: usize) -> Self {
        Self { axes: vec![("data".to_owned(), devices)] }
    }

    /// A grid of these axes with their sizes.
    pub fn grid(axes: &[(&str, usize)]) -> Self {
        Self { axes: axes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect() }
    }

    /// Replicas of a model that is cut.
    pub(crate) fn replicated(replicas: DeviceCount, model: DeviceCount) -> Self {
        Self::grid(&[("replica", replicas.get()), ("model", model.get())])
    }

    /// The axes with their sizes, in order.
    pub fn axes(&self) -> &[(String, usize)] {
        &self.axes
    }

    /// The number of devices: one where there is no grid.
    pub fn devices(&self) -> usize {
        self.axes.iter().map(|(_, size)| size).product()
    }

    /// Into how many parts these axes cut together; `None` where one of them is not there.
    pub fn parts(&self, axes: &[String]) -> Option<usize> {
        let size = |axis: &String| self.axes.iter().find(|(name, _)| name == axis).map(|(_, size)| *size);
        axes.iter().map(size).product()
    }

    /// The devices of one replica, where replicas lie along the first axis.
    #[must_use]
    pub fn of_a_replica(&self) -> Self {
        Self { axes: self.axes.iter().skip(1).cloned().collect() }
    }
}

impl fmt::Display for DeviceMesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.axes.is_empty() {
            return f.write_str("none");
        }
        let axes: Vec<String> = self.axes.iter().map(|(name, size)| format!("{name}={size}")).collect();
        f.write_str(&axes.join("+"))
    }
}

impl FromStr for DeviceMesh {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        let form = || format!("`{text}` is no mesh such as `data=2+model=4` or `none`");
        let mut axes: Vec<(String, usize)> = Vec::new();
        for axis in text.split('+') {
            let (name, size) = axis.split_once('=').ok_or_else(form)?;
            let size = size.parse().ok().filter(|size| *size > 0).ok_or_else(form)?;
            if name.is_empty() || axes.iter().any(|(other, _)| other == name) {
                return Err(form());
            }
            axes.push((name.to_owned(), size));
        }
        Ok(Self { axes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_is_its_axes_with_their_sizes() {
        for text in ["data=2+model=4", "none", "data=8"] {
            assert_eq!(text.parse::<DeviceMesh>().map(|mesh| mesh.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(DeviceMesh::line(8).to_string(), "data=8");
        for text in ["", "data", "data=0", "data=2+data=2", "=2", "data=2+"] {
            assert!(text.parse::<DeviceMesh>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_mesh_that_does_not_fit_a_state_or_a_process_says_why() {
        let told = |mesh: &str, state: &str| {
            mesh.parse::<DeviceMesh>().expect("a mesh").holds(&state.parse().expect("a state"))
        };
        let state = "a:float32[32x30]{data,model}";
        assert_eq!(told("data=8+model=5", state), Ok(()));
        assert_eq!(told("data=2", "a:float32[3]"), Ok(()), "what is not cut lies on every device");
        assert_eq!(told("data=2+model=3", "a:float32[12]{model+data}"), Ok(()));
        for (mesh, why) in [
            ("data=8+model=4", "dimension 1 of tensor `a` is 30, which `model` = 4 does not divide"),
            ("data=8", "tensor `a` is cut along `model`, and the mesh data=8 has no such axis"),
            ("none", "tensor `a` is cut along `data`, and there is no mesh"),
            (
                "data=64+model=2",
                "the mesh data=64+model=2 needs 128 devices, and one process simulates 64 at most",
            ),
        ] {
            assert_eq!(told(mesh, state), Err(why.to_owned()));
        }
        assert_eq!(
            told("data=2+model=4", "a:float32[12]{data+model}"),
            Err("dimension 0 of tensor `a` is 12, which `data+model` = 8 does not divide".to_owned())
        );
    }
}
