use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(1, 2)] len: usize, #[sweep(1, 2)] _len: usize) {
    bencher.iter(|| len);
}

fn main() {}
