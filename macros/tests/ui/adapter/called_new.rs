use weighbridge::prelude::*;

trait Loader {}
struct Grain;

fn installed() -> Availability {
    Availability::Available { version: "1.0".to_owned() }
}

#[adapter(name = "Grain", new = Grain::open(), probe = installed())]
impl Loader for Grain {}

fn main() {}
