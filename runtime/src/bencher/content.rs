//! What was delivered, reduced to what can be compared: a hash of every element, and moments of every field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128, xxh3_128_with_seed};

/// Type of the numbers in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Dtype {
    U8,
    I32,
    I64,
    F32,
    F64,
}

impl Dtype {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::U8, Self::I32, Self::I64, Self::F32, Self::F64];

    /// Bytes of one number.
    pub const fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// The name in files: `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// A copy of one item, field by field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// Elements in the item.
    pub elements: usize,
    /// Its fields, in any order.
    pub fields: Vec<KeptField>,
}

/// A copy of one field of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptField {
    /// The field's name.
    pub name: String,
    /// Type of its numbers.
    pub dtype: Dtype,
    /// Shape of one element, without the batch axis: `[32, 32, 3]`.
    pub shape: Vec<usize>,
    /// The numbers of all elements in order, little-endian.
    pub bytes: Vec<u8>,
}

/// Name, type and element shape of a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FieldKind {
    /// The field's name.
    pub name: String,
    /// Type of its numbers.
    pub dtype: Dtype,
    /// Shape of one element.
    pub shape: Vec<usize>,
}

/// Sums over the numbers of a field, for work that agrees only approximately.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// How many finite numbers.
    pub count: u64,
    /// How many that are infinite or no number: they are in none of the sums.
    pub not_finite: u64,
    /// Their sum.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Moments {
    const NONE: Self = Self { count: 0, not_finite: 0, sum: 0.0, squares: 0.0, min: f64::MAX, max: f64::MIN };

    fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.not_finite += 1;
            return;
        }
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The standard deviation (population).
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count as f64 - self.mean().powi(2)).max(0.0).sqrt()
    }
}

/// Everything that a repeat delivered, reduced: independent of the order of elements and of how they were batched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Elements seen.
    pub elements: u64,
    /// Bytes seen.
    pub bytes: u64,
    /// The kinds of field that were seen, sorted.
    pub fields: Vec<FieldKind>,
    /// Sum, with wrap-around, of the 128-bit hashes of all elements. Not XOR: that would forget pairs.
    #[serde(with = "hex")]
    pub digest: u128,
    /// Moments of each field, by name.
    pub moments: BTreeMap<String, Moments>,
}

impl Content {
    /// Adds an item, and gives `each` the hash of every element in it.
    ///
    /// # Panics
    /// If a field's bytes do not match its shape and the number of elements: a defect of the adapter.
    pub fn add(&mut self, item: &Kept, each: &mut dyn FnMut(u128)) {
        let mut fields: Vec<&KeptField> = item.fields.iter().collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        for field in &fields {
            let size = field.shape.iter().product::<usize>() * field.dtype.size();
            assert_eq!(
                field.bytes.len(),
                size * item.elements,
                "field `{}` has {} bytes, but {} elements of shape {:?} and type {} have {}",
                field.name,
                field.bytes.len(),
                item.elements,
                field.shape,
                field.dtype.name(),
                size * item.elements,
            );
            let kind = FieldKind { name: field.name.clone(), dtype: field.dtype, shape: field.shape.clone() };
            if let Err(place) = self.fields.binary_search(&kind) {
                self.fields.insert(place, kind);
            }
            let moments = self.moments.entry(field.name.clone()).or_insert(Moments::NONE);
            for_each_number(field, |number| moments.add(number));
            self.bytes += field.bytes.len() as u64;
        }
        let seeds: Vec<u64> = fields.iter().map(|field| header_hash(field)).collect();
        for element in 0..item.elements {
            let mut hashes = Vec::with_capacity(16 * fields.len());
            for (field, seed) in fields.iter().zip(&seeds) {
                let size = field.bytes.len() / item.elements;
                let hash = xxh3_128_with_seed(&field.bytes[element * size..][..size], *seed);
                hashes.extend_from_slice(&hash.to_le_bytes());
            }
            let hash = xxh3_128(&hashes);
            self.digest = self.digest.wrapping_add(hash);
            each(hash);
        }
        self.elements += item.elements as u64;
    }
}

