// says: error[E0277]: a filter gives back `bool` or `Result<(), E>`, and not `usize`
use weighbridge::prelude::*;

fn fits(len: &usize) -> usize {
    *len
}

#[scenario(id = "A-1", filter = fits)]
fn sort(bencher: &mut Bencher, #[sweep(1, 2)] len: usize) {
    bencher.iter(|| len);
}

fn main() {}
