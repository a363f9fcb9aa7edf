//! What the attributes write passes the strictest lints: nothing here is allowed.
#![deny(warnings, clippy::pedantic, clippy::nursery)]

use weighbridge::prelude::*;

trait Counter {
    fn count(&mut self) -> usize;
}

#[derive(Default)]
struct Ones(usize);

/// Counts in ones.
#[adapter(name = "Ones", tier = 0)]
impl Counter for Ones {
    fn count(&mut self) -> usize {
        self.0 += 1;
        self.0
    }
}

#[derive(Sweep)]
#[sweep(filter = Times::is_even)]
struct Times {
    #[sweep(1, 2)]
    times: usize,
}

impl Times {
    const fn is_even(&self) -> bool {
        self.times.is_multiple_of(2)
    }
}

/// Each form of a parameter.
#[scenario(id = "STRICT-1", types = [u8, u16], consts = [1, 2], samples = 9, equivalence = none)]
fn strict<T, const N: usize>(
    bencher: &mut Bencher,
    counter: &mut dyn Counter,
    #[sweep(small = 1, large = 2)] size: usize,
    times: &Times,
) -> Result<()> {
    if times.times > 64 {
        return Err(skip("there are no more"));
    }
    bencher.iter(|| counter.count() * size * times.times * N * size_of::<T>());
    Ok(())
}
