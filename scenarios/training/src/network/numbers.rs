//! The numbers of a network's parameters, and their gradients.

use ndarray::Array2;

/// The numbers of each parameter: a matrix whose columns are its last axis; one row where it has one axis.
pub(crate) type NetworkParameters<T> = Vec<Array2<T>>;

/// The gradient of a loss to each parameter, likewise.
pub(crate) type Gradients<T> = Vec<Array2<T>>;
