use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(bencher: &Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2")]
fn search(bencher: Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
