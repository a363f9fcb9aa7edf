use weighbridge::prelude::*;

#[derive(Sweep)]
struct Options<T> {
    #[sweep(1, 2)]
    workers: T,
}

fn main() {}
