//! What is timed: the same work on all four sides.

use std::fmt::Write;
use std::hint::black_box;

/// Calls that wait for each other, and nothing of memory.
pub fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(black_box(n - 1)) + fibonacci(n - 2) }
}

/// A thousand numbers in no order.
pub fn numbers() -> Vec<u64> {
    (0..1_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

/// A text that is allocated, grows, and is given back.
pub fn text(words: u32) -> String {
    let mut text = String::new();
    for word in 0..words {
        write!(text, "{word} ").expect("a String takes all that is written");
    }
    text
}
