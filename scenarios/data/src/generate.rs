//! Synthetic numbers: one generator per field, so that a field is the same whatever stands beside it.
//!
//! The generator is PCG64 (`XSL RR 128/64`) with the data set's seed as its state and the field's position as
//! its stream. A field is one unbroken stream over all its numbers, so a shorter data set is the beginning of
//! a longer one. A state alone (`Values::Scaled`) is one stream over all its fields, as its definition wants.

use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use weighbridge::{Dtype, Error, Result};

use super::bounded_numbers::below;
use super::clusters::Clusters;
use super::normal_stream::NormalStream;
use super::photograph::{Photographs, ROOM};
use super::scene::{CHANNELS, Scene};
use super::spec::{FieldSpec, FieldValues};

/// Draws the numbers of one field, element after element.
pub(super) struct FieldGenerator {
    random: Pcg64,
    /// Bytes of the last output that were not used yet, lowest first, so that any cut of a byte field is a
    /// prefix.
    left: u64,
    left_bytes: u32,
    dtype: Dtype,
    values: FieldValues,
    /// The source of pictures, where they are asked for.
    scene: Option<Scene>,
    photographs: Option<Photographs>,
    clusters: Option<Clusters>,
    /// The stream that goes on from field to field, whatever stands between.
    stream: Option<NormalStream>,
    /// The factor of the numbers of a stream over all fields.
    scale: f64,
}

impl FieldGenerator {
    /// The generator of a field. `before` is the one of the field before, which a stream over all fields goes
    /// on from.
    ///
    /// # Errors
    /// For numbers that a type cannot hold.
    pub(super) fn new(field: &FieldSpec, position: usize, seed: u64, before: Option<Self>) -> Result<Self> {
        let (dtype, values) = (field.kind.dtype, field.values);
        let known = matches!(
            (dtype, values),
            (Dtype::I32 | Dtype::I64, FieldValues::Between(from, below))
                if from < below && below <= i32::MAX.unsigned_abs()
        ) || matches!(
            (dtype, values),
            (Dtype::U8, FieldValues::Below(1..=256))
                | (Dtype::I32 | Dtype::I64, FieldValues::Below(1..))
                | (
                    Dtype::F32,
                    FieldValues::Normal
                        | FieldValues::Spread(_)
                        | FieldValues::Same(_)
                        | FieldValues::Millionths(_)
                        | FieldValues::Around { classes: 1.., .. }
                )
                | (Dtype::I32 | Dtype::I64 | Dtype::BF16 | Dtype::F32 | Dtype::F64, FieldValues::Scaled)
        ) || (dtype, values) == (Dtype::U8, FieldValues::Scene)
            || (dtype, values) == (Dtype::U8, FieldValues::Photograph) && field.kind.shape == [ROOM]
            || matches!(values, FieldValues::Leaf(leaf) if field.kind == leaf.kind(&field.kind.name));
        let scene = match (values, &field.kind.shape[..]) {
            (FieldValues::Scene, &[rows, columns, channels @ 1..=CHANNELS]) if rows > 0 && columns > 0 => {
                Some(Scene::new(seed, [rows, columns, channels]))
            }
            _ => None,
        };
        let known = known && (scene.is_some() || values != FieldValues::Scene);
        if !known {
            let name = &field.kind.name;
            return Err(Error::new(format!(
                "field `{name}`: there are no {} numbers of {values:?}",
                dtype.name()
            )));
        }
        let begun = before.and_then(|before| before.stream);
        // The twister has seeds of 32 bits, and a state is asked for with one.
        let begin = || (values == FieldValues::Scaled).then(|| NormalStream::new(seed as u32));
        let stream = begun.or_else(begin);
        Ok(Self {
            random: Pcg64::new(u128::from(seed), position as u128),
            left: 0,
            left_bytes: 0,
            dtype,
            values,
            scene,
            clusters: match values {
                FieldValues::Around { classes, apart } => {
                    Some(Clusters::new(field.kind.shape.iter().product(), classes, apart, position, seed))
                }
                _ => None,
            },
            photographs: (values == FieldValues::Photograph).then(|| Photographs::new(seed)),
            stream,
            scale: field.kind.shape.iter().product::<usize>() as f64,
        })
    }

