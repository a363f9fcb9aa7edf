use weighbridge::prelude::*;

#[scenario(id = "A-1" category = "Sorting")]
fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
