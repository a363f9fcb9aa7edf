// says: error: this says that the type does not fulfil the contract: remove `#[adapter]` or `!`
use weighbridge::prelude::*;

trait Loader {}
#[derive(Default)]
struct Grain;

#[adapter(name = "Grain")]
impl !Loader for Grain {}

fn main() {}
