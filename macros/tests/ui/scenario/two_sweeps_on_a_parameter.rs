use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[sweep(1)] #[sweep(2)] _len: usize) {
    bencher.iter(|| 1);
}

fn main() {}
