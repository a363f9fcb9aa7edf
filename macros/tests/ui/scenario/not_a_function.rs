use weighbridge::prelude::*;

#[scenario(id = "A-1")]
struct Sort {
    len: usize,
}

fn main() {}
