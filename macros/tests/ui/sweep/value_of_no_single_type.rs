use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(1, 2)] len: impl Copy) {
    bencher.iter(|| len);
}

fn main() {}
