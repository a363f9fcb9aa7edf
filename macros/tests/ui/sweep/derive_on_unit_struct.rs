use weighbridge::prelude::*;

#[derive(Sweep)]
struct Options;

fn main() {}