    /// Fills `bytes`, a whole number of numbers, with the next of them.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        if let Some(scene) = &mut self.scene {
            return scene.fill(bytes);
        }
        if let Some(photographs) = &mut self.photographs {
            return photographs.fill(bytes);
        }
        if let Some(clusters) = &mut self.clusters {
            return clusters.fill(bytes);
        }
        if let (FieldValues::Scaled, Some(stream)) = (self.values, &mut self.stream) {
            let scale = self.scale;
            return scaled(self.dtype, bytes, || scale * stream.draw());
        }
        if let FieldValues::Leaf(leaf) = self.values {
            return bytes.copy_from_slice(leaf.bytes());
        }
        match (self.dtype, self.values) {
            (Dtype::U8, FieldValues::Below(256)) => self.fill_bytes(bytes),
            (Dtype::U8, FieldValues::Below(bound)) => {
                for byte in bytes {
                    *byte = self.below(bound) as u8;
                }
            }
            (Dtype::I32, FieldValues::Below(bound)) => {
                for number in bytes.as_chunks_mut().0 {
                    *number = self.below(bound).cast_signed().to_le_bytes();
                }
            }
            (Dtype::I64, FieldValues::Below(bound)) => {
                for number in bytes.as_chunks_mut().0 {
                    *number = i64::from(self.below(bound)).to_le_bytes();
                }
            }
            (Dtype::I32, FieldValues::Between(from, below)) => {
                for number in bytes.as_chunks_mut().0 {
                    *number = (from + self.below(below - from)).cast_signed().to_le_bytes();
                }
            }
            (Dtype::I64, FieldValues::Between(from, below)) => {
                for number in bytes.as_chunks_mut().0 {
                    *number = i64::from(from + self.below(below - from)).to_le_bytes();
                }
            }
            (Dtype::F32, FieldValues::Normal) => {
                for number in bytes.as_chunks_mut().0 {
                    let drawn: f64 = StandardNormal.sample(&mut self.random);
                    *number = (drawn as f32).to_le_bytes();
                }
            }
            (Dtype::F32, FieldValues::Spread(millionths)) => {
                let deviation = f64::from(millionths) / 1e6;
                for number in bytes.as_chunks_mut().0 {
                    let drawn: f64 = StandardNormal.sample(&mut self.random);
                    *number = ((deviation * drawn) as f32).to_le_bytes();
                }
            }
            (Dtype::F32, FieldValues::Same(same)) => {
                for number in bytes.as_chunks_mut().0 {
                    *number = f32::from(same).to_le_bytes();
                }
            }
            (Dtype::F32, FieldValues::Millionths(millionths)) => {
                for number in bytes.as_chunks_mut().0 {
                    *number = ((f64::from(millionths) / 1e6) as f32).to_le_bytes();
                }
            }
            _ => unreachable!("`new` refuses every other pair"),
        }
    }

    /// Eight bytes of every output, lowest first.
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        let (begun, rest) = bytes.split_at_mut(bytes.len().min(self.left_bytes as usize));
        begun.fill_with(|| self.leftover());
        let (whole, tail) = rest.as_chunks_mut();
        for eight in whole {
            *eight = self.random.next_u64().to_le_bytes();
        }
        if !tail.is_empty() {
            (self.left, self.left_bytes) = (self.random.next_u64(), 8);
            tail.fill_with(|| self.leftover());
        }
    }

    fn leftover(&mut self) -> u8 {
        let byte = self.left as u8;
        self.left >>= 8;
        self.left_bytes -= 1;
        byte
    }

    fn below(&mut self, bound: u32) -> u32 {
        below(&mut self.random, bound)
    }
}

