use weighbridge::prelude::*;

#[scenario(id, category = )]
fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
