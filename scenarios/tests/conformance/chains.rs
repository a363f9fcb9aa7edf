//! Any chain of transforms: random pipelines have the bits of the reference, and the reference those of the definitions.

use weighbridge::{Dtype, FieldKind};
use weighbridge_scenarios::adapters::native::Reference;
use weighbridge_scenarios::contract::Loader as _;
use weighbridge_scenarios::data::{DataSpec, FieldSpec, Values};
use weighbridge_scenarios::workload::{Access, Draws, PipelineSpec, Transform};

use crate::oracle::oracle;
use crate::{data, epoch, loaders, rows};

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
        let shapes: [&[usize]; 7] = [&[], &[13], &[100], &[6, 5], &[8, 8, 3], &[9, 7, 1], &[40, 33, 4]];
        let (dtype, values) = self.pick(&[
            (Dtype::U8, Values::Below(256)),
            (Dtype::F32, Values::Normal),
            (Dtype::I32, Values::Below(32_000)),
            (Dtype::I64, Values::Below(5)),
        ]);
        let kind = FieldKind { name: format!("field{number}"), dtype, shape: self.pick(&shapes).to_vec() };
        FieldSpec { kind, values }
    }

    /// A pipeline that can be: chains that cannot are thrown again.
    fn pipeline(&mut self) -> PipelineSpec {
        loop {
            let fields = (0..=self.below(3)).map(|number| self.field(number)).collect();
            let elements = 1 + self.below(20);
            let mut spec = PipelineSpec::new(DataSpec::synthetic(elements, fields), 1 + self.below(12));
            for _ in 0..self.below(12) {
                spec = spec.map(self.pick(&Transform::ALL));
            }
            spec = spec.seed(self.below(1_000) as u64).workers(self.pick(&[0, 0, 0, 2]));
            spec = spec.access(self.pick(&[Access::Memory, Access::FileEager, Access::FileStreaming]));
            if spec.check().is_ok() {
                return spec;
            }
        }
    }
}

#[test]
fn two_hundred_random_chains_have_the_bits_of_the_reference_and_of_their_definitions() {
    let mut dice = Dice { draws: Draws::new(7, 7), thrown: 0 };
    let mut kinds_of_step = std::collections::BTreeSet::new();
    for round in 0..200 {
        let spec = dice.pipeline();
        kinds_of_step.extend(spec.transforms.iter().map(|transform| transform.name()));
        let (_place, data) = data(&spec);
        let number = dice.below(3) as u64;
        let reference = epoch(&mut *Reference.open(&spec, &data).unwrap(), number);
        for (name, mut loader) in loaders() {
            let found = epoch(&mut *loader.open(&spec, &data).unwrap(), number);
            assert!(found == reference, "round {round}, {name}: {spec:?}");
        }
        let output = spec.output().unwrap();
        for (field, kind) in output.iter().enumerate() {
            assert!(reference.iter().all(|batch| {
                let delivered = &batch.fields[field];
                (&delivered.name, delivered.dtype, &delivered.shape) == (&kind.name, kind.dtype, &kind.shape)
            }));
            let rows = rows(&reference, field);
            let per_element = rows.len() / data.elements();
            for element in 0..data.elements() {
                let expected = oracle(&spec, &data, field, element, number);
                assert!(rows[element * per_element..][..per_element] == expected, "round {round}: {spec:?}");
            }
        }
    }
    assert_eq!(kinds_of_step.len(), Transform::ALL.len());
}
