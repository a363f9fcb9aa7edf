use weighbridge::prelude::*;

#[scenario(id = "CV 1")]
fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "-1")]
fn search(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
