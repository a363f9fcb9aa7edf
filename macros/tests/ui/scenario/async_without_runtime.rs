use weighbridge::prelude::*;

#[scenario(id = "A-1")]
async fn sort(bencher: &mut Bencher) {
    bencher.iter(|| 1);
}

fn main() {}
