use weighbridge::prelude::*;

#[scenario(id = "A-1", filter = |len| *len > 1)]
fn one(bencher: &mut Bencher, #[sweep(1, 2)] len: usize) {
    bencher.iter(|| len);
}

#[scenario(id = "A-2", filter = fits())]
fn two(bencher: &mut Bencher, #[sweep(1, 2)] len: usize) {
    bencher.iter(|| len);
}

#[scenario(id = "A-3", filter = fits)]
fn three(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn fits() -> bool {
    true
}

fn main() {}
