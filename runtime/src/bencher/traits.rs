//! Traits of an element: a few numbers that say what it looks like, for work whose draws differ.
//!
//! Two systems that crop, mirror and blur with generators of their own deliver other bytes. What must agree
//! is how the elements are spread: the mean and the deviation, over all elements of an epoch, of each trait.
//! A trait is chosen for what it sees that the others do not: a mirror that is left out, a window that is too
//! wide, a nearest neighbour.

use std::collections::BTreeMap;

use weighbridge_yardsticks::{ElementShape, TRAITS, floats};

use super::{ItemCopy, Moments};

/// By field and trait (`image: mean`), over elements.
pub type Traits = BTreeMap<String, Moments>;

/// Adds the traits of every element of an item. The bytes of its fields were checked.
pub(super) fn add(traits: &mut Traits, item: &ItemCopy) {
    for field in &item.fields {
        let shape = ElementShape::of(&field.shape);
        let numbers = floats(field.dtype.format(), &field.bytes);
        let row = numbers.len() / item.elements.max(1);
        for element in numbers.chunks_exact(row.max(1)) {
            for (name, value) in TRAITS.iter().zip(shape.traits(element)) {
                let Some(value) = value else { continue };
                traits.entry(format!("{}: {name}", field.name)).or_insert(Moments::NONE).add(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Dtype, FieldCopy};

    fn of(shape: &[usize], numbers: &[f32]) -> BTreeMap<String, f64> {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let field = FieldCopy { name: "x".into(), dtype: Dtype::F32, shape: shape.to_vec(), bytes };
        let mut traits = Traits::default();
        add(&mut traits, &ItemCopy { elements: 1, fields: vec![field] });
        traits.into_iter().map(|(name, moments)| (name[3..].to_owned(), moments.mean())).collect()
    }

    /// Two rows of three pixels, two channels.
    const IMAGE: [f32; 12] = [0.0, 1.0, 2.0, 3.0, 8.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

    #[test]
    fn each_trait_of_an_image_is_what_it_is_said_to_be() {
        let found = of(&[2, 3, 2], &IMAGE);
        let near = |name: &str, value: f64| assert!((found[name] - value).abs() < 1e-6, "{name}: {found:?}");
        assert_eq!(found.len(), TRAITS.len() - 1, "two rows have no bend");
        near("mean", 25.0 / 12.0);
        near("right over left", 6.0 / 2.0); // 6.5 - 0.5 in the first row, nothing in the second
        near("bottom over top", 1.0 - 19.0 / 6.0);
        near("step across", (2.0 + 2.0 + 6.0 + 2.0) / 8.0);
        near("step down", (1.0 + 0.0 + 1.0 + 2.0 + 7.0 + 4.0) / 6.0);
        near("bend across", (4.0 + 0.0) / 4.0);
        near("colour", (1.0 + 1.0 + 3.0) / 6.0);
        near("last over first", (1.0 + 1.0 - 3.0) / 6.0);
        assert!(of(&[2, 3, 2], &IMAGE.map(|x| 3.0 * x))["deviation"] > 2.9 * found["deviation"]);
    }

    #[test]
    fn a_mirror_an_exchange_of_channels_and_a_nearest_neighbour_each_show_in_a_trait() {
        let found = of(&[2, 3, 2], &IMAGE);
        let mirrored: Vec<f32> = IMAGE
            .chunks(6)
            .flat_map(|row| row.chunks(2).rev().flatten().copied().collect::<Vec<_>>())
            .collect();
        assert!((of(&[2, 3, 2], &mirrored)["right over left"] + found["right over left"]).abs() < 1e-6);
        let exchanged: Vec<f32> = IMAGE.chunks(2).flat_map(|pixel| [pixel[1], pixel[0]]).collect();
        assert!((of(&[2, 3, 2], &exchanged)["last over first"] + found["last over first"]).abs() < 1e-6);
        let smooth: Vec<f32> = (0..8).map(|x| x as f32).collect();
        let stairs: Vec<f32> = (0..8).map(|x| (x / 2 * 2) as f32).collect();
        let bend = |x: &[f32]| of(&[1, 8, 1], x)["bend across"];
        assert!(bend(&smooth) < 1e-6 && bend(&stairs) > 1.9);
    }

    #[test]
    fn what_a_shape_has_not_is_left_out() {
        assert_eq!(of(&[], &[2.0]).into_keys().collect::<Vec<_>>(), ["deviation", "mean"]);
        let row = of(&[3], &[1.0, 2.0, 4.0]);
        assert!(
            row.contains_key("bend across") && !row.contains_key("step down") && !row.contains_key("colour")
        );
        assert!(!of(&[2, 2, 2, 2], &[1.0; 16]).contains_key("colour"), "a volume has no channels");
    }
}
