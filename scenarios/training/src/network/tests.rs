use super::*;
use crate::workload::model::{Activation, Dimensions};
use crate::workload::{Optimiser, Schedule};

/// Numbers that look like nothing: a sine is far from any structure of a layer.
fn numbers(count: usize, seed: f64) -> Vec<f64> {
    (0..count).map(|number| ((number as f64 + seed) * 12.9898).sin() * 0.7).collect()
}

fn parameters(model: &Model) -> NetworkParameters<f64> {
    let tensors = model.parameters().unwrap();
    let make = |(place, one): (usize, &crate::workload::model::Parameter)| {
        let count = one.shape.iter().product();
        let last = *one.shape.last().unwrap();
        Array2::from_shape_vec((count / last, last), numbers(count, 100.0 * place as f64)).unwrap()
    };
    tensors.iter().enumerate().map(make).collect()
}

fn input(model: &Model, batch: usize) -> Vec<f64> {
    let count = batch * model.input.count();
    match model.input {
        Shape::Ids { below, .. } => (0..count).map(|number| (number * 7 % below) as f64).collect(),
        _ => numbers(count, 0.5),
    }
}

const BATCH: usize = 3;

fn loss(model: &Model, parameters: &NetworkParameters<f64>) -> (f64, Gradients<f64>) {
    let mut network = Network::new(model).unwrap();
    let logits = network.forward(&input(model, BATCH), parameters).unwrap();
    let (classes, _) = model.labels().unwrap();
    let labels: Vec<i32> = (0..logits.nrows()).map(|row| (row * 5 % classes) as i32).collect();
    let (loss, of_logits) = cross_entropy(logits, &labels).unwrap();
    (loss, network.backward(of_logits, parameters))
}

/// Holds every gradient against central differences of the loss: the first and last number of each parameter,
/// and a direction through all of them.
fn check(model: &Model) {
    let start = parameters(model);
    let (_, gradients) = loss(model, &start);
    let at = |move_by: &dyn Fn(usize, usize) -> f64, step: f64| {
        let mut moved = start.clone();
        for (place, one) in moved.iter_mut().enumerate() {
            for (number, value) in one.iter_mut().enumerate() {
                *value += step * move_by(place, number);
            }
        }
        loss(model, &moved).0
    };
    let compare = |what: &str, move_by: &dyn Fn(usize, usize) -> f64| {
        const STEP: f64 = 1e-5;
        let difference = (at(move_by, STEP) - at(move_by, -STEP)) / (2.0 * STEP);
        let numbers = gradients.iter().enumerate().flat_map(|(place, one)| {
            one.iter().enumerate().map(move |(number, gradient)| gradient * move_by(place, number))
        });
        let slope: f64 = numbers.sum();
        assert!(
            (slope - difference).abs() <= 1e-7 * difference.abs().max(0.1),
            "{what}: {slope} {difference}"
        );
    };
    compare("a direction", &|place, number| ((place * 31 + number) as f64).cos());
    for (place, one) in gradients.iter().enumerate() {
        assert_eq!(one.dim(), start[place].dim());
        for wanted in [0, one.len() - 1] {
            let what = format!("number {wanted} of parameter {place}");
            compare(&what, &|at, number| if (at, number) == (place, wanted) { 1.0 } else { 0.0 });
        }
    }
}

fn grid(layers: Vec<Layer>) -> Model {
    let layers = layers.into_iter().chain([Layer::MeanPool, Layer::Linear { to: 3 }]).collect();
    Model { input: Shape::Grid { rows: 5, columns: 4, channels: 2 }, layers }
}

#[test]
fn gradients_of_a_vision_transformer_agree_with_finite_differences() {
    let vit = Dimensions::Vit { image: 6, patch: 3, width: 8, heads: 2, blocks: 2, tokens: 2, classes: 4 };
    check(&vit.model().unwrap());
}

#[test]
fn gradients_of_a_decoder_agree_with_finite_differences() {
    let gpt = Dimensions::Gpt { length: 5, vocabulary: 7, width: 6, heads: 3, blocks: 2 };
    check(&gpt.model().unwrap());
}

#[test]
fn gradients_of_linear_maps_and_rectifiers_agree_with_finite_differences() {
    check(
        &Dimensions::Mlp { inputs: 6, hidden: vec![9, 5], activation: Activation::Relu, classes: 4 }
            .model()
            .unwrap(),
    );
    // Nothing is learned below the first map.
    let layers = vec![Layer::Relu, Layer::Linear { to: 4 }];
    check(&Model { input: Shape::Vector { width: 5 }, layers });
}

#[test]
fn gradients_of_convolutions_agree_with_finite_differences() {
    for (kernel, stride) in [(1, 1), (3, 1), (3, 2), (5, 2)] {
        let conv = |to| Layer::Conv { to, kernel, stride };
        check(&grid(vec![conv(3), Layer::Gelu, conv(4)]));
    }
}

#[test]
fn gradients_of_pools_and_norms_of_a_batch_agree_with_finite_differences() {
    let conv = Layer::Conv { to: 3, kernel: 3, stride: 1 };
    check(&grid(vec![conv.clone(), Layer::MaxPool { kernel: 3, stride: 2 }]));
    check(&grid(vec![conv.clone(), Layer::BatchNorm { epsilon: 1e-5 }, Layer::Relu]));
    check(&grid(vec![conv, Layer::LayerNorm { epsilon: 1e-6 }, Layer::Gelu]));
}

