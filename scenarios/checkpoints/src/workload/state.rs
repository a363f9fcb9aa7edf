//! States that are saved: tensors in the shapes that models have, or in shapes of one's own.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use weighbridge::{Dtype, Error, FieldKind, Requirements};
use weighbridge_data::{Cache, DataSet, DataSpec, FieldSpec, FieldValues, Leaf, Origin};

use super::state_file::PATH;
use super::tensor::text;
use super::{StateFile, Tensor};

/// A state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The weights of a decoder in the shapes of Llama, of `f32`: embedding, blocks with grouped attention
    /// and a gated network, output.
    Llama {
        /// Numbers of a token.
        width: usize,
        /// Numbers inside the network of a block.
        hidden: usize,
        /// Blocks.
        blocks: usize,
        /// Tokens that there are.
        vocabulary: usize,
    },
    /// Tensors as they were written down.
    Tensors {
        /// The tensors, in order.
        tensors: Vec<Tensor>,
        /// The seed of their numbers.
        seed: u32,
    },
    /// Tensors that lie in files.
    File(StateFile),
}

/// The seed of the states in the shapes of Llama.
const SEED: u32 = 0;

impl State {
    /// Of a size for tests: a few hundred kilobytes.
    pub const SMALL: Self = Self::Llama { width: 64, hidden: 128, blocks: 2, vocabulary: 200 };
    /// 16 MB.
    pub const MB_16: Self = Self::Llama { width: 256, hidden: 640, blocks: 3, vocabulary: 4_000 };
    /// 268 MB.
    pub const MB_268: Self = Self::Llama { width: 640, hidden: 1_664, blocks: 11, vocabulary: 16_000 };
    /// 1 GB.
    pub const GB_1: Self = Self::Llama { width: 1_280, hidden: 3_392, blocks: 14, vocabulary: 4_000 };
    /// 4 GB.
    pub const GB_4: Self = Self::Llama { width: 2_560, hidden: 6_784, blocks: 14, vocabulary: 8_000 };

    /// Its tensors, in order.
    pub fn tensors(&self) -> Vec<Tensor> {
        let (width, hidden, blocks, vocabulary) = match self {
            Self::Tensors { tensors, .. } => return tensors.clone(),
            Self::File(file) => return file.tensors().to_vec(),
            Self::Llama { width, hidden, blocks, vocabulary } => (*width, *hidden, *blocks, *vocabulary),
        };
        let tensor = |(name, shape)| Tensor::array(name, Dtype::F32, shape);
        let shared = width / 4; // four queries share a key
        let mut tensors = vec![("embedding".to_owned(), vec![vocabulary, width])];
        for block in 0..blocks {
            let parts = [
                ("query", vec![width, width]),
                ("key", vec![width, shared]),
                ("value", vec![width, shared]),
                ("attended", vec![width, width]),
                ("gate", vec![width, hidden]),
                ("up", vec![width, hidden]),
                ("down", vec![hidden, width]),
                ("attention_norm", vec![width]),
                ("network_norm", vec![width]),
            ];
            tensors.extend(parts.map(|(name, shape)| (format!("blocks.{block}.{name}"), shape)));
        }
        tensors.extend([("norm".to_owned(), vec![width]), ("output".to_owned(), vec![width, vocabulary])]);
        tensors.into_iter().map(tensor).collect()
    }

    /// Its bytes, as they are made or read.
    pub fn data(&self) -> DataSpec {
        let field = |Tensor { name, leaf, dtype, shape, .. }| FieldSpec {
            kind: FieldKind { name, dtype, shape },
            values: leaf.map_or(FieldValues::Scaled, FieldValues::Leaf),
        };
        let made = |seed| DataSpec::state(self.tensors().into_iter().map(field).collect(), seed);
        match self {
            Self::Llama { .. } => made(SEED),
            Self::Tensors { seed, .. } => made(*seed),
            Self::File(_) => made(SEED).read_from(Origin::Tensors { digest: None }),
        }
    }

    /// Its bytes, made or read where the cache does not have them. They are in memory of this process: what
    /// a worker loads is held against them here, and the worker has the files.
    ///
    /// # Errors
    /// As [`Cache::open`]; files that are gone, or are others than when they were named.
    pub fn open(&self, cache: &Cache) -> Result<DataSet, Error> {
        let mapped = match self {
            Self::File(file) => cache.open_files(&self.data(), file.files()?),
            Self::Llama { .. } | Self::Tensors { .. } => cache.open(&self.data()),
        };
        mapped?.held_apart()
    }

    /// The size of all its tensors, in bytes.
    pub fn bytes(&self) -> u64 {
        self.data().bytes()
    }

    /// The memory that a point with it needs: the mapped data, the state, what was loaded, and a copy of
    /// either; and a process around it.
    pub fn needs(&self) -> Requirements {
        let memory = (400 * (1_u64 << 20)).saturating_add(self.bytes().saturating_mul(4));
        Requirements { memory, batch: 1 }
    }

    /// In words, for listings.
    pub fn describe(&self) -> String {
        let tensors = self.tensors();
        let types: BTreeSet<Dtype> = tensors.iter().map(|tensor| tensor.dtype).collect();
        let types: Vec<&str> = types.into_iter().map(Dtype::name).collect();
        format!("{} tensors of {}, {:.1} MB", tensors.len(), types.join(" and "), self.bytes() as f64 / 1e6)
    }

