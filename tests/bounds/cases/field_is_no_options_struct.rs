// says: error[E0277]: `usize` is neither an axis nor an options struct
// says: for an axis write its values: `#[sweep(1, 2)] name: usize`
// says: `#[derive(Sweep)]` on `usize`
use weighbridge::prelude::*;

#[derive(Sweep)]
struct Options {
    #[sweep(1, 2)]
    workers: usize,
    prefetch: usize,
}

fn main() {}
