//! Arguments that differ in signs, or not at all, and a module that takes nothing from the one above.

fn main() {
    divan::main();
}

mod inner {
    #[divan::bench(args = ["==", "!=", "<="])]
    fn signs(sign: &str) -> usize {
        divan::black_box(sign).len()
    }

    #[divan::bench(args = [1, 1])]
    fn doubled(number: u64) -> u64 {
        divan::black_box(number)
    }
}

#[divan::bench]
fn other() -> u64 {
    divan::black_box(1)
}

#[allow(dead_code)] // of an empty list there is none
#[divan::bench(types = [])]
fn of_no_type<T: Default>() -> T {
    T::default()
}
