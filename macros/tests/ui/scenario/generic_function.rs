use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort<T: Ord, const N: usize>(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
