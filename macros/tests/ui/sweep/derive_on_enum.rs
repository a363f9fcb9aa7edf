use weighbridge::prelude::*;

#[derive(Sweep)]
enum Mode {
    Fast,
    Safe,
}

fn main() {}
