use weighbridge::prelude::*;

#[derive(Sweep)]
struct Options {
    #[sweep(1, 2)]
    workers: usize,
    #[sweep]
    depth: usize,
}

fn main() {}
