use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort(#[sweep(1, 2)] len: usize) {
    let _ = len;
}

trait Loader {}

#[scenario(id = "A-2")]
fn load(_loader: &mut dyn Loader, bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
