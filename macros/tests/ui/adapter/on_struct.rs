use weighbridge::prelude::*;

#[adapter(name = "Grain")]
struct Grain {
    workers: usize,
}

fn main() {}
