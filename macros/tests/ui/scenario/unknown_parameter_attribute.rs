use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &mut Bencher, #[swep(1, 2)] _len: usize, #[cfg(test)] _depth: usize) {
    bencher.iter(|| 1);
}

fn main() {}
