use weighbridge::prelude::*;

#[scenario(id = "A-1", worker_threads = 2)]
fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2", worker_threads = "two")]
fn search(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
