// says: error[E0277]: the trait bound `Grain: Default` is not satisfied
use weighbridge::prelude::*;

trait Loader {}
struct Grain;

#[adapter(name = "Grain")]
impl Loader for Grain {}

fn main() {}
