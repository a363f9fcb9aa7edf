use weighbridge::prelude::*;

trait Loader {}
#[derive(Default)]
struct Grain;

#[adapter(name = "Grain", tier = "reference")]
impl Loader for Grain {}

#[derive(Default)]
struct Torch;

#[adapter(name = "Torch", tier = 256)]
impl Loader for Torch {}

fn main() {}
