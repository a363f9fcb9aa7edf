use weighbridge::prelude::*;

trait Loader {}

#[scenario(id = "A-1")]
fn shared(bencher: &mut Bencher, _loader: &dyn Loader) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2")]
fn boxed(bencher: &mut Bencher, _loader: Box<dyn Loader>) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-3")]
fn any(bencher: &mut Bencher, _loader: &mut impl Loader) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-4")]
fn owned(bencher: &mut Bencher, _loader: impl Loader) {
    bencher.iter(|| 1);
}

fn main() {}