#[test]
fn gradients_of_two_ways_agree_with_finite_differences() {
    let conv = |to| Layer::Conv { to, kernel: 3, stride: 1 };
    check(&grid(vec![Layer::Projected { body: vec![conv(4), Layer::Relu, conv(3)], around: vec![conv(3)] }]));
    check(&grid(vec![Layer::Residual { body: vec![conv(2), Layer::Gelu] }, conv(3)]));
}

#[test]
fn a_place_of_a_decoder_sees_none_after_it() {
    let model = Dimensions::Gpt { length: 6, vocabulary: 9, width: 8, heads: 2, blocks: 2 }.model().unwrap();
    let parameters = parameters(&model);
    let logits = |ids: [f64; 6]| Network::new(&model).unwrap().forward(&ids, &parameters).unwrap();
    let (one, other) = (logits([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), logits([1.0, 2.0, 3.0, 4.0, 0.0, 8.0]));
    assert_eq!(one.slice(s![..4, ..]), other.slice(s![..4, ..]));
    assert_ne!(one.row(4), other.row(4));
}

#[test]
fn single_numbers_agree_with_double_ones() {
    let model = Dimensions::VIT5_TINY.model().unwrap();
    let double: NetworkParameters<f64> = parameters(&model).into_iter().map(|one| one * 0.1).collect();
    let single: NetworkParameters<f32> = double.iter().map(|one| one.mapv(|number| number as f32)).collect();
    let x = numbers(2 * model.input.count(), 0.5);
    let expected = Network::new(&model).unwrap().forward(&x, &double).unwrap();
    let x: Vec<f32> = x.into_iter().map(|number| number as f32).collect();
    let found = Network::new(&model).unwrap().forward(&x, &single).unwrap();
    let most = expected.iter().fold(0.0, |most: f64, number| most.max(number.abs()));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((f64::from(*found) - expected).abs() < 1e-5 * most, "{found} {expected}");
    }
}

#[test]
fn optimisers_do_the_steps_of_their_formulae() {
    let step_twice_by = |kind, schedule| {
        let mut weights = vec![Array2::from_elem((1, 1), 1.0_f64)];
        let mut descent = Descent::new(kind, schedule, &weights);
        for gradient in [0.5, -0.25] {
            descent.step(&mut weights, &vec![Array2::from_elem((1, 1), gradient)]);
        }
        weights[0][[0, 0]]
    };
    let step_twice = |kind| step_twice_by(kind, Schedule::Constant);
    // v = 0.5, then 0.9 * 0.5 - 0.25 = 0.2.
    let sgd = step_twice(Optimiser::Sgd { rate: 0.1, momentum: 0.9 });
    assert!((sgd - (1.0 - 0.1 * 0.5 - 0.1 * 0.2)).abs() < 1e-15, "{sgd}");
    // Half the rate, then all of it.
    let rises = Schedule::Cosine { warmup: 1, until: 9, least: 0.0 };
    let sgd = step_twice_by(Optimiser::Sgd { rate: 0.1, momentum: 0.9 }, rises);
    assert!((sgd - (1.0 - 0.05 * 0.5 - 0.1 * 0.2)).abs() < 1e-15, "{sgd}");
    // torch.optim.AdamW(lr=0.1, betas=(0.9, 0.99), eps=1e-3, weight_decay=0.1) over the same gradients, in
    // float64.
    let kind = Optimiser::Adamw { rate: 0.1, beta1: 0.9, beta2: 0.99, epsilon: 1e-3, decay: 0.1 };
    let adamw = step_twice(kind);
    let first = 1.0 - 0.1 * 0.1 - 0.1 * 0.5 / (0.5 + 1e-3);
    let (m, v): (f64, f64) =
        ((0.9 * 0.05 - 0.1 * 0.25) / 0.19, (0.99 * 0.0025 + 0.01 * 0.0625) / (1.0 - 0.9801));
    let second = first - 0.1 * 0.1 * first - 0.1 * m / (v.sqrt() + 1e-3);
    assert!((adamw - second).abs() < 1e-12, "{adamw} {second}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = Dimensions::Gpt { length: 4, vocabulary: 5, width: 4, heads: 2, blocks: 1 }.model().unwrap();
    let parameters = parameters(&model);
    let mut network = Network::new(&model).unwrap();
    let mut refused = |ids: &[f64]| network.forward(ids, &parameters).unwrap_err().to_string();
    assert!(refused(&[1.0, 2.0, 3.0]).contains("takes 4 ids below 5"));
    assert!(refused(&[]).contains("takes 4 ids"));
    assert!(refused(&[1.0, 2.0, 3.0, 5.0]).contains("the id 5 is not below 5"));
    let logits = Array2::<f64>::zeros((2, 3));
    for labels in [&[0][..], &[0, 3], &[-1, 0]] {
        assert!(cross_entropy(logits.clone(), labels).is_err(), "{labels:?}");
    }
}
