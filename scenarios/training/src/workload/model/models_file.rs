//! The models that the Python side is tested with, and their operations: `python/tests/models.json` is what
//! is said here.

use serde_json::{Value, json};

use super::{Activation, Dimensions, Flops};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../python/tests/models.json");

/// Models of every kind, small ones to be trained and the named ones to be counted.
fn models() -> Vec<(&'static str, Dimensions)> {
    vec![
        ("vit5_tiny", Dimensions::VIT5_TINY),
        ("vit_tiny", Dimensions::VIT_TINY),
        (
            "vit5_for_tests",
            Dimensions::Vit5 { image: 8, patch: 4, width: 16, heads: 2, blocks: 1, registers: 4, classes: 3 },
        ),
        ("vit5_small", Dimensions::VIT5_SMALL),
        ("vit5_base", Dimensions::VIT5_BASE),
        ("resnet50", Dimensions::Resnet50 { image: 224, width: 64, classes: 1_000 }),
        ("resnet50_narrow", Dimensions::Resnet50 { image: 32, width: 4, classes: 10 }),
        ("gpt_small", Dimensions::Gpt { length: 128, vocabulary: 1_000, width: 192, heads: 6, blocks: 6 }),
        ("gpt_tiny", Dimensions::Gpt { length: 16, vocabulary: 50, width: 24, heads: 3, blocks: 2 }),
        (
            "mlp",
            Dimensions::Mlp { inputs: 64, hidden: vec![128, 128], activation: Activation::Relu, classes: 10 },
        ),
    ]
}

#[test]
fn the_file_of_models_is_what_is_said_here() {
    let said = |(name, dimensions): &(&str, Dimensions)| {
        let model = dimensions.model().unwrap();
        let flops = Flops::of(&model).unwrap();
        let parameters: Vec<Value> = model
            .parameters()
            .unwrap()
            .into_iter()
            .map(|one| json!({ "name": one.name, "shape": one.shape }))
            .collect();
        let told = json!({
            "name": name,
            "model": model,
            "forward": flops.forward(),
            "computed": flops.computed(),
            "size": model.size().unwrap(),
            "parameters": parameters,
        });
        format!("  {told}")
    };
    let lines: Vec<String> = models().iter().map(said).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    let found = std::fs::read_to_string(FILE).unwrap_or_default();
    if found != text {
        std::fs::write(FILE, &text).unwrap();
        panic!("`{FILE}` was another: it is written anew, look at the change");
    }
}
