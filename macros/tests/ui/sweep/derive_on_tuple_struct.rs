use weighbridge::prelude::*;

#[derive(Sweep)]
struct Options(usize, usize);

fn main() {}
