// says: error[E0308]: mismatched types
// says: expected `&String`, found `&usize`
use weighbridge::prelude::*;

fn fits(len: &String) -> bool {
    len.is_empty()
}

#[scenario(id = "A-1", filter = fits)]
fn sort(bencher: &mut Bencher, #[sweep(1, 2)] len: usize) {
    bencher.iter(|| len);
}

fn main() {}
