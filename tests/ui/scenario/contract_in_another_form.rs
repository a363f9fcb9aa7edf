use weighbridge::prelude::*;

trait Loader {}

#[scenario(id = "A-1")]
fn shared(bencher: &mut Bencher, loader: &dyn Loader) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2")]
fn boxed(bencher: &mut Bencher, loader: Box<dyn Loader>) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-3")]
fn any(bencher: &mut Bencher, loader: &mut impl Loader) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-4")]
fn owned(bencher: &mut Bencher, loader: impl Loader) {
    bencher.iter(|| 1);
}

fn main() {}
