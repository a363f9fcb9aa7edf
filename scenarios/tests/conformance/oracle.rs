//! The definitions of the transforms, written a second time.

use weighbridge::Dtype;
use weighbridge_scenarios::data::DataSet;
use weighbridge_scenarios::workload::{Draws, PipelineSpec, Transform};

/// One element, number by number, as the definitions read: slow, obvious, and sharing nothing with the loaders but the draws.
pub(crate) fn oracle(
    spec: &PipelineSpec,
    data: &DataSet,
    field: usize,
    element: usize,
    epoch: u64,
) -> Vec<u8> {
    let kind = &spec.source.fields[field].kind;
    let mut dtype = kind.dtype;
    let mut numbers: Vec<f64> = data
        .rows(field, element..element + 1)
        .chunks(dtype.size())
        .map(|bytes| match dtype {
            Dtype::U8 => f64::from(bytes[0]),
            Dtype::I32 => f64::from(i32::from_le_bytes(bytes.try_into().unwrap())),
            Dtype::I64 => i64::from_le_bytes(bytes.try_into().unwrap()) as f64, // small ones here
            Dtype::F32 => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
            Dtype::F64 => unreachable!("there are no synthetic f64 fields"),
        })
        .collect();
    for (position, transform) in spec.transforms.iter().enumerate() {
        let draw = Draws::new(spec.seed, epoch).at(element as u64, position as u64);
        let is_float = dtype == Dtype::F32;
        match transform {
            Transform::Normalize if kind.dtype == Dtype::U8 => {
                dtype = Dtype::F32;
                change(&mut numbers, |_, x| x / 255.0);
            }
            Transform::Normalize if kind.dtype == Dtype::F32 => {
                let constants = data.normalisation(field).unwrap();
                let last = constants.mean.len();
                change(&mut numbers, |index, x| x - constants.mean[index % last]);
                change(&mut numbers, |index, x| x * constants.scale[index % last]);
            }
            Transform::CastToFloat32 => dtype = Dtype::F32, // the numbers here are small: exact in f32
            Transform::Scale if is_float => change(&mut numbers, |_, x| x * 2.0),
            Transform::Clip if is_float => change(&mut numbers, |_, x| match x {
                _ if x < 0.0 => 0.0,
                _ if x > 1.0 => 1.0,
                _ => x,
            }),
            Transform::Add if is_float => change(&mut numbers, |_, x| x + 0.1),
            Transform::Multiply if is_float => change(&mut numbers, |_, x| x * 0.9),
            Transform::RandomCrop if kind.shape.len() == 3 => {
                let (height, width) = (7 * kind.shape[0] / 8, 7 * kind.shape[1] / 8);
                let top = draw.below(0, (kind.shape[0] - height + 1) as u64) as usize;
                let left = draw.below(1, (kind.shape[1] - width + 1) as u64) as usize;
                let inside = |row, column| row < height && column < width;
                gather(&mut numbers, &kind.shape, |row, column| {
                    inside(row, column).then_some((top + row, left + column))
                });
            }
            Transform::RandomFlip if kind.shape.len() == 3 && draw.coin(0) => {
                gather(&mut numbers, &kind.shape, |row, column| Some((row, kind.shape[1] - 1 - column)));
            }
            _ => {} // untouched
        }
    }
    let bytes = |x: f64| match dtype {
        Dtype::U8 => vec![x as u8],
        Dtype::I32 => (x as i32).to_le_bytes().to_vec(),
        Dtype::I64 => (x as i64).to_le_bytes().to_vec(),
        _ => (x as f32).to_le_bytes().to_vec(),
    };
    numbers.into_iter().flat_map(bytes).collect()
}

/// Changes every number, told its index: one operation, rounded to `f32`.
fn change(numbers: &mut [f64], operation: impl Fn(usize, f32) -> f32) {
    for (index, number) in numbers.iter_mut().enumerate() {
        *number = f64::from(operation(index, *number as f32));
    }
}

/// Takes every pixel from elsewhere, or makes it zero.
fn gather(numbers: &mut [f64], shape: &[usize], from: impl Fn(usize, usize) -> Option<(usize, usize)>) {
    let before = numbers.to_vec();
    for (index, number) in numbers.iter_mut().enumerate() {
        let (pixel, channel) = (index / shape[2], index % shape[2]);
        let there = from(pixel / shape[1], pixel % shape[1]);
        *number = there.map_or(0.0, |(row, column)| before[(row * shape[1] + column) * shape[2] + channel]);
    }
}
