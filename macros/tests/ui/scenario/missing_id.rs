use weighbridge::prelude::*;

#[scenario(category = "Sorting")]
fn sort_integers(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
