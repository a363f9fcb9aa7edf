use weighbridge::prelude::*;

#[derive(Sweep)]
#[sweep]
struct Options {
    #[sweep(1, 2)]
    #[sweep(3)]
    workers: usize,
    #[sweep(1)]
    _workers: usize,
}

fn main() {}
