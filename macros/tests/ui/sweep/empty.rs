use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep()] _len: usize, #[sweep] _depth: usize, #[sweep(all)] _width: usize) {
    bencher.iter(|| 1);
}

fn main() {}
