//! Any chain of transforms: random pipelines have the bits of the reference, and the reference those of the
//! definitions.

use std::collections::BTreeMap;
use std::thread;

use weighbridge::{Dtype, FieldKind, ItemCopy};
use weighbridge_data::{DataSet, DataSpec, Draws, FieldSpec, FieldValues};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader as _;
use weighbridge_loaders::workload::{Access, PipelineSpec, Route, Transform};

use crate::oracle::oracle;
use crate::{data, epoch, keeps_order, takers};

/// Draws small numbers for random pipelines.
struct Dice {
    draws: Draws,
    thrown: u64,
}

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.thrown += 1;
        self.draws.at(self.thrown, 0).below(0, bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn field(&mut self, number: usize) -> FieldSpec {
        let shapes: [&[usize]; 9] =
            [&[], &[13], &[100], &[6, 5], &[8, 8, 3], &[12, 17, 3], &[9, 7, 1], &[40, 33, 4], &[16, 16, 3]];
        let (dtype, values) = self.pick(&[
            (Dtype::U8, FieldValues::Below(256)),
            (Dtype::F32, FieldValues::Normal),
            (Dtype::I32, FieldValues::Below(32_000)),
            (Dtype::I64, FieldValues::Below(5)),
        ]);
        let kind = FieldKind { name: format!("field{number}"), dtype, shape: self.pick(&shapes).to_vec() };
        FieldSpec { kind, values }
    }

    /// A pipeline that can be: what cannot stand at a place is left out.
    fn pipeline(&mut self) -> PipelineSpec {
        let mut fields: Vec<FieldSpec> = (0..=self.below(3)).map(|number| self.field(number)).collect();
        if self.below(2) == 0 {
            let kind = FieldKind { name: "length".into(), dtype: Dtype::I32, shape: vec![] };
            fields.push(FieldSpec { kind, values: FieldValues::Below(110) });
        }
        let elements = 1 + self.below(12);
        let mut spec = PipelineSpec::new(DataSpec::synthetic(elements, fields), 1 + self.below(12));
        for _ in 0..self.below(24) {
            let transform = self.pick(&Transform::ALL);
            let longer = match self.below(6) {
                0 => spec.clone().sometimes(0.5, transform),
                1 => spec.clone().choose(&[transform, self.pick(&Transform::ALL)]),
                _ => spec.clone().map(transform),
            };
            if longer.check().is_ok() {
                spec = longer;
            }
        }
        let spec = spec.seed(self.below(1_000) as u64).workers(self.pick(&[0, 0, 0, 2]));
        spec.access(self.pick(&[Access::Memory, Access::FileEager, Access::FileStreaming]))
    }
}

/// Checks that an epoch is what the definitions say, number by number.
pub(crate) fn check(batches: &[ItemCopy], spec: &PipelineSpec, data: &DataSet, number: u64) {
    let output = spec.output().unwrap();
    let padded: Vec<bool> = spec.routes().unwrap().iter().map(Route::is_padded).collect();
    let mut element = 0;
    for batch in batches {
        let expected: Vec<_> =
            (element..element + batch.elements).map(|element| oracle(spec, data, element, number)).collect();
        element += batch.elements;
        let field = spec.source.fields.iter().position(|field| field.kind.name == "length");
        let lengths = field.map(|field| data.rows(field, element - batch.elements..element));
        let longest =
            lengths.and_then(|bytes| bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).max());
        assert_eq!(batch.fields.len(), output.len());
        for (place, (field, kind)) in batch.fields.iter().zip(&output).enumerate() {
            let mut shape = kind.shape.clone();
            if padded[place] {
                shape[0] = shape[0].min((longest.unwrap() as usize).div_ceil(8) * 8);
            }
            assert_eq!(
                (&field.name, field.dtype, &field.shape),
                (&kind.name, kind.dtype, &shape),
                "{spec:?}"
            );
            let numbers = shape.iter().product();
            let expected: Vec<u8> = expected.iter().flat_map(|fields| fields[place].bytes(numbers)).collect();
            assert!(field.bytes == expected, "`{}` of {spec:?}", field.name);
        }
    }
    assert_eq!(element, data.elements());
}

#[test]
fn random_chains_have_the_bits_of_the_reference_and_of_their_definitions() {
    let mut dice = Dice { draws: Draws::new(7, 7), thrown: 0 };
    let rounds: Vec<_> = (0..300).map(|round| (round, dice.pipeline(), dice.below(3) as u64)).collect();
    let mut kinds_of_step = BTreeMap::new();
    for transform in rounds.iter().flat_map(|(_, spec, _)| &spec.transforms) {
        *kinds_of_step.entry(transform.name()).or_insert(0) += 1;
    }
    assert_eq!(kinds_of_step.len(), Transform::ALL.len(), "{kinds_of_step:?}");
    assert!(kinds_of_step.values().all(|&times| times >= 3), "{kinds_of_step:?}");

    let one = |(round, spec, number): &(usize, PipelineSpec, u64)| {
        let (_place, data) = data(spec);
        let reference = epoch(&mut *Reference.open(spec, &data).unwrap(), *number);
        for (name, mut loader) in takers(spec, &data) {
            // Those that hand out batches in any order do so with workers alone.
            let spec = match keeps_order(&mut *loader, spec, &data) {
                true => spec.clone(),
                false => spec.clone().workers(1),
            };
            let found = epoch(&mut *loader.open(&spec, &data).unwrap(), *number);
            assert!(found == reference, "round {round}, {name}: {spec:?}");
        }
        check(&reference, spec, &data, *number);
    };
    thread::scope(|scope| {
        for half in rounds.chunks(rounds.len() / 2) {
            scope.spawn(|| half.iter().for_each(one));
        }
    });
}

/// A field of every sort that some transform touches.
fn every_sort() -> Vec<FieldSpec> {
    let field = |name: &str, dtype, shape: &[usize], values| FieldSpec {
        kind: FieldKind { name: name.into(), dtype, shape: shape.to_vec() },
        values,
    };
    vec![
        field("image", Dtype::U8, &[14, 14, 3], FieldValues::Below(256)),
        field("mask", Dtype::I32, &[14, 14, 1], FieldValues::Below(21)),
        field("wide", Dtype::F32, &[16, 16, 3], FieldValues::Normal),
        field("grey", Dtype::F32, &[9, 9, 1], FieldValues::Normal),
        field("row", Dtype::F32, &[301], FieldValues::Normal),
        field("tokens", Dtype::I32, &[40], FieldValues::Below(32_000)),
        field("length", Dtype::I32, &[], FieldValues::Between(3, 33)),
    ]
}

#[test]
fn every_transform_alone_has_the_bits_of_its_definition() {
    let source = DataSpec::synthetic(23, every_sort());
    for transform in Transform::ALL {
        // Alone in its batch, a row is padded to its own length, which shows what that is rounded to.
        for batch_size in [1, 5] {
            let spec = PipelineSpec::new(source.clone(), batch_size).map(transform);
            let (_place, data) = data(&spec);
            for (_, mut loader) in takers(&spec, &data) {
                check(&epoch(&mut *loader.open(&spec, &data).unwrap(), 3), &spec, &data, 3);
            }
        }
    }
}
