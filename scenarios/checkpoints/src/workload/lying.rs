//! Whether a state can lie on a mesh of devices.

use super::{DeviceMesh, State, Tensor};

/// The most devices that one process simulates: each has threads of its own.
const MOST: usize = 64;

impl DeviceMesh {
    /// Checks that a state can lie on it.
    ///
    /// # Errors
    /// Why not: more devices than one process simulates, an axis that the mesh lacks, a dimension that does
    /// not divide.
    pub fn holds(&self, state: &State) -> Result<(), String> {
        let devices = self.axes.iter().try_fold(1_usize, |devices, (_, size)| devices.checked_mul(*size));
        if devices.is_none_or(|devices| devices > MOST) {
            let devices = devices.map_or_else(|| "too many".to_owned(), |devices| devices.to_string());
            return Err(format!(
                "the mesh {self} needs {devices} devices, and one process simulates {MOST} at most"
            ));
        }
        for Tensor { name, shape, sharding, .. } in state.tensors() {
            for (dimension, (size, axes)) in shape.iter().zip(&sharding).enumerate() {
                let along = axes.join("+");
                let Some(parts) = self.parts(axes) else {
                    let mesh = if self.axes.is_empty() {
                        "there is no mesh".to_owned()
                    } else {
                        format!("the mesh {self} has no such axis")
                    };
                    return Err(format!("tensor `{name}` is cut along `{along}`, and {mesh}"));
                };
                if !size.is_multiple_of(parts) {
                    return Err(format!(
                        "dimension {dimension} of tensor `{name}` is {size}, \
                         which `{along}` = {parts} does not divide"
                    ));
                }
            }
        }
        Ok(())
    }
}
