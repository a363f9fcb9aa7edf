use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, _other: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
