use weighbridge::prelude::*;

#[scenario(id = "A-1", samples = 0, min_time = -1, max_time = "long", repeats = 1.5)]
fn wrong(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2", min_time = 2, max_time = 1)]
fn crossed(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

trait Sorter {}

#[scenario(id = "A-3", group = "Sorting")]
fn grouped(bencher: &mut Bencher, sorter: &mut dyn Sorter) {
    bencher.iter(|| 1);
}

fn main() {}
