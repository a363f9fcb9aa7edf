use weighbridge::prelude::*;

#[scenario("CV-1")]
fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
