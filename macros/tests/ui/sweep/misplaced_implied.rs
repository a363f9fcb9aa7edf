use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(small = 1, implied)] len: usize, #[sweep(implied, 1)] depth: usize) {
    bencher.iter(|| len + depth);
}

fn main() {}
