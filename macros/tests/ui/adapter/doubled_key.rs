use weighbridge::prelude::*;

trait Loader {}
#[derive(Default)]
struct Grain;

#[adapter(name = "Grain", name = "Google Grain")]
impl Loader for Grain {}

fn main() {}
