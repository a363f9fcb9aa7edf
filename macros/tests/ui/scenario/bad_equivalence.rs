use weighbridge::prelude::*;

#[scenario(id = "A-1", equivalence = exactly)]
fn one(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2", equivalence = "exact")]
fn two(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-3", equivalence = approx)]
fn three(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-4", equivalence = approx(-0.5))]
fn four(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-5", equivalence = bitwise)]
fn five(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
