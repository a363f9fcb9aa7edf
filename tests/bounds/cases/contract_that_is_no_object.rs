// says: error[E0038]: the trait `Loader` is not dyn compatible
use weighbridge::prelude::*;

trait Loader {
    fn load<T>(&mut self) -> T;
}

#[scenario(id = "A-1")]
fn load(bencher: &mut Bencher, _loader: &mut dyn Loader) {
    bencher.iter(|| 1);
}

fn main() {}
