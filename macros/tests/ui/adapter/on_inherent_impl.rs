use weighbridge::prelude::*;

struct Grain;

#[adapter(name = "Grain")]
impl Grain {}

fn main() {}
