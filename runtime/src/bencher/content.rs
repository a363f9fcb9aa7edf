//! What was delivered, reduced to what can be compared: a hash of every element, and moments of every field.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weighbridge_yardsticks::{digest, keyed_hashes, sums};
use xxhash_rust::xxh3::xxh3_64;

use super::traits::{self, Traits};
use super::{FieldCopy, FieldKind, ItemCopy, Moments, MomentsByField, Result};

/// Everything that a repeat delivered, reduced: independent of the order of elements and of how they were
/// batched.
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
    pub moments: MomentsByField,
    /// Moments of each trait over elements, by field and trait; empty where elements need not be alike.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub traits: Traits,
}

impl Content {
    /// Adds an item.
    ///
    /// # Errors
    /// As [`ItemCopy::check`]; nothing is added then.
    pub fn add(&mut self, item: &ItemCopy) -> Result<()> {
        self.take(item, false).map(drop)
    }

    /// As [`Content::add`], with traits of its elements where they are asked for; the moments of the item
    /// alone.
    pub(super) fn take(&mut self, item: &ItemCopy, with_traits: bool) -> Result<MomentsByField> {
        item.check()?;
        let mut taken = MomentsByField::new();
        let fields = item.by_name();
        for field in &fields {
            let kind = FieldKind { name: field.name.clone(), dtype: field.dtype, shape: field.shape.clone() };
            if let Err(place) = self.fields.binary_search(&kind) {
                self.fields.insert(place, kind);
            }
            let mut moments = Moments::from(sums(field.dtype.format(), &field.bytes));
            moments.bound();
            taken.entry(field.name.clone()).or_insert(Moments::NONE).add_share(&moments, 1.0);
            self.bytes += field.bytes.len() as u64;
        }
        let fields = with_seeds(&fields);
        self.digest = self.digest.wrapping_add(digest(&fields, item.elements));
        for (name, moments) in &taken {
            self.moments.entry(name.clone()).or_insert(Moments::NONE).add_share(moments, 1.0);
        }
        if with_traits {
            traits::add(&mut self.traits, item);
        }
        self.elements += item.elements as u64;
        Ok(taken)
    }

    /// As [`Content::add`], with the traits of every element.
    ///
    /// # Errors
    /// As [`Content::add`].
    pub fn add_with_traits(&mut self, item: &ItemCopy) -> Result<()> {
        self.take(item, true).map(drop)
    }
}

/// The key of a run's element hashes: drawn by the parent, told to a child with what it is asked, kept
/// nowhere.
///
/// Who does not know it can neither make two elements of one hash nor recognise a hash (`SipHash`, Aumasson
/// and Bernstein 2012). Their sum is then a digest of a multiset that cannot be steered either.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashKey([u64; 2]);

impl HashKey {
    /// A fresh one, from the operating system's randomness.
    pub fn draw() -> Self {
        Self([draw_secret(), draw_secret()])
    }

    /// The hash of every element of an item: over name, type, element shape and bytes of its fields.
    ///
    /// # Errors
    /// As [`ItemCopy::check`].
    pub fn hash(&self, item: &ItemCopy) -> Result<Vec<u128>> {
        item.check()?;
        Ok(keyed_hashes(self.0, &with_seeds(&item.by_name()), item.elements))
    }

    /// The number at this place of a list that is the same in the whole run, and that nobody can foresee.
    pub(super) fn number(&self, at: u64) -> u64 {
        keyed_hashes(self.0, &[(at, &[])], 1)[0] as u64
    }
}

/// A key is not shown: what is printed could be read.
impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// A number that nobody can foresee: from the operating system.
///
/// # Panics
/// Where the system has no randomness: nothing could be verified there.
pub(super) fn draw_secret() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    u64::from_le_bytes(bytes)
}

/// The number of an epoch that nobody can foresee. It has 31 bits, which the integers of every framework
/// hold.
pub(crate) fn draw_epoch() -> u64 {
    draw_secret() >> 33
}

