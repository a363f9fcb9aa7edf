// says: error[E0277]: `new` gives back `Grain` or `Result<Grain, E>` with `E: Display + 'static`, and not
// `usize`
use weighbridge::prelude::*;

trait Loader {}
struct Grain;

fn open() -> usize {
    1
}

#[adapter(name = "Grain", new = open)]
impl Loader for Grain {}

fn main() {}
