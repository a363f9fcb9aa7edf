use weighbridge::prelude::*;

#[scenario]
fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