/// Fields with what stands for their names and kinds.
fn with_seeds<'a>(fields: &[&'a FieldCopy]) -> Vec<(u64, &'a [u8])> {
    fields.iter().map(|field| (header_hash(field), &*field.bytes)).collect()
}

/// A field's name, type and element shape, hashed: the seed of its elements' hashes.
fn header_hash(field: &FieldCopy) -> u64 {
    xxh3_64(format!("{}\0{}\0{:?}", field.name, field.dtype.name(), field.shape).as_bytes())
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
    use crate::bencher::Dtype;

    fn item(rows: &[[f32; 2]]) -> ItemCopy {
        let bytes = rows.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        let field = FieldCopy { name: "x".into(), dtype: Dtype::F32, shape: vec![2], bytes };
        ItemCopy { elements: rows.len(), fields: vec![field] }
    }

    fn content(items: &[ItemCopy]) -> Content {
        let mut content = Content::default();
        for item in items {
            content.add(item).unwrap();
        }
        content
    }

    const A: [f32; 2] = [1.0, 2.0];
    const B: [f32; 2] = [3.0, 4.0];
    const C: [f32; 2] = [5.0, 6.0];

    #[test]
    fn sums_that_no_number_holds_are_numbers_all_the_same() {
        let bytes = [1e300_f64, 1e308, 1e308].iter().flat_map(|x| x.to_le_bytes()).collect();
        let field = FieldCopy { name: "x".into(), dtype: Dtype::F64, shape: vec![], bytes };
        let item = ItemCopy { elements: 3, fields: vec![field] };
        let content = content(&[item.clone(), item]);
        let stored = serde_json::to_string(&content).unwrap();
        assert_eq!(serde_json::from_str::<Content>(&stored).unwrap(), content);
    }

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
        let changed = |change: fn(&mut FieldCopy)| {
            let mut other = whole.clone();
            change(&mut other.fields[0]);
            content(&[other])
        };
        assert_ne!(changed(|field| field.bytes[3] ^= 1).digest, reference.digest);
        assert_ne!(changed(|field| field.dtype = Dtype::I32).digest, reference.digest);
        assert_ne!(changed(|field| field.name = "y".into()).digest, reference.digest);
    }

    #[test]
    fn a_count_that_no_bytes_stand_behind_is_refused_and_takes_no_time() {
        let boundless = ItemCopy { elements: 1 << 62, fields: Vec::new() };
        let said = Content::default().add(&boundless).unwrap_err().to_string();
        assert!(said.contains("has no field"), "{said}");
        let mut wide = item(&[A]);
        wide.fields[0].shape = vec![1 << 40, 1 << 40];
        assert!(HashKey::draw().hash(&wide).unwrap_err().to_string().contains("field `x` has 8 bytes"));
        assert!(Content::default().add(&ItemCopy { elements: 3, ..item(&[A, B]) }).is_err());
        Content::default().add(&ItemCopy::default()).expect("nothing is nothing");
    }

    #[test]
    fn hashes_of_elements_are_those_of_their_key_alone() {
        let (key, other) = (HashKey::draw(), HashKey::draw());
        let both = key.hash(&item(&[A, B])).unwrap();
        assert_eq!(both[1], key.hash(&item(&[B])).unwrap()[0], "wherever an element stands");
        assert_ne!(both[0], both[1]);
        assert_ne!(both, other.hash(&item(&[A, B])).unwrap());
        let mut renamed = item(&[A]);
        renamed.fields[0].name = "y".into();
        assert_ne!(key.hash(&renamed).unwrap()[0], both[0]);
        assert_eq!(format!("{key:?}"), "Key");
    }

    #[test]
    fn a_part_of_an_item_has_its_elements_alone() {
        let whole = item(&[A, B, C]);
        assert_eq!(whole.rows(1, 8).unwrap(), item(&[B, C]));
        assert_eq!(whole.rows(0, 2).unwrap(), item(&[A, B]));
        assert_eq!(whole.rows(9, 8).unwrap().elements, 0);
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
