// says: error[E0308]: mismatched types
// says: expected `usize`, found `&str`
use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(1, "two")] len: usize) {
    bencher.iter(|| len);
}

fn main() {}
