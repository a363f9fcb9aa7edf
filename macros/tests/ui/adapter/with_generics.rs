use weighbridge::prelude::*;

trait Queue<T> {}
#[derive(Default)]
struct Channel;

#[adapter(name = "Channel")]
impl<T> Queue<T> for Channel {}

fn main() {}
