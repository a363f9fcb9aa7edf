use weighbridge::prelude::*;

#[scenario(id = "A-1")]
fn sort() {}

fn main() {}
