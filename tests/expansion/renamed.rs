//! The runtime under another name.

/// What a crate may call it.
pub(crate) mod scales {
    pub(crate) use weighbridge::*;
}

use scales::{Bencher, Direction, Sweep, Unit, adapter, scenario};

#[derive(Sweep)]
#[sweep(crate = crate::renamed::scales)]
struct Options {
    #[sweep(3)]
    count: usize,
}

trait Counter {
    fn count(&mut self, options: &Options) -> usize;
}

#[derive(Default)]
struct Renamed;

#[adapter(name = "Renamed", crate = crate::renamed::scales)]
impl Counter for Renamed {
    fn count(&mut self, options: &Options) -> usize {
        options.count
    }
}

#[scenario(id = "RENAMED-1", crate = crate::renamed::scales)]
fn renamed(bencher: &mut Bencher, counter: &mut dyn Counter, options: Options) {
    bencher.metric("seen", counter.count(&options) as f64, Unit::COUNT, Direction::Information);
}
