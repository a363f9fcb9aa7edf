use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(small = 1, 1_000)] len: usize) {
    bencher.iter(|| len);
}

fn main() {}