    /// Checks that a training can multiply it, for the plan.
    ///
    /// # Errors
    /// Where a tensor is of another type than `f32`.
    pub fn is_trained(&self) -> Result<(), String> {
        match self.tensors().iter().find(|tensor| tensor.dtype != Dtype::F32) {
            None => Ok(()),
            Some(Tensor { name, leaf, dtype, .. }) => Err(format!(
                "tensor `{name}` is of {}, and a training step here multiplies numbers of float32",
                leaf.map_or_else(|| text(*dtype), Leaf::name)
            )),
        }
    }
}

/// Tensors as a text: `a:float32[32x16]{data,-};b:float32[8] seed=7`. In braces is the axis of a mesh that
/// each dimension is cut along, several as `data+model`, or `-`; without a seed it is 0. `step:int` and
/// `name:str` are leaves that are no arrays. Or the path of files that have them: `path:/models/llama`.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::File(file) = self {
            return file.fmt(f);
        }
        for (at, tensor) in self.tensors().iter().enumerate() {
            let between = if at == 0 { "" } else { ";" };
            if let Some(leaf) = tensor.leaf {
                write!(f, "{between}{}:{}", tensor.name, leaf.name())?;
                continue;
            }
            let shape: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
            write!(f, "{between}{}:{}[{}]", tensor.name, text(tensor.dtype), shape.join("x"))?;
            if !tensor.sharding.is_empty() {
                let cut = |axes: &Vec<String>| if axes.is_empty() { "-".to_owned() } else { axes.join("+") };
                let cuts: Vec<String> = tensor.sharding.iter().map(cut).collect();
                write!(f, "{{{}}}", cuts.join(","))?;
            }
        }
        match self {
            Self::Tensors { seed, .. } if *seed != 0 => write!(f, " seed={seed}"),
            _ => Ok(()),
        }
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with(PATH) {
            return text.parse().map(Self::File);
        }
        let (tensors, seed) = match text.split_once(" seed=") {
            Some((tensors, seed)) => (tensors, seed.parse().map_err(|_| format!("`{seed}` is no seed"))?),
            None => (text, 0),
        };
        let tensors: Vec<Tensor> = tensors.split(';').map(str::parse).collect::<Result<_, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
            return Err(format!("there are two tensors `{}`", twice.name));
        }
        let numbers = |tensor: &Tensor| {
            tensor.shape.iter().try_fold(1_usize, |numbers, size| numbers.checked_mul(*size))
        };
        let bytes = tensors.iter().try_fold(0_usize, |bytes, tensor| {
            bytes.checked_add(numbers(tensor)?.checked_mul(tensor.dtype.size())?)
        });
        match bytes.filter(|bytes| *bytes < 1 << 50) {
            Some(_) => Ok(Self::Tensors { tensors, seed }),
            None => Err("no machine holds such a state".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_the_sizes_that_they_are_called_after() {
        for (state, bytes) in
            [(State::MB_16, 16e6), (State::MB_268, 268e6), (State::GB_1, 1e9), (State::GB_4, 4e9)]
        {
            let share = state.bytes() as f64 / bytes;
            assert!((0.99..1.01).contains(&share), "{}", state.describe());
        }
    }

    #[test]
    fn tensors_that_are_written_down_are_a_state_and_are_shown_as_they_were_written() {
        for text in [
            "a:float32[32x16]{data,-};b:bfloat16[8];c:int64[2] seed=7",
            "a.b:float32[]",
            "w:float32[2x3x4]{-,-,x}",
            "w:float32[8x3]{data+model,-}",
            "step:int;w:float32[2];tag:str",
        ] {
            assert_eq!(text.parse::<State>().map(|state| state.to_string()), Ok(text.to_owned()));
        }
        let state: State = "a:f32[32x16];b:float32[8]{}".parse().expect("a state");
        assert_eq!((state.bytes(), state.to_string().as_str()), (4 * 520, "a:float32[32x16];b:float32[8]"));
        let whole: State = State::SMALL.to_string().parse().expect("a state");
        assert_eq!(whole.data(), State::SMALL.data(), "a preset can be written down too");
    }

    #[test]
    fn a_text_that_is_no_state_is_refused_with_what_is_wrong() {
        for (text, why) in [
            ("a:float8[8]", "tensor `a` is of float8, and states have tensors of float32, bfloat16"),
            ("a:float32[8];a:float32[8]", "two tensors `a`"),
            ("a:float32[8]{x,y}", "tensor `a` has cuts of 2 dimensions, and has 1"),
            ("a:float32[8x8]{x,y+x}", "tensor `a` is cut twice along `x`"),
            ("a:float32[0]", "no tensor such as"),
            ("a:float32", "no tensor such as"),
            ("a:float32[8] seed=-1", "`-1` is no seed"),
            ("a/b:float32[8]", "cannot be called `a/b`"),
            ("a:float32[99999999999x99999999999]", "no machine holds such a state"),
            ("hugh", "no tensor such as"),
        ] {
            let told = text.parse::<State>().expect_err(text);
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
