use weighbridge::prelude::*;

trait Loader {}
#[derive(Default)]
struct Grain;

#[adapter(name = Grain)]
impl Loader for Grain {}

#[derive(Default)]
struct Torch;

#[adapter(name = "")]
impl Loader for Torch {}

fn main() {}
