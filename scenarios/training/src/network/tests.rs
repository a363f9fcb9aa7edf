use super::*;
use crate::workload::model::{Activation, Dimensions, RotaryGrid};
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

fn sequence(layers: Vec<Layer>) -> Model {
    let layers = layers.into_iter().chain([Layer::MeanPool, Layer::Linear { to: 3 }]).collect();
    Model { input: Shape::Sequence { length: 6, width: 8 }, layers }
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
fn gradients_of_a_vit5_agree_with_finite_differences() {
    let vit5 =
        Dimensions::Vit5 { image: 6, patch: 3, width: 8, heads: 2, blocks: 2, registers: 4, classes: 4 };
    check(&vit5.model().unwrap());
}

#[test]
fn gradients_of_each_part_of_a_vit5_agree_with_finite_differences() {
    let linear = || Layer::Linear { to: 8 };
    let turned = vec![RotaryGrid { first: 1, rows: 2, columns: 2, base: 10.0 }];
    for part in [
        Layer::RmsNorm { epsilon: 1e-3 },
        Layer::Scale,
        Layer::Append { tokens: 3 },
        Layer::RotaryAttention { heads: 2, epsilon: 1e-3, turned },
    ] {
        check(&sequence(vec![linear(), part.clone(), linear()]));
        check(&sequence(vec![part]));
    }
}

/// What leaves the layers of a model for one sample.
fn leaves(layers: Vec<Layer>, x: &[f64], parameters: &NetworkParameters<f64>) -> Array2<f64> {
    let model = Model { input: Shape::Sequence { length: x.len() / 4, width: 4 }, layers };
    Network::new(&model).unwrap().forward(x, parameters).unwrap()
}

#[test]
fn a_row_goes_over_the_root_of_the_mean_of_its_squares_and_is_scaled_number_by_number() {
    let scale = vec![Array2::from_shape_vec((1, 4), vec![1.0, 2.0, -1.0, 0.5]).unwrap()];
    let x = [1.0, -3.0, 1.0, 5.0];
    // The mean of squares is 9, and `epsilon` makes it 16.
    let normed = leaves(vec![Layer::RmsNorm { epsilon: 7.0 }], &x, &scale);
    assert_eq!(normed.row(0).to_vec(), [0.25, -1.5, -0.25, 0.625]);
    assert_eq!(leaves(vec![Layer::Scale], &x, &scale).row(0).to_vec(), [1.0, -6.0, -1.0, 2.5]);
}

#[test]
fn registers_stand_behind_the_rows_of_each_sample() {
    let tokens = vec![Array2::from_elem((2, 4), 7.0)];
    let model =
        Model { input: Shape::Sequence { length: 1, width: 4 }, layers: vec![Layer::Append { tokens: 2 }] };
    let both = Network::new(&model).unwrap().forward(&numbers(8, 0.5), &tokens).unwrap();
    let firsts: Vec<f64> = both.column(0).to_vec();
    assert_eq!(firsts, [numbers(8, 0.5)[0], 7.0, 7.0, numbers(8, 0.5)[4], 7.0, 7.0]);
}

#[test]
fn scores_of_rotary_attention_depend_on_where_places_lie_from_each_other_as_complex_numbers_say() {
    // One head of four numbers: the first pair turns with the row, the second with the column.
    let (length, grid) = (5, RotaryGrid { first: 1, rows: 2, columns: 2, base: 100.0 });
    let layer = Layer::RotaryAttention { heads: 1, epsilon: 1e-6, turned: vec![grid] };
    let model = Model { input: Shape::Sequence { length, width: 4 }, layers: vec![layer] };
    let weights = parameters(&model);
    let x = Array2::from_shape_vec((length, 4), numbers(4 * length, 0.5)).unwrap();
    let qkv = x.dot(&weights[0]);
    let normed = |place: usize, part: usize| -> Vec<f64> {
        let row: Vec<f64> = (0..4).map(|at| qkv[[place, 4 * part + at]]).collect();
        let root = (row.iter().map(|one| one * one).sum::<f64>() / 4.0 + 1e-6).sqrt();
        (0..4).map(|at| row[at] / root * weights[1 + part][[0, at]]).collect()
    };
    let angles = |place: usize| match place {
        0 => [0.0, 0.0],
        _ => [((place - 1) / 2) as f64, ((place - 1) % 2) as f64],
    };
    // The real part of q times the conjugate of k, turned by the difference of their angles.
    let score = |one: usize, other: usize| {
        let (q, k) = (normed(one, 0), normed(other, 1));
        let pair = |at: usize| {
            let by = angles(one)[at] - angles(other)[at];
            let (re, im) = (
                q[2 * at] * k[2 * at] + q[2 * at + 1] * k[2 * at + 1],
                q[2 * at + 1] * k[2 * at] - q[2 * at] * k[2 * at + 1],
            );
            re * by.cos() - im * by.sin()
        };
        f64::midpoint(pair(0), pair(1))
    };
    let found = Network::new(&model).unwrap().forward(x.as_slice().unwrap(), &weights).unwrap();
    for place in 0..length {
        let shares: Vec<f64> = (0..length).map(|other| score(place, other).exp()).collect();
        let sum: f64 = shares.iter().sum();
        let seen: Vec<f64> = (0..4)
            .map(|at| (0..length).map(|other| shares[other] / sum * qkv[[other, 8 + at]]).sum())
            .collect();
        for to in 0..4 {
            let due: f64 =
                weights[4][[0, to]] + (0..4).map(|at| seen[at] * weights[3][[at, to]]).sum::<f64>();
            assert!((found[[place, to]] - due).abs() < 1e-12, "{place} {to}: {} {due}", found[[place, to]]);
        }
    }
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
