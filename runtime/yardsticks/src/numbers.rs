//! Numbers as they lie in bytes, and sums over them.

/// The way that numbers lie in bytes: little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Format {
    U8,
    I32,
    I64,
    /// The upper half of an `f32`.
    BF16,
    F32,
    F64,
}

/// Sums over numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// The number of finite numbers.
    pub count: u64,
    /// The number of values that are infinite or no number: they are in none of the sums.
    pub not_finite: u64,
    /// Their sum, added up one after another.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Sums {
    /// Those over no number.
    pub const NONE: Self =
        Self { count: 0, not_finite: 0, sum: 0.0, squares: 0.0, min: f64::MAX, max: f64::MIN };

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
}

/// A `bf16` as `f32`.
fn wide(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)
}

/// Calls a function with each number of some bytes, as a type. Bytes that are left over are no number.
macro_rules! for_each_number {
    ($format:expr, $bytes:expr, $as:ty, $each:expr) => {
        match $format {
            Format::U8 => $bytes.iter().for_each(|byte| $each(*byte as $as)),
            Format::I32 => $bytes.as_chunks().0.iter().for_each(|x| $each(i32::from_le_bytes(*x) as $as)),
            Format::I64 => $bytes.as_chunks().0.iter().for_each(|x| $each(i64::from_le_bytes(*x) as $as)),
            Format::BF16 => $bytes.as_chunks().0.iter().for_each(|x| $each(wide(*x) as $as)),
            Format::F32 => $bytes.as_chunks().0.iter().for_each(|x| $each(f32::from_le_bytes(*x) as $as)),
            Format::F64 => $bytes.as_chunks().0.iter().for_each(|x| $each(f64::from_le_bytes(*x) as $as)),
        }
    };
}

/// The sums over all numbers of some bytes.
#[inline(never)]
pub fn sums(format: Format, bytes: &[u8]) -> Sums {
    let mut sums = Sums::NONE;
    for_each_number!(format, bytes, f64, |number| sums.add(number));
    sums
}

/// All numbers of some bytes as `f32`.
#[inline(never)]
pub fn floats(format: Format, bytes: &[u8]) -> Vec<f32> {
    let mut floats = Vec::new();
    for_each_number!(format, bytes, f32, |number| floats.push(number));
    floats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_format_are_read() {
        let bytes: Vec<u8> = [1.5_f64, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(floats(Format::F64, &bytes), [1.5, -2.0]);
        let bytes: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(floats(Format::F32, &bytes), [1.5, -2.0]);
        assert_eq!(floats(Format::BF16, &bytes[2..4]), [1.5], "the upper half of an f32");
        assert_eq!(floats(Format::I32, &(-7_i32).to_le_bytes()), [-7.0]);
        assert_eq!(floats(Format::I64, &(1_i64 << 40).to_le_bytes()), [(1_u64 << 40) as f32]);
        assert_eq!(floats(Format::U8, &[3, 255]), [3.0, 255.0]);
    }

    #[test]
    fn what_is_no_number_is_counted_apart() {
        let bytes: Vec<u8> = [1.0_f32, f32::NAN, 3.0, f32::INFINITY].map(f32::to_le_bytes).concat();
        let expected = Sums { count: 2, not_finite: 2, sum: 4.0, squares: 10.0, min: 1.0, max: 3.0 };
        assert_eq!(sums(Format::F32, &bytes), expected);
        assert_eq!(sums(Format::F32, &[]), Sums::NONE);
    }
}
