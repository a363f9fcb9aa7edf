use weighbridge::prelude::*;

#[derive(Sweep)]
#[sweep(fliter = Options::fits)]
struct Options {
    #[sweep(1, 2)]
    workers: usize,
}

fn main() {}
