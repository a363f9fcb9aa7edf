use weighbridge::prelude::*;

trait Loader {}

#[scenario(id = "A-1")]
fn load(bencher: &mut Bencher, #[sweep(1)] _loader: &mut dyn Loader) {
    bencher.iter(|| 1);
}

fn main() {}
