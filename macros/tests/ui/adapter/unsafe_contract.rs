use weighbridge::prelude::*;

unsafe trait Loader {}
#[derive(Default)]
struct Grain;

#[adapter(name = "Grain")]
unsafe impl Loader for Grain {}

fn main() {}
