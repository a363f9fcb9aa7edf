use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(small = 1, all)] len: usize, #[sweep(all, 1, 2)] depth: usize) {
    bencher.iter(|| len + depth);
}

fn main() {}