/// A field's name, type and element shape, hashed: the seed of its elements' hashes.
fn header_hash(field: &KeptField) -> u64 {
    xxh3_64(format!("{}\0{}\0{:?}", field.name, field.dtype.name(), field.shape).as_bytes())
}

fn for_each_number(field: &KeptField, mut each: impl FnMut(f64)) {
    macro_rules! numbers {
        ($type:ty) => {
            for bytes in field.bytes.as_chunks().0 {
                each(<$type>::from_le_bytes(*bytes) as f64);
            }
        };
    }
    match field.dtype {
        Dtype::U8 => numbers!(u8),
        Dtype::I32 => numbers!(i32),
        Dtype::I64 => numbers!(i64),
        Dtype::F32 => numbers!(f32),
        Dtype::F64 => numbers!(f64),
    }
}

/// A 128-bit number as 32 hexadecimal digits: JSON numbers would lose it.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{value:032x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(rows: &[[f32; 2]]) -> Kept {
        let bytes = rows.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        let field = KeptField { name: "x".into(), dtype: Dtype::F32, shape: vec![2], bytes };
        Kept { elements: rows.len(), fields: vec![field] }
    }

    fn content(items: &[Kept]) -> Content {
        let mut content = Content::default();
        for item in items {
            content.add(item, &mut |_| {});
        }
        content
    }

    const A: [f32; 2] = [1.0, 2.0];
    const B: [f32; 2] = [3.0, 4.0];
    const C: [f32; 2] = [5.0, 6.0];

    #[test]
    fn swapping_rows_between_batches_agrees() {
        assert_eq!(content(&[item(&[A, B]), item(&[C])]), content(&[item(&[C, B]), item(&[A])]));
    }

    #[test]
    fn duplicating_one_row_and_dropping_another_disagrees() {
        assert_ne!(content(&[item(&[A, B, C])]).digest, content(&[item(&[A, B, B])]).digest);
    }

    #[test]
    fn a_row_that_comes_twice_is_not_forgotten() {
        assert_ne!(content(&[item(&[A, A])]).digest, content(&[]).digest);
    }

    #[test]
    fn changing_a_bit_a_dtype_or_a_field_name_disagrees() {
        let whole = item(&[A, B]);
        let reference = content(std::slice::from_ref(&whole));
        let changed = |change: fn(&mut KeptField)| {
            let mut other = whole.clone();
            change(&mut other.fields[0]);
            content(&[other])
        };
        assert_ne!(changed(|field| field.bytes[3] ^= 1).digest, reference.digest);
        assert_ne!(changed(|field| field.dtype = Dtype::I32).digest, reference.digest);
        assert_ne!(changed(|field| field.name = "y".into()).digest, reference.digest);
    }

    #[test]
    fn the_digest_survives_json() {
        let content = content(&[item(&[A, B, C])]);
        let text = serde_json::to_string(&content).unwrap();
        assert_eq!(serde_json::from_str::<Content>(&text).unwrap(), content);
    }

    #[test]
    fn numbers_that_are_none_are_counted_apart() {
        let content = content(&[item(&[[f32::NAN, 1.0], [f32::INFINITY, 2.0]])]);
        let moments = content.moments["x"];
        assert_eq!((moments.count, moments.not_finite, moments.sum), (2, 2, 3.0));
        assert!(serde_json::to_string(&content).is_ok_and(|text| !text.contains("null")));
    }

    #[test]
    fn moments_describe_the_numbers_of_a_field() {
        let moments = content(&[item(&[A, B])]).moments["x"];
        assert_eq!((moments.count, moments.min, moments.max), (4, 1.0, 4.0));
        assert!((moments.mean() - 2.5).abs() < 1e-12);
        assert!((moments.deviation() - 1.25f64.sqrt()).abs() < 1e-12);
    }
}
