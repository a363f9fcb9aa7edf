// Included by two bench targets, of which one has divan and the other what stands for it.

use divan::{Bencher, black_box};

#[path = "work.rs"]
mod work;

fn main() {
    divan::main();
}

#[divan::bench]
fn fibonacci() -> u64 {
    work::fibonacci(black_box(16))
}

mod grouped {
    use super::{Bencher, black_box, work};

    #[divan::bench]
    fn sum(bencher: Bencher<'_, '_>) {
        let numbers = work::numbers();
        let one = |sum: u64, number: &u64| sum.rotate_left(1) ^ black_box(*number);
        bencher.bench(|| numbers.iter().fold(0_u64, one));
    }

    #[divan::bench]
    fn sort(bencher: Bencher<'_, '_>) {
        bencher.with_inputs(work::numbers).bench_refs(|numbers| numbers.sort_unstable());
    }

    #[divan::bench]
    fn text() -> String {
        work::text(black_box(100))
    }
}
