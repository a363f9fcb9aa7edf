use weighbridge::prelude::*;

trait Loader {}
trait Saver {}

#[scenario(id = "A-1")]
fn copy(bencher: &mut Bencher, _loader: &mut dyn Loader, _saver: &mut dyn Saver) {
    bencher.iter(|| 1);
}

fn main() {}
