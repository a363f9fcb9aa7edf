use weighbridge::prelude::*;

trait Loader {}
struct Grain;

#[adapter(nme = "Grain", prob = installed, colour = "red")]
impl Loader for Grain {}

fn main() {}
