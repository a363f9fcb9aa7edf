use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(small = , large = 2)] len: usize, #[sweep(1 2)] depth: usize) {
    bencher.iter(|| len + depth);
}

fn main() {}
