//! One tensor of a state: its name, its numbers, and how it is cut.

use std::collections::BTreeSet;
use std::str::FromStr;

use weighbridge::{Dtype, FieldKind};
use weighbridge_data::Leaf;

/// The types that tensors of a state have, as texts name them.
const DTYPES: [(Dtype, &str); 5] = [
    (Dtype::F32, "float32"),
    (Dtype::BF16, "bfloat16"),
    (Dtype::F64, "float64"),
    (Dtype::I32, "int32"),
    (Dtype::I64, "int64"),
];

/// A tensor of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// The kind of value that it is instead of an array. Type and sizes are those of the field that has its
    /// bytes then.
    pub leaf: Option<Leaf>,
    /// The type of its numbers: one of those that a text can name.
    pub dtype: Dtype,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// The axes of a mesh that each dimension is cut along, the coarsest first; a dimension without any is
    /// not cut, and neither is one at the end that is missing.
    pub sharding: Vec<Vec<String>>,
}

impl FromStr for Tensor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "`{text}` is no tensor such as `weight:float32[32x16]` or `weight:float32[32x16]{{data,-}}`"
            )
        };
        let (name, rest) = text.split_once(':').ok_or_else(form)?;
        if let Some(leaf) = Leaf::ALL.into_iter().find(|leaf| leaf.name() == rest) {
            is_name(name)?;
            let FieldKind { dtype, shape, .. } = leaf.kind(name);
            return Ok(Self { leaf: Some(leaf), ..Self::array(name.to_owned(), dtype, shape) });
        }
        let (dtype, rest) = rest.split_once('[').ok_or_else(form)?;
        let (shape, rest) = rest.split_once(']').ok_or_else(form)?;
        is_name(name)?;
        let known = DTYPES.iter().find(|(one, text)| [one.name(), text].contains(&dtype));
        let (dtype, _) = *known.ok_or_else(|| other_type(name, dtype))?;
        let size = |size: &str| size.parse().ok().filter(|size| *size > 0).ok_or_else(form);
        let shape = match shape {
            "" => Vec::new(),
            shape => shape.split('x').map(size).collect::<Result<_, _>>()?,
        };
        let cut = |axes: &str| match axes {
            "-" => Vec::new(),
            axes => axes.split('+').map(str::to_owned).collect(),
        };
        let sharding: Vec<Vec<String>> = match rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
        {
            _ if rest.is_empty() => Vec::new(),
            Some("") => Vec::new(),
            Some(cuts) => cuts.split(',').map(cut).collect(),
            None => return Err(form()),
        };
        let tensor = Self { sharding, ..Self::array(name.to_owned(), dtype, shape) };
        tensor.is_cut_once()?;
        Ok(tensor)
    }
}

impl Tensor {
    /// An array that is not cut.
    pub(crate) fn array(name: String, dtype: Dtype, shape: Vec<usize>) -> Self {
        Self { name, leaf: None, dtype, shape, sharding: Vec::new() }
    }

    /// Checks that a tensor that somebody else has written can be one of a state.
    ///
    /// # Errors
    /// What of it cannot.
    pub(super) fn can_be_held(&self) -> Result<(), String> {
        let Self { name, dtype, shape, .. } = self;
        is_name(name)?;
        if !DTYPES.iter().any(|(known, _)| known == dtype) {
            return Err(other_type(name, dtype.name()));
        }
        if shape.contains(&0) {
            return Err(format!("tensor `{name}` has no numbers: its sizes are {shape:?}"));
        }
        Ok(())
    }

    /// Checks that the cuts are of dimensions that there are, each axis of one alone.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn is_cut_once(&self) -> Result<(), String> {
        let Self { name, shape, sharding, .. } = self;
        if sharding.len() > shape.len() {
            return Err(format!(
                "tensor `{name}` has cuts of {} dimensions, and has {}",
                sharding.len(),
                shape.len()
            ));
        }
        let mut axes = BTreeSet::new();
        match sharding.iter().flatten().find(|axis| !axes.insert(*axis)) {
            None => Ok(()),
            Some(twice) => Err(format!("tensor `{name}` is cut twice along `{twice}`")),
        }
    }
}

/// Checks that a tensor can be called so: its name is that of a file, too.
fn is_name(name: &str) -> Result<(), String> {
    let may_stand = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if name.is_empty() || name.len() > 200 || !name.chars().all(may_stand) {
        return Err(format!(
            "a tensor cannot be called `{name}`: a name has letters, digits, `.`, `_` and `-`, 200 at most"
        ));
    }
    Ok(())
}

/// The message for a tensor of another type.
fn other_type(name: &str, dtype: &str) -> String {
    let all = DTYPES.map(|(_, text)| text).join(", ");
    format!("tensor `{name}` is of {dtype}, and states have tensors of {all}")
}

/// The name of a type in a text.
pub(super) fn text(dtype: Dtype) -> &'static str {
    DTYPES.iter().find(|(one, _)| *one == dtype).map_or_else(|| dtype.name(), |(_, text)| text)
}
