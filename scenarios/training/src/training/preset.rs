//! The trainings that have a name.

use std::fmt;

use crate::workload::TrainingSpec;
use crate::workload::model::Dimensions;

/// A training that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The parts of ViT-5, which a processor trains in a second or two.
    Vit5Tiny,
    /// The same with products in `bf16`.
    Vit5TinyBf16,
    /// The same of twice the width.
    Vit5Wide,
    /// ViT-5 Small.
    Vit5Small,
    /// ViT-5 Base.
    Vit5Base,
    /// A plain vision transformer of the shape of the first one.
    VitTiny,
    /// A small GPT.
    GptTiny,
    /// ResNet-50 with few channels.
    Resnet50Narrow,
    /// Three linear maps.
    MlpTiny,
    /// A plain vision transformer in no time.
    ForTests,
    /// The parts of ViT-5 in no time.
    Vit5ForTests,
    /// Handwritten digits by three linear maps.
    DigitsMlp,
    /// Handwritten digits by a vision transformer.
    DigitsVit,
    /// Numbers around a centre for each class.
    ClustersMlp,
    /// Digits in no time.
    DigitsForTests,
}

impl Preset {
    /// The configuration that an axis `variant` of the scenarios here names.
    pub fn of_variant(variant: &str) -> Option<Self> {
        Some(match variant {
            "vit5_tiny" => Self::Vit5Tiny,
            "vit5_tiny_bf16" => Self::Vit5TinyBf16,
            "vit5_wide" => Self::Vit5Wide,
            "vit5_small" => Self::Vit5Small,
            "vit5_base" => Self::Vit5Base,
            "vit_tiny" => Self::VitTiny,
            "gpt_tiny" => Self::GptTiny,
            "resnet50_narrow" => Self::Resnet50Narrow,
            "mlp_tiny" => Self::MlpTiny,
            "tiny" => Self::ForTests,
            "digits_mlp" => Self::DigitsMlp,
            "digits_vit" => Self::DigitsVit,
            "clusters_mlp" => Self::ClustersMlp,
            _ => return None,
        })
    }

    /// The configuration.
    ///
    /// # Panics
    /// Never: it is tested that it can be read.
    pub fn spec(self) -> TrainingSpec {
        let text = match self {
            Self::Vit5Tiny => TrainingSpec::TINY,
            Self::Vit5TinyBf16 => include_str!("../workload/trainings/vit5_tiny_bf16.toml"),
            Self::Vit5Wide => include_str!("../workload/trainings/vit5_wide.toml"),
            Self::Vit5Small => include_str!("../workload/trainings/vit5_small.toml"),
            Self::Vit5Base => include_str!("../workload/trainings/vit5_base.toml"),
            Self::VitTiny => include_str!("../workload/trainings/vit_tiny.toml"),
            Self::GptTiny => include_str!("../workload/trainings/gpt_tiny.toml"),
            Self::Resnet50Narrow => include_str!("../workload/trainings/resnet50_narrow.toml"),
            Self::MlpTiny => include_str!("../workload/trainings/mlp_tiny.toml"),
            Self::ForTests => TrainingSpec::SMALL,
            Self::Vit5ForTests => TrainingSpec::SMALL_VIT5,
            Self::DigitsMlp => TrainingSpec::DIGITS_MLP,
            Self::DigitsVit => include_str!("../workload/trainings/digits_vit.toml"),
            Self::ClustersMlp => include_str!("../workload/trainings/clusters_mlp.toml"),
            Self::DigitsForTests => TrainingSpec::DIGITS_SMALL,
        };
        TrainingSpec::read(text).expect("it is tested that it can be read")
    }

    /// Returns whether it is one of ViT-5, whose components can be written in several ways.
    pub(super) fn is_vit5(self) -> bool {
        matches!(self.spec().model, Dimensions::Vit5 { .. })
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spec().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_of_a_scenario_names_its_configuration() {
        for variant in [
            "vit5_tiny",
            "vit5_tiny_bf16",
            "vit5_wide",
            "vit5_small",
            "vit5_base",
            "vit_tiny",
            "gpt_tiny",
            "resnet50_narrow",
            "mlp_tiny",
            "digits_mlp",
            "digits_vit",
            "clusters_mlp",
        ] {
            assert_eq!(
                Preset::of_variant(variant).map(|preset| preset.spec().name).as_deref(),
                Some(variant)
            );
        }
        assert!(Preset::of_variant("vit5_tinier").is_none());
    }
}
