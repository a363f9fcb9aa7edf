use weighbridge::prelude::*;

trait Loader {}

#[scenario(id = "A-1")]
fn load(bencher: &mut Bencher, _loader: &mut (dyn Loader + Send)) {
    bencher.iter(|| 1);
}

#[scenario(id = "A-2")]
fn send(bencher: &mut Bencher, _loader: &mut (dyn Send + Loader + 'static)) {
    bencher.iter(|| 1);
}

fn main() {}
