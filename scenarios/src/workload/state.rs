//! States that are saved: the tensors of a transformer, in shapes that models have.

use weighbridge::Requirements;

use crate::data::DataSpec;

/// The weights of a decoder in the shapes of Llama: embedding, blocks with grouped attention and a gated network, output. All
/// are `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    width: usize,
    hidden: usize,
    blocks: usize,
    vocabulary: usize,
}

/// The seed of every state.
const SEED: u32 = 0;

impl State {
    /// Of a size for tests: a few hundred kilobytes.
    pub const SMALL: Self = Self { width: 64, hidden: 128, blocks: 2, vocabulary: 200 };
    /// 16 MB.
    pub const MB_16: Self = Self { width: 256, hidden: 640, blocks: 3, vocabulary: 4_000 };
    /// 268 MB.
    pub const MB_268: Self = Self { width: 640, hidden: 1_664, blocks: 11, vocabulary: 16_000 };
    /// 1 GB.
    pub const GB_1: Self = Self { width: 1_280, hidden: 3_392, blocks: 14, vocabulary: 4_000 };
    /// 4 GB.
    pub const GB_4: Self = Self { width: 2_560, hidden: 6_784, blocks: 14, vocabulary: 8_000 };

    /// The names and shapes of its tensors, in order.
    pub fn tensors(self) -> Vec<(String, Vec<usize>)> {
        let Self { width, hidden, blocks, vocabulary } = self;
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
        tensors
    }

    /// Its bytes, as they are made.
    pub fn data(self) -> DataSpec {
        DataSpec::state(self.tensors(), SEED)
    }

    /// How many bytes it has.
    pub fn bytes(self) -> u64 {
        self.data().bytes()
    }

    /// What a point with it needs: the mapped data, the state, what was loaded, and a copy of either; and a process around it.
    pub fn needs(self) -> Requirements {
        Requirements { memory: 400 * (1 << 20) + 4 * self.bytes(), batch: 1 }
    }

    /// In words, for listings.
    pub fn describe(self) -> String {
        let tensors = self.tensors().len();
        format!("{tensors} tensors of f32, {:.1} MB", self.bytes() as f64 / 1e6)
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
}
