//! The crate under test: two ways to sort.

#![forbid(unsafe_code)]

/// Merge sort, stable.
pub fn stable(numbers: &mut [u64]) {
    numbers.sort();
}

/// Pattern-defeating quicksort.
pub fn unstable(numbers: &mut [u64]) {
    numbers.sort_unstable();
}