/// Drawn numbers as numpy's `astype` makes them of another type; `bf16` as `ml_dtypes` does, by way of `f32`.
fn scaled(dtype: Dtype, bytes: &mut [u8], mut draw: impl FnMut() -> f64) {
    macro_rules! numbers {
        ($type:ty) => {
            for number in bytes.as_chunks_mut().0 {
                *number = (draw() as $type).to_le_bytes();
            }
        };
    }
    match dtype {
        Dtype::I32 => numbers!(i32),
        Dtype::I64 => numbers!(i64),
        Dtype::F64 => numbers!(f64),
        Dtype::F32 => numbers!(f32),
        Dtype::BF16 => {
            for number in bytes.as_chunks_mut().0 {
                *number = nearest_bf16(draw() as f32).to_le_bytes();
            }
        }
        Dtype::U8 => unreachable!("`new` refuses it"),
    }
}

/// The bits of the nearest `bf16`, of two that are as near the even one. What is drawn is finite.
fn nearest_bf16(number: f32) -> u16 {
    let bits = number.to_bits();
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use weighbridge::FieldKind;

    use super::*;
    use crate::{DataSpec, Leaf};

    fn bytes(field: &FieldSpec, seed: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        FieldGenerator::new(field, 0, seed, None).unwrap().fill(&mut bytes);
        bytes
    }

    #[test]
    fn a_seed_gives_the_same_numbers_every_time_and_another_seed_others() {
        let field = &DataSpec::table(1, 1).fields[0];
        assert_eq!(bytes(field, 42, 4_000), bytes(field, 42, 4_000));
        assert_ne!(bytes(field, 42, 4_000), bytes(field, 43, 4_000));
    }

    #[test]
    fn pieces_make_up_the_same_stream_as_one_draw() {
        for spec in [DataSpec::images(1, 1, 1), DataSpec::tokens(1, 1), DataSpec::table(1, 1)] {
            let field = &spec.fields[0];
            let whole = bytes(field, 42, 400);
            let mut pieces = vec![0; 400];
            let mut generator = FieldGenerator::new(field, 0, 42, None).unwrap();
            let size = field.kind.dtype.size();
            let (first, rest) = pieces.split_at_mut(3 * size);
            generator.fill(first);
            generator.fill(rest);
            assert_eq!(whole, pieces);
        }
    }

    #[test]
    fn numbers_have_the_distribution_that_they_say() {
        let normal = bytes(&DataSpec::table(1, 1).fields[0], 42, 400_000);
        let normal: Vec<f64> =
            normal.as_chunks().0.iter().map(|&four| f64::from(f32::from_le_bytes(four))).collect();
        let mean = normal.iter().sum::<f64>() / 1e5;
        let variance = normal.iter().map(|x| x * x).sum::<f64>() / 1e5;
        // Six standard deviations.
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        let tokens = bytes(&DataSpec::tokens(1, 1).fields[0], 42, 400_000);
        let tokens: Vec<i32> = tokens.as_chunks().0.iter().map(|&four| i32::from_le_bytes(four)).collect();
        assert!(tokens.iter().all(|id| (0..32_000).contains(id)));
        assert!(tokens.iter().any(|&id| id > 31_900) && tokens.iter().any(|&id| id < 100));
    }

    #[test]
    fn elements_lie_around_the_centre_of_the_class_that_the_next_field_has() {
        let spec = DataSpec::normal("x", 1_000, vec![50]).with("y", Dtype::I32, &[], FieldValues::Below(3));
        let field = FieldSpec {
            values: FieldValues::Around { classes: 3, apart: 1_000_000 },
            ..spec.fields[0].clone()
        };
        let drawn = bytes(&field, 42, 4 * 50_000);
        let numbers: Vec<f32> = drawn.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect();
        let mut labels = vec![0; 4_000];
        FieldGenerator::new(&spec.fields[1], 1, 42, None).unwrap().fill(&mut labels);
        let labels: Vec<i32> = labels.as_chunks().0.iter().map(|&four| i32::from_le_bytes(four)).collect();
        let mean = |class: i32| {
            let of: Vec<&[f32]> = numbers
                .chunks(50)
                .zip(&labels)
                .filter(|(_, label)| **label == class)
                .map(|(x, _)| x)
                .collect();
            (0..50).map(|at| of.iter().map(|x| x[at]).sum::<f32>() / of.len() as f32).collect::<Vec<_>>()
        };
        let (first, second) = (mean(0), mean(1));
        let apart = first.iter().zip(&second).map(|(a, b)| (a - b).powi(2)).sum::<f32>() / 50.0;
        assert!((1.0..3.5).contains(&apart), "two deviations of 1 lie 2 apart in the square: {apart}");
        // Around its own centre an element is as standard normal numbers are.
        let own = |(x, label): (&[f32], &i32)| {
            let centre = [&first, &second][*label as usize];
            x.iter().zip(centre).map(|(x, c)| (x - c).powi(2)).sum::<f32>() / 50.0
        };
        let spread: Vec<f32> =
            numbers.chunks(50).zip(&labels).filter(|(_, label)| **label < 2).map(own).collect();
        let spread = spread.iter().sum::<f32>() / spread.len() as f32;
        assert!((0.95..1.05).contains(&spread), "{spread}");
    }

    /// `numpy.random.seed(7)`, then `numpy.random.normal(scale=6, size=(2, 3)).astype(...)` of each type in
    /// turn, with numpy 2 and `ml_dtypes` 0.5.
    #[test]
    fn tensors_of_other_types_are_what_numpy_makes_of_the_same_stream() {
        let types = [
            (
                Dtype::F64,
                "5f70a2824b492440faf0953b705d06c06458f2ecb434c93f\
                 57c2c2618f8f03402f3668a124ef12c0c63bc503bb61893f",
            ),
            (Dtype::I32, "00000000f6ffffff0600000003000000fdffffffffffffff"),
            (
                Dtype::I64,
                "0300000000000000ffffffffffffffffffffffffffffffff\
                 f8ffffffffffffff03000000000000000000000000000000",
            ),
            (Dtype::BF16, "d33f13c11e416d3f15c04341"),
            (Dtype::F32, "076d8bbee1430bc1859b1bc0a2ad5bc1f07bc94017ed1fc0"),
        ];
        let mut before = None;
        for (position, (dtype, of_numpy)) in types.into_iter().enumerate() {
            let kind = FieldKind { name: dtype.name().into(), dtype, shape: vec![2, 3] };
            let field = FieldSpec { kind, values: FieldValues::Scaled };
            let mut generator = FieldGenerator::new(&field, position, 7, before).unwrap();
            let mut made = vec![0; 6 * dtype.size()];
            generator.fill(&mut made);
            before = Some(generator);
            if dtype != Dtype::F64 {
                let hex: String = made.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(hex, of_numpy, "{}", dtype.name());
                continue;
            }
            // The logarithms of two libraries may differ in the last bit, which a shorter type does not see.
            let bytes = (0..48).map(|at| u8::from_str_radix(&of_numpy[2 * at..][..2], 16).unwrap());
            let numbers = |bytes: &[u8]| -> Vec<f64> {
                bytes.as_chunks().0.iter().map(|eight| f64::from_le_bytes(*eight)).collect()
            };
            for (found, expected) in numbers(&made).into_iter().zip(numbers(&bytes.collect::<Vec<u8>>())) {
                assert!((found - expected).abs() <= 1e-15 * expected.abs(), "{found} {expected}");
            }
        }
    }

    #[test]
    fn the_nearest_bf16_is_the_even_one_of_two_that_are_as_near() {
        let of = |bits: u32| nearest_bf16(f32::from_bits(bits));
        assert_eq!([of(0x3f80_8000), of(0x3f81_8000), of(0x3f80_8001)], [0x3f80, 0x3f82, 0x3f81]);
        assert_eq!([of(0xbf80_7fff), of(0x3fff_ffff), of(0)], [0xbf80, 0x4000, 0]);
    }

    #[test]
    fn a_state_is_one_stream_over_its_tensors_each_with_its_own_scale() {
        let kind = |name: &str, shape| FieldKind { name: name.into(), dtype: Dtype::F32, shape };
        let fields = [kind("a", vec![3]), kind("b", vec![2, 2])];
        let spec =
            DataSpec::state(fields.map(|kind| FieldSpec { kind, values: FieldValues::Scaled }).to_vec(), 0);
        let first = FieldGenerator::new(&spec.fields[0], 0, 0, None).unwrap();
        let mut made = [[0; 12].to_vec(), [0; 16].to_vec()];
        let mut before = Some(first);
        for (position, bytes) in made.iter_mut().enumerate() {
            let mut generator =
                FieldGenerator::new(&spec.fields[position], position, 0, before.take()).unwrap();
            generator.fill(bytes);
            before = Some(generator);
        }
        let numbers: Vec<f32> =
            made.concat().as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect();
        let stream = [1.764_052_3, 0.400_157_2, 0.978_738, 2.240_893_2, 1.867_558];
        let expected: Vec<f32> =
            stream.iter().zip([3.0, 3.0, 3.0, 4.0, 4.0]).map(|(x, scale): (&f32, f32)| x * scale).collect();
        for (found, expected) in numbers.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{numbers:?}");
        }
    }

    #[test]
    fn a_leaf_that_is_no_array_draws_nothing_and_the_stream_goes_on_behind_it() {
        let scaled = |name: &str| FieldSpec {
            kind: FieldKind { name: name.into(), dtype: Dtype::F32, shape: vec![2] },
            values: FieldValues::Scaled,
        };
        let leaf = |leaf: Leaf| FieldSpec { kind: leaf.kind(leaf.name()), values: FieldValues::Leaf(leaf) };
        let made = |fields: &[FieldSpec]| {
            let mut before = None;
            let fill = |(position, field): (usize, &FieldSpec)| {
                let mut generator = FieldGenerator::new(field, position, 3, before.take()).unwrap();
                let mut bytes = vec![1; field.kind.shape.iter().product::<usize>() * field.kind.dtype.size()];
                generator.fill(&mut bytes);
                before = Some(generator);
                bytes
            };
            fields.iter().enumerate().map(fill).collect::<Vec<_>>()
        };
        let with = made(&[leaf(Leaf::Int), scaled("a"), leaf(Leaf::Str), scaled("b")]);
        let without = made(&[scaled("a"), scaled("b")]);
        assert_eq!([&with[1], &with[3]], [&without[0], &without[1]]);
        assert_eq!((&with[0][..], &with[2][..]), (&[0; 8][..], &b"default_string"[..]));
        let odd = FieldSpec { kind: Leaf::Int.kind("x"), values: FieldValues::Leaf(Leaf::Str) };
        assert!(FieldGenerator::new(&odd, 0, 3, None).is_err());
    }

    #[test]
    fn a_distribution_that_a_type_cannot_hold_is_refused() {
        let kind = FieldKind { name: "x".into(), dtype: Dtype::U8, shape: vec![] };
        assert!(
            FieldGenerator::new(&FieldSpec { kind: kind.clone(), values: FieldValues::Normal }, 0, 42, None)
                .is_err()
        );
        let kind = FieldKind { dtype: Dtype::I32, ..kind };
        assert!(
            FieldGenerator::new(&FieldSpec { kind, values: FieldValues::Between(5, 5) }, 0, 42, None)
                .is_err()
        );
    }
}
