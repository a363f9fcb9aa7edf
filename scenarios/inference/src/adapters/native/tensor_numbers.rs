//! Numbers of tensors, as their bytes have them.

/// The numbers of a tensor of the weights.
pub(super) fn singles(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}
