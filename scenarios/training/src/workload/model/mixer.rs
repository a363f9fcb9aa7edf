//! What it costs to mix the tokens of a sample with each other, by their number: attention, and what is put
//! in its place.

/// A way in which the tokens of a sample learn of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixer {
    /// Vaswani and others 2017.
    Attention,
    /// Poli and others 2023, of order 2: three maps, a short convolution of each, two gated convolutions as
    /// long as the sample.
    Hyena,
    /// Romero and others 2021 (`CKConv`): one convolution as long as the sample for each channel, and a map
    /// over channels.
    Convolution,
}

/// Maps before the gates of Hyena: one more than its order.
const MAPS: f64 = 3.0;

/// Numbers of a short convolution.
const SHORT: f64 = 3.0;

impl Mixer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Attention, Self::Hyena, Self::Convolution];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Hyena => "Hyena",
            Self::Convolution => "CKConv",
        }
    }

    /// Returns the formula of its operations, for `L` tokens of `D` numbers.
    pub fn formula(self) -> &'static str {
        match self {
            Self::Attention => "8 L D^2 + 4 L^2 D",
            Self::Hyena => "8 L D^2 + 18 L D + 2 D (10 L log2(2 L) + 7 L)",
            Self::Convolution => "2 L D^2 + D (10 L log2(2 L) + 6 L)",
        }
    }

    /// Operations of a sample forward: a multiplication and an addition are two.
    ///
    /// A long convolution is taken to be done over the spectrum of twice the length: two transforms of real
    /// numbers of 2.5 n log2 n operations each (Cooley and Tukey 1965, halved), and a product of complex
    /// numbers of 6 between them. Spectra of the filters are the same for all samples of a batch, and left
    /// out.
    pub fn operations(self, length: usize, width: usize) -> f64 {
        let (length, width) = (length as f64, width as f64);
        let map = 2.0 * length * width * width;
        let long = 10.0 * length * (2.0 * length).log2() + 6.0 * length;
        match self {
            Self::Attention => 4.0 * map + 4.0 * length * length * width,
            Self::Hyena => {
                let short = 2.0 * SHORT * length * width;
                (MAPS + 1.0) * map + MAPS * short + (MAPS - 1.0) * width * (long + length)
            }
            Self::Convolution => map + width * long,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Component, Dimensions, Flops};
    use super::*;

    #[test]
    fn attention_has_the_operations_that_a_model_of_it_has() {
        let small = Flops::of(&Dimensions::VIT5_SMALL.model().unwrap()).unwrap();
        let of = |component| small.components[&component].matrix;
        let blocks = of(Component::AttentionLinear) + of(Component::AttentionScores);
        let found = 12.0 * Mixer::Attention.operations(201, 384) / blocks as f64;
        assert!((found - 1.0).abs() < 1e-12, "{found}");
    }

    #[test]
    fn far_out_twice_the_length_is_four_times_the_attention_and_little_more_than_twice_the_others() {
        let grows = |mixer: Mixer| mixer.operations(1 << 21, 64) / mixer.operations(1 << 20, 64);
        assert!((grows(Mixer::Attention) - 4.0).abs() < 0.001);
        for mixer in [Mixer::Hyena, Mixer::Convolution] {
            assert!((2.0..2.1).contains(&grows(mixer)), "{mixer:?}");
        }
    }

    #[test]
    fn the_formula_that_is_told_is_the_one_that_is_computed() {
        let (length, width) = (256.0f64, 64.0);
        let spectrum = 10.0 * length * 9.0;
        for (mixer, told) in Mixer::ALL.into_iter().zip([
            8.0 * length * width * width + 4.0 * length * length * width,
            8.0 * length * width * width + 18.0 * length * width + 2.0 * width * (spectrum + 7.0 * length),
            2.0 * length * width * width + width * (spectrum + 6.0 * length),
        ]) {
            let found = mixer.operations(256, 64) / told;
            assert!((found - 1.0).abs() < 1e-12, "{mixer:?}: {found} of {}", mixer.formula());
        }
    }
}
