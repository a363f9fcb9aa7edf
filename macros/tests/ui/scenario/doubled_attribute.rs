use weighbridge::prelude::*;

#[scenario(id = "A-1")]
#[scenario(id = "A-2")]
fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
