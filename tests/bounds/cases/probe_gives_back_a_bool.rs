// says: error[E0308]: mismatched types
// says: expected fn pointer `fn() -> Availability`
use weighbridge::prelude::*;

trait Loader {}
#[derive(Default)]
struct Grain;

fn installed() -> bool {
    true
}

#[adapter(name = "Grain", probe = installed)]
impl Loader for Grain {}

fn main() {}
