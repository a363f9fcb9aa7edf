//! Hashes of elements, of which each lies in several fields.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

/// The sum, with wrap-around, of the 128-bit hashes (XXH3) of so many elements. Not XOR: that would forget
/// pairs. A field is a seed, which stands for its name and kind, and the bytes of all elements in order.
///
/// # Panics
/// If the bytes of a field are fewer than elements times the bytes of one.
#[inline(never)]
pub fn digest(fields: &[(u64, &[u8])], elements: usize) -> u128 {
    let mut sum = 0_u128;
    let mut hashes = Vec::with_capacity(16 * fields.len());
    for element in 0..elements {
        hashes.clear();
        for &(seed, bytes) in fields {
            let size = bytes.len() / elements;
            let hash = xxh3_128_with_seed(&bytes[element * size..][..size], seed);
            hashes.extend_from_slice(&hash.to_le_bytes());
        }
        sum = sum.wrapping_add(xxh3_128(&hashes));
    }
    sum
}

/// The keyed hash of each of so many elements (`SipHash-1-3`, Aumasson and Bernstein 2012), over seed and
/// bytes of its fields, which are those of [`digest`].
///
/// # Panics
/// As [`digest`].
#[inline(never)]
pub fn keyed_hashes(key: [u64; 2], fields: &[(u64, &[u8])], elements: usize) -> Vec<u128> {
    let hash = |element: usize| {
        let mut hasher = SipHasher13::new_with_keys(key[0], key[1]);
        for &(seed, bytes) in fields {
            let size = bytes.len() / elements;
            hasher.write_u64(seed);
            hasher.write(&bytes[element * size..][..size]);
        }
        hasher.finish128().as_u128()
    };
    (0..elements).map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_a_whole_is_the_sum_of_its_parts_in_any_order() {
        let (one, other) = (digest(&[(1, b"ab"), (2, b"c")], 1), digest(&[(1, b"de"), (2, b"f")], 1));
        assert_eq!(digest(&[(1, b"abde"), (2, b"cf")], 2), one.wrapping_add(other));
        assert_ne!(one, digest(&[(2, b"ab"), (1, b"c")], 1), "what stands for the names counts");
        assert_eq!(digest(&[], 0), 0);
    }

    #[test]
    fn a_keyed_hash_is_of_key_seed_and_bytes() {
        let hashes = keyed_hashes([1, 2], &[(7, b"abcd")], 2);
        assert_eq!(hashes[1..], keyed_hashes([1, 2], &[(7, b"cd")], 1));
        assert_ne!(hashes[1..], keyed_hashes([1, 3], &[(7, b"cd")], 1));
        assert_ne!(hashes[1..], keyed_hashes([1, 2], &[(8, b"cd")], 1));
    }
}
