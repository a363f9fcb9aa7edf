use weighbridge::prelude::*;

trait Loader {}
#[derive(Default)]
struct Grain;

#[adapter(name = "Grain", resident = "yes")]
impl Loader for Grain {}

fn main() {}
