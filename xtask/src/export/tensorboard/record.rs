//! The file of events: records with checksums, as `TFRecord` has them.

/// Castagnoli's polynomial, reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Adds a record: its length, a checksum of that, itself, and a checksum of itself.
pub(super) fn add(to: &mut Vec<u8>, record: &[u8]) {
    let length = (record.len() as u64).to_le_bytes();
    to.extend(length);
    to.extend(masked(&length).to_le_bytes());
    to.extend(record);
    to.extend(masked(record).to_le_bytes());
}

/// A checksum that may be part of what another one is taken of.
fn masked(bytes: &[u8]) -> u32 {
    let sum = checksum(bytes);
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_3720() {
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
        assert_eq!(checksum(&[0; 32]), 0x8a91_36aa);
    }
}
