use weighbridge::prelude::*;

#[derive(Sweep)]
union Bits {
    int: u32,
    float: f32,
}

fn main() {}
