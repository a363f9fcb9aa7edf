use weighbridge::prelude::*;

trait Loader {}

#[scenario(idd = "A-1", category = 7, sets = [gate], equivalence = exat)]
unsafe fn sort<T>(
    bencher: &mut Bencher,
    #[sweep()] len: usize,
    #[sweep(small = 1, small = 2)] _len: usize,
    _loader: &mut (dyn Loader + Send),
) {
    bencher.iter(|| len);
}

fn main() {}
