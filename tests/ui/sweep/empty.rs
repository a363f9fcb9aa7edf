use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep()] len: usize, #[sweep] depth: usize, #[sweep(all)] width: usize) {
    bencher.iter(|| 1);
}

fn main() {}
