use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(#[sweep(1)] bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
