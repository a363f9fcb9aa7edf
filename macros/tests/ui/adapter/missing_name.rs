use weighbridge::prelude::*;

trait Loader {}
#[derive(Default)]
struct Grain;

#[adapter(tier = 0)]
impl Loader for Grain {}

fn main() {}
